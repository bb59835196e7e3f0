// Paired runs: A B A B …, so that whatever else the machine does hits all alike. A ratio is the median of the ratios
// within each round, which is what pairing is for.

/** The middle of `numbers`. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The middle, and the quarters below and above it. */
export function summary(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (part) => sorted[Math.round(part * (sorted.length - 1))];
  return { median: median(sorted), low: at(0.25), high: at(0.75), runs: sorted.length };
}

/** Runs every contestant once a round; each returns what it measured, a number. A contestant that is `undefined` is out. */
export async function pair(rounds, contestants) {
  const names = Object.keys(contestants).filter((name) => contestants[name]);
  const measured = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) measured[name].push(await contestants[name](round));
  }
  return measured;
}

/** How many times `a` is of `b`, round by round. */
export function ratio(a, b) {
  return summary(a.map((number, round) => number / b[round]));
}
