// What a run has come to, in figures.

/** What is counted, and how it is told; in brackets what is part of the one before. */
const COUNTED = {
  looks: 'looks of the reader',
  acknowledged: 'writes acknowledged',
  conflicts: 'refused by --if-match and tried again',
  cutOff: 'cut off by a death',
  timeouts: 'windows run out',
  restarts: 'updates started over',
  lockLost: 'locks lost',
  kills: 'kills',
  holderKills: '(with the lock)',
  asked: 'signals INT, TERM, HUP',
  terminations: 'workers terminated',
  traced: 'holds traced',
  orphans: 'locks left by dead foreign tools',
  takeOvers: 'take-overs seen',
  stops: 'stops',
  holderStops: '(with the lock, to the end)',
  clockMoves: 'locks with another time',
  heirs: 'ids of dead holders given to others',
  crowds: 'crowds of a hundred',
};

const LONGEST = {
  successorOfPipestate: 'succession to a pipestate',
  successorOfForeign: 'succession to a foreign tool',
  waitOfPipestate: 'wait of a pipestate',
  waitOfForeign: 'wait of a foreign tool',
};

const LOST = {
  robbed: 'locks removed under a living holder',
  fenced: '(of pipestates that did not commit)',
  openInstant: '(of updates that did, past their function)',
  late: '(of programs that did)',
  madeLate: '(of programs that did, made to dawdle there)',
  ousted: 'foreign locks removed by the release of a robbed pipestate',
  forks: 'versions lost one of two successors',
};

export class Figures {
  constructor(ledger, losses = {}) {
    this.counted = {};
    this.longest = {};
    const { lost = {}, ...robberies } = losses;
    this.lost = lost;
    this.robberies = robberies;
    if (!ledger) return;
    const { counts, looks, successors, longestWait } = ledger;
    const takeOvers = successors.pipestate.length + successors.foreign.length;
    this.counted = { looks, ...counts, takeOvers };
    this.longest = {
      successorOfPipestate: Math.max(0, ...successors.pipestate),
      successorOfForeign: Math.max(0, ...successors.foreign),
      waitOfPipestate: longestWait.pipestate,
      waitOfForeign: longestWait.foreign,
    };
  }

  add(other) {
    for (const group of ['counted', 'robberies', 'lost']) {
      for (const [name, count] of Object.entries(other[group])) this[group][name] = (this[group][name] ?? 0) + count;
    }
    for (const [name, time] of Object.entries(other.longest)) {
      this.longest[name] = Math.max(this.longest[name] ?? 0, time);
    }
  }

  toString() {
    const tell = (figures, words) =>
      Object.entries(words)
        .filter(([name]) => figures[name] > 0)
        .map(([name, what]) => `${what} ${Math.round(figures[name])}`)
        .join(', ')
        .replaceAll(/, (\(.*?)\) (\d+)/g, ' $1 $2)');
    const lost = Object.entries(this.lost).map(([what, count]) => `${what} ${count}`);
    const lines = [
      tell(this.counted, COUNTED),
      `longest in ms: ${tell(this.longest, LONGEST) || 'none'}`,
      tell(this.robberies, LOST),
      lost.length > 0 ? `acknowledged writes lost: ${lost.join(', ')}` : '',
    ];
    return lines.filter(Boolean).map((line) => `  ${line}\n`).join('');
  }
}
