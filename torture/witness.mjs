// A second lock that proves the first: who holds the lock also creates the witness exclusively, and removes it before
// the lock. Whoever finds it there has met another holder, dead or alive; the ledger knows which.
import fs from 'node:fs';

export class Witness {
  /** `id` names the holder in the ledger. */
  constructor(path, id, report) {
    Object.assign(this, { path, id, report, own: `${path}.${id.replaceAll('/', '-')}` });
    fs.writeFileSync(this.own, id);
  }

  enter() {
    for (;;) {
      try {
        fs.linkSync(this.own, this.path); // born with its content
        return;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      this.report({ event: 'met', id: this.id, other: fs.readFileSync(this.path, 'utf8') });
      fs.rmSync(this.path, { force: true });
    }
  }

  leave() {
    fs.unlinkSync(this.path);
  }
}
