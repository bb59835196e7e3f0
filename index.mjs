// One native instance for import and require: this is index.js under other names.
import pipestate from './index.js';

export const {
  writeState,
  writeStateSync,
  readState,
  readStateSync,
  validateState,
  validateStateSync,
  recover,
  recoverSync,
  scanRuns,
  scanRunsSync,
  initPipeline,
  initPipelineSync,
  resumePipeline,
  resumePipelineSync,
  setPipelinePhase,
  setPipelinePhaseSync,
  finalizePipeline,
  finalizePipelineSync,
  updateState,
  updateStateSync,
  lockState,
  lockStateSync,
  StateLock,
  PipestateError,
} = pipestate;
export default pipestate;
