// What the typings declare, as values: tsc checks that each list is complete, the tests that it is what is there.

/** @typedef {typeof import('pipestate')} Api */
/** @template T @typedef {{ [K in keyof T]-?: true }} Keys */

/** @satisfies {Keys<Omit<Api, 'default'>>} */
export const api = {
  readState: true,
  readStateSync: true,
  writeState: true,
  writeStateSync: true,
  validateState: true,
  validateStateSync: true,
  recover: true,
  recoverSync: true,
  scanRuns: true,
  scanRunsSync: true,
  listRuns: true,
  listRunsSync: true,
  doctor: true,
  doctorSync: true,
  renderReport: true,
  renderReportSync: true,
  guardToolUse: true,
  guardToolUseSync: true,
  initPipeline: true,
  initPipelineSync: true,
  resumePipeline: true,
  resumePipelineSync: true,
  setPipelinePhase: true,
  setPipelinePhaseSync: true,
  finalizePipeline: true,
  finalizePipelineSync: true,
  createTask: true,
  createTaskSync: true,
  findTask: true,
  findTaskSync: true,
  listTasks: true,
  listTasksSync: true,
  planResume: true,
  planResumeSync: true,
  startResume: true,
  startResumeSync: true,
  setPhase: true,
  setPhaseSync: true,
  halt: true,
  haltSync: true,
  nextAttempt: true,
  nextAttemptSync: true,
  appendHandoff: true,
  appendHandoffSync: true,
  latestHandoff: true,
  latestHandoffSync: true,
  phaseFiles: true,
  phaseFilesSync: true,
  checkResult: true,
  checkResultSync: true,
  planKill: true,
  planKillSync: true,
  planClearLogs: true,
  planClearLogsSync: true,
  planPurge: true,
  planPurgeSync: true,
  confirm: true,
  confirmSync: true,
  updateState: true,
  updateStateSync: true,
  lockState: true,
  lockStateSync: true,
  StateLock: true,
  PipestateError: true,
};

/** @satisfies {Keys<import('pipestate').WriteResult>} */
export const writeResult = { rev: true, changed: true, created: true, path: true, waitedMs: true, warnings: true };

/** @satisfies {Keys<import('pipestate').StateSnapshot>} */
export const snapshot = { state: true, text: true, rev: true };

/** @satisfies {Keys<import('pipestate').StateReport>} */
export const report = { ok: true, path: true, kind: true, rev: true, findings: true, exitCode: true };

/** @satisfies {Keys<import('pipestate').Finding>} */
export const finding = { severity: true, code: true, pointer: true, message: true };

/** @satisfies {Keys<import('pipestate').RunDecision>} */
export const decision = {
  path: true,
  kind: true,
  rev: true,
  rule: true,
  status: true,
  action: true,
  choices: true,
  autoResume: true,
  ageMs: true,
  lastActive: true,
  reasons: true,
  exitCode: true,
};

/** @satisfies {Keys<import('pipestate').RunReason>} */
export const reason = { code: true, message: true, pointer: true };

/** @satisfies {Keys<import('pipestate').RunScan>} */
export const scan = { ok: true, files: true, exitCode: true };

/** @satisfies {Keys<import('pipestate').NewRun>} */
export const newRun = { ...writeResult, runId: true, pipelineId: true, scopeRoot: true };

/** @satisfies {Keys<import('pipestate').ResumedRun>} */
export const resumedRun = {
  ...writeResult,
  rule: true,
  tier: true,
  previousTier: true,
  tierChanged: true,
  confirmed: true,
  resumedAt: true,
  resumedBy: true,
  currentPhase: true,
};

/** @satisfies {Keys<import('pipestate').LockHolder>} */
export const holder = { pid: true, program: true, host: true, ageMs: true, alive: true, why: true };

/** @satisfies {Keys<Omit<import('pipestate').PipestateError, keyof Error>>} */
export const errorFields = {
  code: true,
  exitCode: true,
  path: true,
  pointer: true,
  holder: true,
  syscall: true,
  errno: true,
  line: true,
  column: true,
  offset: true,
  rev: true,
  candidates: true,
  removed: true,
  left: true,
};

/** @satisfies {Record<import('pipestate').PipestateErrorCode, true>} */
export const codes = {
  ERR_PIPESTATE_INVALID: true,
  ERR_PIPESTATE_REFUSED: true,
  ERR_PIPESTATE_LOCK_TIMEOUT: true,
  ERR_PIPESTATE_LOCK_LOST: true,
  ERR_PIPESTATE_IO: true,
  ERR_PIPESTATE_CORRUPT: true,
  ERR_PIPESTATE_CONFLICT: true,
  ERR_PIPESTATE_BUG: true,
};

/** @satisfies {Keys<import('pipestate').StateLock>} */
export const lock = {
  path: true,
  waitedMs: true,
  read: true,
  readSync: true,
  write: true,
  writeSync: true,
  release: true,
  releaseSync: true,
  [Symbol.dispose]: true,
  [Symbol.asyncDispose]: true,
};
