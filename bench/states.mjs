// States of any size, in the shape that real ones have.

/** The text of an agent's state of about `size` bytes, laid out as `JSON.stringify(state, null, 2)` does. */
export function stateText(size) {
  const state = {
    taskId: 7,
    ticket: 'PROJ-7',
    project: 'bench',
    status: 'running',
    currentPhase: 3,
    phases: Object.fromEntries(Array.from({ length: 8 }, (_, phase) => [phase, { status: phase < 3 ? 'done' : 'pending' }])),
    findings: [],
  };
  let length = JSON.stringify(state, null, 2).length;
  for (let number = 0; length < size; number++) {
    const finding = {
      id: `finding-${number}`,
      file: `src/module-${number % 97}/part_${number % 1009}.rs`,
      line: (number * 7919) % 4001,
      severity: ['info', 'warning', 'error'][number % 3],
      confidence: ((number * 31) % 100) / 100,
      fixed: number % 2 === 0,
      note: number % 5 ? 'The error is swallowed here; the caller cannot tell an empty result from a failed one.' : 'said "no", tab\there, naïve',
    };
    state.findings.push(finding);
    length += JSON.stringify(finding, null, 2).length + 40;
  }
  return `${JSON.stringify(state, null, 2)}\n`;
}

/** A patch of about 200 bytes: what a phase's end writes. */
export const PATCH = {
  currentPhase: 4,
  phases: { 3: { status: 'done', files: ['src/module-1/part_2.rs', 'src/module-3/part_4.rs'] }, 4: { status: 'running' } },
  updatedAt: '2026-07-01T10:11:12.131Z',
};

/** The same with something new in it every time. */
export function patch(number) {
  return { ...PATCH, attempt: number };
}
