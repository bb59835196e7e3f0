// A limit and whether it was reached.

/** `reached` is a summary (its middle counts) or a number. */
export function atMost(what, limit, reached) {
  return check(what, `≤ ${limit}`, reached, (number) => number <= limit);
}

export function atLeast(what, limit, reached) {
  return check(what, `≥ ${limit}`, reached, (number) => number >= limit);
}

function check(what, limit, reached, accepts) {
  const summary = typeof reached === 'number' ? { median: reached } : reached;
  return { what, limit, reached: summary, ok: accepts(summary.median) };
}
