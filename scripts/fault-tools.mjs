// Installs, as root on Debian and its kin, the tools that the fault tests use. Without one of them its tests say that they
// are skipped.
import { has } from './run.mjs';

const packages = { strace: 'strace', 'mkfs.ext4': 'e2fsprogs', 'mkfs.xfs': 'xfsprogs', 'mkfs.btrfs': 'btrfs-progs' };
const isMissing = (tool) => !has('sh', ['-c', `command -v ${tool}`]);

if (process.platform === 'linux') {
  const missing = Object.keys(packages).filter(isMissing);
  if (missing.length > 0 && process.getuid() === 0 && has('apt-get', ['--version'])) {
    console.log(`installing what the fault tests need: ${missing.join(', ')}`);
    has('apt-get', ['-qq', 'update']);
    has('apt-get', ['-qq', '--yes', 'install', ...missing.map((tool) => packages[tool])]);
  }
  const still = missing.filter(isMissing);
  if (still.length > 0) console.log(`not to be had here, so their tests are skipped: ${still.join(', ')}`);
}
