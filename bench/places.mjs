// Where the files of the benchmark lie: a folder on ext4 and one on tmpfs.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const NAMES = { 0xef53: 'ext4', 0x1021994: 'tmpfs', 0x9123683e: 'btrfs', 0x58465342: 'xfs', 0x794c7630: 'overlayfs' };

/** What kind of file system a folder is on. */
export function fileSystem(folder) {
  const { type } = fs.statfsSync(folder);
  return NAMES[type] ?? `file system 0x${type.toString(16)}`;
}

/**
 * Makes both folders: `{ disk, memory, remove }`, each a path. `asked` are folders that the user names; otherwise memory
 * is /dev/shm, and the disk is the first ext4 among the folder for temporary files and the working folder, a file of its
 * own mounted as ext4 where only root can help, or whatever the folder for temporary files is on.
 */
export function makePlaces(asked) {
  const undo = [];
  const make = (folder) => {
    const made = fs.mkdtempSync(path.join(folder, 'pipestate-bench-'));
    undo.push(() => fs.rmSync(made, { recursive: true }));
    return made;
  };
  const ext4 = [os.tmpdir(), process.cwd()].find((folder) => fileSystem(folder) === 'ext4');
  const disk = make(asked.disk ?? ext4 ?? (process.getuid?.() === 0 && mountImage(undo)) ?? os.tmpdir());
  const memory = make(asked.memory ?? (fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()));
  return { disk, memory, remove: () => undo.reverse().forEach((step) => step()) };
}

/** An ext4 in a file of 2 GB; `undefined` where that cannot be had. */
function mountImage(undo) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pipestate-bench-ext4-'));
  undo.push(() => fs.rmSync(folder, { recursive: true }));
  const image = path.join(folder, 'image');
  const mounted = path.join(folder, 'mounted');
  try {
    fs.writeFileSync(image, '');
    fs.truncateSync(image, 2 ** 31);
    fs.mkdirSync(mounted);
    execFileSync('mkfs.ext4', ['-q', image], { stdio: 'ignore' });
    execFileSync('mount', ['-o', 'loop', image, mounted], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  undo.push(() => execFileSync('umount', [mounted]));
  return mounted;
}
