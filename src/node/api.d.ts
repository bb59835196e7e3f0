// The types of pipestate. What stands in front of "Options and results" is src/node/api.d.ts, the rest is printed by
// the build from the comments in src/node/convert.rs: change it there and run `npm run build`.

/**
 * A state file: a path, a path as bytes where it may not be UTF-8, or a `file:` URL. A relative path starts at the
 * working directory. Symbolic links are followed: all spellings of one file share one lock.
 */
export type StateFile = string | Uint8Array | URL

/**
 * What is to be changed: an object, or JSON as a string or as UTF-8 bytes.
 *
 * An object goes through `JSON.stringify`, so keys with the value `undefined` are left out and numbers are doubles.
 * Give text to write numbers beyond 2^53 digit by digit, or what `JSON.stringify` cannot write.
 *
 * Objects merge into the state key by key, to any depth; any other value replaces what stood there. An object whose keys
 * are all array indexes, merged onto an array, merges element by element (index = length appends). Nothing else in the
 * file changes by a byte.
 */
export type StatePatch = object | string | Uint8Array

/** A state document, parsed. pipestate checks only that it is a JSON object; narrow it to a type of your own. */
export type State = Record<string, any>

/** A state file as it was read. */
export interface StateSnapshot<T = State> {
  /** The document, parsed by `JSON.parse`; `{}` for a file that does not exist. */
  state: T
  /** The text of the file, with everything that `JSON.parse` loses; `''` for a file that does not exist. */
  text: string
  /** The revision of the file, for `ifMatch`; `'none'` for a file that does not exist. */
  rev: string
}

/**
 * Reads a state file. Takes no lock and waits for nobody: a reader sees the document before a write or after it, whole.
 *
 * A file that does not exist is an empty document: `{ state: {}, text: '', rev: 'none' }`.
 *
 * The file is read and checked off the event loop; parsing it happens on it, as `JSON.parse` does.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_CORRUPT`, `ERR_PIPESTATE_IO`
 * @example
 * const { state, rev } = await readState('agent-state.json')
 * await writeState('agent-state.json', { attempt: state.attempt + 1 }, { ifMatch: rev })
 */
export declare function readState<T = State>(file: StateFile): Promise<StateSnapshot<T>>

/** {@link readState}, done before it returns. */
export declare function readStateSync<T = State>(file: StateFile): StateSnapshot<T>

/**
 * Merges a patch into a state file, or replaces the document, under the file's lock.
 *
 * When the promise resolves the new state is in place, and unless `durability` is `'fast'` it outlives a power cut. If the
 * process dies on the way, the file has the old content or the new, whole, and the next writer goes on within a second.
 * A file that does not exist is created, with its folders.
 *
 * Calls for one path take effect in the order in which they are made, also if nobody awaits them. A wait for the lock
 * occupies no thread, and no call blocks the event loop.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_INVALID`, `ERR_PIPESTATE_REFUSED`, `ERR_PIPESTATE_LOCK_TIMEOUT`,
 * `ERR_PIPESTATE_LOCK_LOST`, `ERR_PIPESTATE_IO`, `ERR_PIPESTATE_CORRUPT`, `ERR_PIPESTATE_CONFLICT`; the reason of
 * `options.signal`
 * @example
 * await writeState('agent-state.json', { currentPhase: 4, phases: { 4: { status: 'running' } } })
 */
export declare function writeState(file: StateFile, patch: StatePatch, options?: WriteOptions): Promise<WriteResult>

/**
 * {@link writeState}, done before it returns. While it waits for the lock, nothing else runs on this thread, and so
 * neither can a lock be released that this thread holds: it would wait for itself until the window has run out.
 */
export declare function writeStateSync(file: StateFile, patch: StatePatch, options?: WriteSyncOptions): WriteResult

/**
 * Judges whether a state is safe to resume from. A bad state is an answer, not an exception: also a file that is missing
 * or does not parse is told of by the report.
 *
 * @example
 * const { ok, findings } = await validateState('agent-state.json')
 * if (!ok) throw new Error(findings.map(({ message }) => message).join('\n'))
 */
export declare function validateState(file: StateFile, options?: ValidateOptions): Promise<StateReport>

/** {@link validateState}, done before it returns. */
export declare function validateStateSync(file: StateFile, options?: ValidateOptions): StateReport

/**
 * Decides what to do about the run of a state file that is found: is somebody at work on it, has it crashed, is it done?
 * Whatever the file holds is an answer, not an exception: a corrupt, missing or unreadable file is `'escalate'`.
 *
 * The decision is the one of `pipestate recover`, for pipelines' and agents' states alike. Nothing is changed.
 *
 * @example
 * const { action, choices, reasons } = await recover('pipeline-state.json')
 * if (action === 'ask') console.log(reasons[0].message, choices)
 */
export declare function recover(file: StateFile, options?: RecoverOptions): Promise<RunDecision>

/** {@link recover}, done before it returns. */
export declare function recoverSync(file: StateFile, options?: RecoverOptions): RunDecision

/**
 * Finds the pipeline runs below the scope roots of all tiers, in both layouts, of workspaces and home folder, and decides
 * about each. A broken run is a decision like any other. Run folders named `edit-*` are left out.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_IO` for a workspace that cannot be listed
 * @example
 * const { files } = await scanRuns({ workspaces: ['.'] })
 * const crashed = files.filter(({ rule }) => rule === 'R2').map(({ path }) => path)
 */
export declare function scanRuns(options?: ScanOptions): Promise<RunScan>

/** {@link scanRuns}, done before it returns. */
export declare function scanRunsSync(options?: ScanOptions): RunScan

/**
 * Lists every pipeline run of workspaces and home folder and every task below the root of all logs, newest first by when it
 * was active; what tells no time comes last. Each with its phases and the decision about it, as `pipestate list --json` has
 * it. A broken run is listed like any other.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_IO` for a workspace that cannot be listed
 * @example
 * const { runs } = await listRuns()
 * for (const { name, action, ageMs, path } of runs) console.log(name, action, ageMs, path)
 */
export declare function listRuns(options?: ListOptions): Promise<RunList>

/** {@link listRuns}, done before it returns. */
export declare function listRunsSync(options?: ListOptions): RunList

/**
 * Says what is wrong with a state file, with offset, line and column, and with what lies beside it; of a folder, with its
 * state file or with all below it. With `propose` a repaired copy of each that can be repaired without guessing is written
 * beside it, as one of at most five; the file itself is never touched, and no function takes a proposal for a state.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_IO` where there is no state file, or the proposal cannot be written;
 * `ERR_PIPESTATE_REFUSED` where five lie there already
 * @example
 * const { files: [{ findings, repair }] } = await doctor('agent-state.json', { propose: true })
 * if (repair?.proposal) console.log('look at', repair.proposal, repair.changes)
 */
export declare function doctor(path: StateFile, options?: DoctorOptions): Promise<Examination>

/** {@link doctor}, done before it returns. */
export declare function doctorSync(path: StateFile, options?: DoctorOptions): Examination

/**
 * Makes one self-contained HTML page of a run: its phases in time, retries, halts, handoffs, outputs and findings. The page
 * has no scripts and asks for nothing; all text of the run in it is escaped. A damaged file is a page that says so.
 *
 * @param path the state file, or the folder that has one
 * @throws {PipestateError} `ERR_PIPESTATE_IO` where there is none
 * @example
 * await writeFile('run.html', await renderReport('pipeline-state.json'))
 */
export declare function renderReport(path: StateFile, options?: RecoverOptions): Promise<string>

/** {@link renderReport}, done before it returns. */
export declare function renderReportSync(path: StateFile, options?: RecoverOptions): string

/**
 * Judges a `PreToolUse` hook event of Claude Code as `pipestate guard` does: is the tool call about to edit a state file past
 * pipestate? `null` lets it pass.
 *
 * @param event the event, as an object or as its JSON
 * @throws {PipestateError} `ERR_PIPESTATE_INVALID` for what is no JSON object; let the call pass then
 */
export declare function guardToolUse(event: object | string | Uint8Array): Promise<Denial | null>

/** {@link guardToolUse}, done before it returns. */
export declare function guardToolUseSync(event: object | string | Uint8Array): Denial | null

/**
 * Makes a run of a pipeline: its folder, which nobody else gets, and its `pipeline-state.json` with every field that a
 * pipeline's document has.
 *
 * What is odd about the run without hindering it, such as a manifest that tells no version, is in `warnings`.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_IO`; `ERR_PIPESTATE_INVALID` for a profile that is no JSON object
 * @throws {TypeError} for a name or a phase that no document may have
 * @example
 * const { path } = await initPipeline({ name: 'docs', pattern: '2', tier: 'tier_1', phases: ['plan:planner', 'write'] })
 */
export declare function initPipeline(options: InitOptions): Promise<NewRun>

/** {@link initPipeline}, done before it returns. */
export declare function initPipelineSync(options: InitOptions): NewRun

/**
 * Takes up a pipeline's run that has stopped, in one write under the lock: of several that do, one gets it.
 *
 * Who is at work on a run keeps it, and a completed run is not resumed. One that has crashed, failed, been escalated or
 * paused is, when `confirm` says that a human wants it.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` where the run may not be resumed, and as {@link writeState} does
 * @example
 * await resumePipeline(path, { tier: 'tier_1', confirm: true })
 */
export declare function resumePipeline(file: StateFile, options: ResumeOptions): Promise<ResumedRun>

/** {@link resumePipeline}, done before it returns. */
export declare function resumePipelineSync(file: StateFile, options: ResumeSyncOptions): ResumedRun

/**
 * Records what a phase has come to, in one write: its status, outputs and error, and `current_phase`; with a failed phase
 * the run has failed. Phases and cursor keep the shape in which the document has them.
 *
 * @param phase its index, or its key where the phases are an object
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` where there is no such phase, or where it would start in a run that has
 * ended or been stopped, and as {@link writeState} does
 * @example
 * await setPipelinePhase(path, 0, { status: 'done', outputs: ['docs/plan.md'] })
 */
export declare function setPipelinePhase(
  file: StateFile,
  phase: number | string,
  transition: PhaseTransition,
  options?: EditOptions,
): Promise<WriteResult & { phase: string; status: string }>

/** {@link setPipelinePhase}, done before it returns. */
export declare function setPipelinePhaseSync(
  file: StateFile,
  phase: number | string,
  transition: PhaseTransition,
  options?: EditSyncOptions,
): WriteResult & { phase: string; status: string }

/**
 * Marks a run completed: it is running, and all its phases are done. One that is completed already stays as it is.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` for any other run, and as {@link writeState} does
 */
export declare function finalizePipeline(
  file: StateFile,
  options?: EditOptions,
): Promise<WriteResult & { status: 'completed' }>

/** {@link finalizePipeline}, done before it returns. */
export declare function finalizePipelineSync(
  file: StateFile,
  options?: EditSyncOptions,
): WriteResult & { status: 'completed' }

/**
 * Makes a task: the next number of its project, a folder that nobody else gets, its `agent-state.json` and its
 * `agent-log.md`. Numbers never repeat, also when the counter is lost or the logs were cleared.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_LOCK_TIMEOUT`, `ERR_PIPESTATE_LOCK_LOST`, `ERR_PIPESTATE_IO`,
 * `ERR_PIPESTATE_REFUSED` where a link leads out of the logs root
 * @throws {TypeError} for a ticket or a project that is no name
 * @example
 * const { state } = await createTask('PROJ-12345', { repositories: [{ repoPath: '/src/web', branch: 'feature/PROJ-12345' }] })
 */
export declare function createTask(ticket: string, options?: NewTaskOptions): Promise<Task & { warnings?: string[] }>
/** {@link createTask}, done before it returns. */
export declare function createTaskSync(ticket: string, options?: NewTaskOptions): Task & { warnings?: string[] }

/**
 * Finds a task by its number (`'#2'`, `'2'`, `2`) or its ticket.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` when none or several are called so; several are in `candidates`
 */
export declare function findTask(name: string | number, options?: TasksOptions): Promise<Task>
/** {@link findTask}, done before it returns. */
export declare function findTaskSync(name: string | number, options?: TasksOptions): Task

/** The tasks below the logs root, by project and number. One whose state is missing or corrupt tells so in `fault`. */
export declare function listTasks(options?: TasksOptions): Promise<Task[]>
/** {@link listTasks}, done before it returns. */
export declare function listTasksSync(options?: TasksOptions): Task[]

/**
 * Plans how to go on with an agent's run: the phase to enter, what not to do again, and why. Only reads, and asks git about
 * the recorded worktrees; nothing is healed. A state that is unsafe to resume is an answer, not an exception.
 *
 * @example
 * const plan = await planResume('agent-state.json')
 * if (plan.phase === undefined) throw new Error(plan.message)
 */
export declare function planResume(file: StateFile, options?: PlanOptions): Promise<ResumePlan | UnsafeState>
/** {@link planResume}, done before it returns. */
export declare function planResumeSync(file: StateFile, options?: PlanOptions): ResumePlan | UnsafeState

/**
 * Takes the plan of an agent's run that has crashed or been stopped, in one write: it is running, `haltReason` is cleared,
 * and who resumed it is recorded. Of several that start it one does. Call it when a human has said yes.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` for a run that is at work or completed, for a state that is unsafe, and
 * for a worktree that has to be healed first; as {@link writeState} does
 */
export declare function startResume(
  file: StateFile,
  options?: PlanOptions & EditSyncOptions,
): Promise<ResumePlan & WriteResult>
/** {@link startResume}, done before it returns. */
export declare function startResumeSync(file: StateFile, options?: PlanOptions & EditSyncOptions): ResumePlan & WriteResult

/**
 * Records what a phase of an agent's run has come to: one write, and one line in `agent-log.md`. With a failed phase the
 * run is paused, and a paused run starts no phase before it is resumed.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` for a file outside of the worktree and a run that has stopped; as
 * {@link writeState} does
 * @example
 * await setPhase(file, 3, { status: 'running', subStep: 'green', files: ['src/a.ts'] })
 */
export declare function setPhase(
  file: StateFile,
  phase: number,
  options: AgentTransition,
): Promise<WriteResult & { phase: number; status: string }>
/** {@link setPhase}, done before it returns. */
export declare function setPhaseSync(
  file: StateFile,
  phase: number,
  options: AgentTransition,
): WriteResult & { phase: number; status: string }

/**
 * Pauses an agent's run that cannot go on: writes it, says so in one line on stderr (also when the write failed), logs it,
 * and runs the hooks that `PIPESTATE_HOOKS` names.
 *
 * @throws {PipestateError} as {@link writeState} does, after the line on stderr
 */
export declare function halt(file: StateFile, options: HaltOptions): Promise<HaltResult>
/** {@link halt}, done before it returns. */
export declare function haltSync(file: StateFile, options: HaltOptions): HaltResult

/**
 * Asks for the next of the three attempts of a loop. From the second on `reflection` says what failed and what changes, and
 * is never the same twice. The fourth ask halts the run as {@link halt} does, and is refused.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED`; as {@link writeState} does
 */
export declare function nextAttempt(file: StateFile, loop: string, options?: AttemptOptions): Promise<Attempt>
/** {@link nextAttempt}, done before it returns. */
export declare function nextAttemptSync(file: StateFile, loop: string, options?: AttemptOptions): Attempt

/**
 * Appends what one phase hands over to the next to the log beside a state file, or to the log that is named, whole or not
 * at all.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` for more than 15 lines
 */
export declare function appendHandoff(
  file: StateFile,
  options: NewHandoff,
): Promise<{ path: string; text: string; lines: number }>
/** {@link appendHandoff}, done before it returns. */
export declare function appendHandoffSync(file: StateFile, options: NewHandoff): { path: string; text: string; lines: number }

/** The latest handoff in a log, or in the log beside a state file; of an older log without one its last section. */
export declare function latestHandoff(file: StateFile): Promise<Handoff | LogSection | null>
/** {@link latestHandoff}, done before it returns. */
export declare function latestHandoffSync(file: StateFile): Handoff | LogSection | null

/**
 * The files that one phase has put out, relative to the worktree.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` for a phase without a record, and for a file outside of the worktree
 */
export declare function phaseFiles(file: StateFile, phase: number, options?: PhaseFilesOptions): Promise<PhaseFile[]>
/** {@link phaseFiles}, done before it returns. */
export declare function phaseFilesSync(file: StateFile, phase: number, options?: PhaseFilesOptions): PhaseFile[]

/** Checks what a sub-agent gave back, and names what is wrong with it; `text` is the JSON, also from inside prose. */
export declare function checkResult(text: string | Uint8Array): Promise<CheckedResult>
/** {@link checkResult}, done before it returns. */
export declare function checkResultSync(text: string | Uint8Array): CheckedResult

/**
 * Plans to kill a task, found by its number or its ticket: its worktree and branch, with `remote` the branch on its remote
 * too. Its logs stay. Nothing is removed; the plan names everything that would go, and what would be lost.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` where there is no such task, and where something must not be removed: a
 * locked or a main worktree, that of another repository or of the current folder, a branch that is checked out elsewhere;
 * `ERR_PIPESTATE_CORRUPT`, `ERR_PIPESTATE_IO`
 * @example
 * const { token, groups } = await planKill('#2')
 * if (await isWanted(groups)) await confirm(token)
 */
export declare function planKill(task: string | number, options?: KillOptions): Promise<DestructionPlan>
/** {@link planKill}, done before it returns. */
export declare function planKillSync(task: string | number, options?: KillOptions): DestructionPlan

/** Plans to delete every `agent-log.md` and `agent-state.json`; counters stay, and so do runs that are at work. */
export declare function planClearLogs(options?: ClearLogsOptions): Promise<DestructionPlan>
/** {@link planClearLogs}, done before it returns. */
export declare function planClearLogsSync(options?: ClearLogsOptions): DestructionPlan

/** Plans to remove worktrees, branches, logs and counters. It is confirmed twice. */
export declare function planPurge(options?: PurgeOptions): Promise<DestructionPlan>
/** {@link planPurge}, done before it returns. */
export declare function planPurgeSync(options?: PurgeOptions): DestructionPlan

/**
 * Runs the plan that a token stands for: once, within 10 minutes, and only while everything that it lists is as it was. The
 * first token of a purge removes nothing and gives the second one. Whatever a crash leaves, a new plan lists.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_REFUSED` for a token that is unknown, used, expired or void;
 * `ERR_PIPESTATE_IO` with `removed` and `left` where something could not be removed; `ERR_PIPESTATE_LOCK_TIMEOUT`
 */
export declare function confirm(token: string, options?: ConfirmOptions): Promise<Destruction | DestructionQuestion>
/** {@link confirm}, done before it returns. */
export declare function confirmSync(token: string, options?: ConfirmOptions): Destruction | DestructionQuestion

/**
 * Reads a state, asks `fn` what to change, and writes that, all under one lock: nobody can write in between.
 *
 * `fn` gets the state and how it was read, and returns a patch, or `undefined` or `null` to write nothing; it may be async.
 * What it throws is thrown here, and nothing is written. If another tool removes the lock or writes meanwhile, nothing is
 * written either, and all of it, `fn` included, is done again as long as the window lasts: let it depend on its arguments
 * only.
 *
 * @param options those of {@link writeState}; the window is for the lock, not for the time that `fn` takes
 * @throws {PipestateError} as {@link writeState} does
 * @example
 * await updateState('agent-state.json', (state) => ({ attempt: (state.attempt ?? 0) + 1 }))
 */
export declare function updateState<T = State>(
  file: StateFile,
  fn: (state: T, read: { text: string; rev: string }) => MaybePatch | PromiseLike<MaybePatch>,
  options?: WriteOptions,
): Promise<WriteResult>

/** {@link updateState}, done before it returns; `fn` must not be async. */
export declare function updateStateSync<T = State>(
  file: StateFile,
  fn: (state: T, read: { text: string; rev: string }) => MaybePatch,
  options?: WriteSyncOptions,
): WriteResult

/** A patch, or nothing to write. */
export type MaybePatch = StatePatch | undefined | null | void

/**
 * Takes the lock of a state file and holds it, over as many reads and writes as you like. The file need not exist; its folder
 * is made.
 *
 * @throws {PipestateError} `ERR_PIPESTATE_LOCK_TIMEOUT`, `ERR_PIPESTATE_IO`; the reason of `options.signal`
 * @example
 * await using lock = await lockState('agent-state.json')   // or: try { … } finally { await lock.release() }
 * const { state } = await lock.read()
 * if (state.status !== 'paused') await lock.write({ status: 'running' })
 */
export declare function lockState(file: StateFile, options?: LockOptions): Promise<StateLock>

/** {@link lockState}, done before it returns. While it waits for the lock, nothing else runs on this thread. */
export declare function lockStateSync(file: StateFile, options?: LockSyncOptions): StateLock

/**
 * The lock of a state file, from {@link lockState}. All other writers wait until it is released.
 *
 * It is released by `release`, by the end of its `using` block, and with its worker or process, however that ends; as a
 * last resort also when it is garbage collected. Its asynchronous calls take effect in the order in which they are made.
 */
export declare class StateLock {
  private constructor()
  /** The real path of the state file: absolute, without symbolic links. What is not UTF-8 in it stands as U+FFFD. */
  readonly path: string
  /** How long the lock was waited for, in milliseconds. */
  readonly waitedMs: number
  /**
   * Reads the state file; see {@link readState}.
   *
   * @throws {PipestateError} `ERR_PIPESTATE_CORRUPT`, `ERR_PIPESTATE_IO`
   * @throws {TypeError} after the lock was released
   */
  read<T = State>(): Promise<StateSnapshot<T>>
  /** {@link StateLock.read}, done before it returns. */
  readSync<T = State>(): StateSnapshot<T>
  /**
   * Writes the state file; see {@link writeState}.
   *
   * @throws {PipestateError} those of {@link writeState}, but for a timeout. `ERR_PIPESTATE_LOCK_LOST` when another tool has
   * removed the lock: nothing was written, and what was read under it may be outdated. Take a new one and start over.
   * @throws {TypeError} after the lock was released
   */
  write(patch: StatePatch, options?: PatchOptions): Promise<WriteResult>
  /** {@link StateLock.write}, done before it returns. */
  writeSync(patch: StatePatch, options?: PatchOptions): WriteResult
  /** Releases the lock. Doing so again does nothing. */
  release(): Promise<void>
  /** {@link StateLock.release}, done before it returns. */
  releaseSync(): void
  [Symbol.asyncDispose](): Promise<void>
  [Symbol.dispose](): void
}

/** How {@link StateLock.write} writes: {@link writeState}'s options without those of the wait. */
export type PatchOptions = Omit<WriteSyncOptions, 'lockTimeoutMs'>

/** How {@link writeState} and {@link updateState} write. */
export interface WriteOptions extends WriteSyncOptions {
  /**
   * Ends the wait: the promise is rejected with the signal's reason, and nothing was written. A write that can no longer be
   * stopped is done as if nothing had been said.
   */
  signal?: AbortSignal
}

/** How a run is edited. */
export interface EditOptions extends EditSyncOptions {
  /** Ends the wait: the promise is rejected with the signal's reason, and nothing was written. */
  signal?: AbortSignal
}

/** How a run is taken up. */
export interface ResumeOptions extends ResumeSyncOptions {
  /** Ends the wait: the promise is rejected with the signal's reason, and nothing was written. */
  signal?: AbortSignal
}

/** How {@link lockState} waits. */
export interface LockOptions extends LockSyncOptions {
  /** Ends the wait: the promise is rejected with the signal's reason. */
  signal?: AbortSignal
}

/** What {@link validateState} found out; `pipestate validate --json` prints the same, without `exitCode`. */
export interface StateReport {
  /** Whether the state is safe to resume from: no errors, and with `strict` no warnings. */
  ok: boolean
  /** The file as the caller named it. What is not UTF-8 in it stands as U+FFFD. */
  path: string
  /** As which kind it was judged; `'unknown'` for what is neither, of which only the JSON is judged. */
  kind: 'agent' | 'pipeline' | 'unknown'
  /** The revision that was judged: `'none'` for a file that does not exist, `null` for one that cannot be read. */
  rev: string | null
  /** All that was found, errors first. */
  findings: Finding[]
  /** 0 safe, 1 not safe, 3 missing, unreadable or corrupt. */
  exitCode: 0 | 1 | 3
}

/** What {@link recover} decided; `pipestate recover --json` prints the same. */
export interface RunDecision {
  /** The file as the caller named it, or as the scan found it. What is not UTF-8 in it stands as U+FFFD. */
  path: string
  /** Which document it is; `'unknown'` for one of neither kind, of which only the status counts. */
  kind: 'agent' | 'pipeline' | 'unknown'
  /** The revision that was decided about: `'none'` for a file that does not exist, `null` for one that cannot be read. */
  rev: string | null
  /** The rule that decided: R1 at work, R2 crashed, R3 completed, R4 stopped, R5 corrupt or unreadable, R6 no known status. */
  rule: 'R1' | 'R2' | 'R3' | 'R4' | 'R5' | 'R6'
  /** The status as the document has it; `null` when it has none or none that is a string. */
  status: string | null
  /**
   * What to do: `'refuse'` to start another run, `'ask'` the user to choose, `'skip'` the run, `'stop'` and let a human
   * decide, or `'escalate'`, the file being damaged.
   */
  action: 'refuse' | 'ask' | 'skip' | 'stop' | 'escalate'
  /** What to put to the user; empty where the rule gives nothing to choose. */
  choices: ('finalize' | 'resume' | 'restart' | 'abort' | 'skip' | 'archive')[]
  /** Whether a program may resume the run without asking: by no rule. */
  autoResume: false
  /** How long ago it was active, in milliseconds; 0 for a time in the future, `null` when the file's time is not known. */
  ageMs: number | null
  /** When it was active last, in ISO 8601, and what tells so: the pointer of a field, or `'mtime'`. */
  lastActive: { at: string; source: string } | null
  /** Why: the rule's own reason first, then what else a reader of the state should know. */
  reasons: RunReason[]
  /** 0 completed, 3 corrupt or unreadable, 1 any other. */
  exitCode: 0 | 1 | 3
}

/** One reason of a {@link RunDecision}. */
export interface RunReason {
  /** What it is, in kebab case; stable, for programs. */
  code: string
  /** The same for people. */
  message: string
  /** RFC 6901 pointer of the field that it is about; absent when it is about the run or its file. */
  pointer?: string
}

/** What {@link scanRuns} found; `pipestate recover --scan --json` prints the same, without `exitCode`. */
export interface RunScan {
  /** Whether all runs are completed. */
  ok: boolean
  /** A decision for each run, by root and path. */
  files: RunDecision[]
  /** The worst of the decisions' exit codes; 0 when there is no run. */
  exitCode: 0 | 1 | 3
}

/** What {@link listRuns} found; `pipestate list --json` prints the same, without `exitCode`. */
export interface RunList {
  /** Whether all could be read. */
  ok: boolean
  /** The runs and tasks, newest first. */
  runs: RunView[]
  /** 3 when one is damaged, else 0. */
  exitCode: 0 | 3
}

/** A run with its phases and the decision about it; `pipestate status --json` prints the same. */
export interface RunView extends RunDecision {
  /** What it is called: its pipeline, ticket or project; `null` when nothing says. */
  name: string | null
  /** Which run of that name: `run …` or `task …`; `null` when nothing says. */
  run: string | null
  /** Its phases; numbered ones by number. */
  phases: PhaseView[]
}

/** A phase of a {@link RunView}. */
export interface PhaseView {
  /** Its place in the array, or its key. */
  key: string
  /** Its name, where it has one beside the key. */
  name: string | null
  /** Its status as it stands there. */
  status: string | null
  /** What that status means. */
  mark: 'done' | 'running' | 'pending' | 'failed' | 'skipped' | 'unknown'
  /** Whether the document's cursor is on it. */
  isCurrent: boolean
  /** Who works on it. */
  agent: string | null
  /** How long it took, or has been running; `null` when nothing says. */
  durationMs: number | null
  /** The unit of work that was recorded last in it. */
  subStep: string | null
  /** What went wrong in it. */
  error: string | null
  /** The files that it made. */
  outputs: string[]
}

/** How {@link doctor} examines. */
export interface DoctorOptions {
  /**
   * Write a repaired copy beside each file that can be repaired.
   *
   * @default false
   */
  propose?: boolean
}

/** What {@link doctor} found; `pipestate doctor --json` prints the same, without `exitCode`. */
export interface Examination {
  /** Whether all are safe to resume from. */
  ok: boolean
  /** A diagnosis for each state file. */
  files: Diagnosis[]
  /** The worst of the diagnoses' exit codes. */
  exitCode: 0 | 1 | 3
}

/** What is wrong with a state file. */
export interface Diagnosis {
  /** Whether it is safe to resume from it. */
  ok: boolean
  /** The file, as the caller named it or as it was found. */
  path: string
  /** Which document it is. */
  kind: 'agent' | 'pipeline' | 'unknown'
  /** The revision that was examined; `'none'` when there is no file, `null` when it could not be read. */
  rev: string | null
  /** All that was found: the text or the document first, then what lies beside it. */
  findings: (Finding & Partial<TextPosition>)[]
  /** What a repair would change; `null` when there is nothing to repair. */
  repair: Repair | null
  /** 3 missing, unreadable or corrupt, 1 unsafe, 0 safe. */
  exitCode: 0 | 1 | 3
}

/** Where something stands in a file. */
export interface TextPosition {
  /** Bytes before it. */
  offset: number
  /** Its line, from 1. */
  line: number
  /** Its column, from 1, in characters. */
  column: number
}

/** What a repair would change. */
export interface Repair {
  /** Whether all that is wrong with the text can be mended without guessing. */
  possible: boolean
  /** The changes, and where in the file they are. */
  changes: ({ what: string } & TextPosition)[]
  /** What the validator says of the repaired document. */
  findings: Finding[]
  /** The copy that was written; absent when none was. */
  proposal?: string
}

/** A tool call that is denied. */
export interface Denial {
  /** The state file, as the call names it. */
  file: string
  /** Why, and what to do instead: for `permissionDecisionReason`. */
  reason: string
}

/** An execution tier: the host program that a pipeline runs under. */
export type PipelineTier = 'tier_1' | 'tier_1b' | 'tier_1c' | 'tier_1d' | 'tier_2'

/** What {@link initPipeline} made; `path` is the absolute path of the document. */
export interface NewRun extends WriteResult {
  /** What the run is called, as its folder is. */
  runId: string
  /** The pipeline's id. */
  pipelineId: string
  /** The scope root that the run lies below. */
  scopeRoot: string
}

/** What {@link resumePipeline} wrote. */
export interface ResumedRun extends WriteResult {
  /** Which rule the run was stopped by: R2 crashed, R4 failed, escalated or paused. */
  rule: 'R2' | 'R4'
  /** The tier that it goes on under. */
  tier: PipelineTier
  /** The tier that it ran under before; `null` when that is not recorded. */
  previousTier: string | null
  /** Whether that was another one. */
  tierChanged: boolean
  /** Whether the resume was confirmed. */
  confirmed: boolean
  /** When, in ISO 8601, as the document has it. */
  resumedAt: string
  /** By whom, as the document has it. */
  resumedBy: string
  /** `current_phase` as the document has it, as JSON; `null` when it has none. */
  currentPhase: string | null
}

/** Where tasks lie. */
export interface TasksOptions {
  /** Only those of this project. */
  project?: string
  /**
   * The root of all logs.
   *
   * @default the environment variable `PIPESTATE_LOGS_DIR`, else `~/.claude/logs/multi-agent`
   */
  logsDir?: string
}

/** What {@link createTask} makes a task of. */
export interface NewTaskOptions extends EditSyncOptions {
  /** @default the base name of the first repository */
  project?: string
  /** The repositories that the task works on. */
  repositories?: TaskRepository[]
  /** See {@link TasksOptions.logsDir}. */
  logsDir?: string
}

/** A repository that a task works on. */
export interface TaskRepository {
  /** The repository. */
  repoPath: string
  /** The worktree that is made of it; a relative one starts at the repository. */
  worktreePath?: string
  /** The branch in it. */
  branch?: string
}

/** A task. What its state does not tell is `null`. */
export interface Task {
  taskId: number
  project: string
  ticket: string | null
  /** The run's status word. */
  status: string | null
  currentPhase: number | null
  /** The folder, and in it the state file and the log. */
  folder: string
  state: string
  log: string
  /** What is wrong with it: no state, or a corrupt one. */
  fault?: string
}

/** Against what a plan measures. */
export interface PlanOptions {
  /**
   * The highest phase of the host's phase list.
   *
   * @default 7
   */
  maxPhase?: number
  /**
   * How long a running run may be silent before it counts as crashed, in milliseconds.
   *
   * @default 3600000
   */
  staleAfterMs?: number
  /**
   * The time that counts as now.
   *
   * @default the system's clock
   */
  now?: Date | string
}

/** How to go on with an agent's run; `pipestate resume --json` prints the same, without `exitCode`. */
export interface ResumePlan {
  /** Whether no worktree has to be healed first. */
  ok: boolean
  exitCode: 0 | 1
  path: string
  rev: string
  taskId: string | null
  ticket: string | null
  /** The cursor of the document. */
  currentPhase: number
  /** The phase to enter. */
  phase: number
  /** The latest unit that is recorded of it. */
  subStep: string | null
  /** The phases to run; the last phase is always among them. */
  phases: number[]
  /** Units not to be done again. */
  skip: PlannedUnit[]
  /** Units that are recorded and have to be done again all the same. */
  redo: PlannedUnit[]
  /** Why the plan is as it is. */
  reasons: RunReason[]
  /** Why {@link startResume} would refuse; empty when it would not. */
  obstacles: RunReason[]
  worktrees: TaskWorktree[]
  handoff: Handoff | LogSection | null
  findings: Finding[]
  /** What the rules of recovery say of the run. */
  decision: object
}

/** A state that is unsafe to resume. */
export interface UnsafeState {
  ok: false
  exitCode: 1 | 3
  message: string
  path: string
  rev: string | null
  findings: Finding[]
  phase?: undefined
}

/** A unit of a phase, and why it is skipped or not. */
export interface PlannedUnit {
  subStep: string
  files: string[]
  why: string
}

/** A recorded worktree as it was found. */
export interface TaskWorktree {
  pointer: string
  path: string
  branch: string | null
  /** Files that differ from the last commit or that git does not know. */
  changed: string[]
  /** What is wrong with it, and the shell lines that heal it; none are run. */
  notes: { code: string; message: string; blocks: boolean; heal: string[] }[]
}

/** What a phase of an agent's run has come to. */
export interface AgentTransition extends EditSyncOptions {
  status: 'pending' | 'running' | 'done' | 'completed' | 'failed'
  /** Files that it has put out; added to those that are recorded. */
  files?: string[]
  /** The unit that is done by this, with these files. */
  subStep?: string
  retryCount?: number
  /** @default true */
  log?: boolean
  /** @default 7 */
  maxPhase?: number
}

/** Why a run stops. */
export interface HaltOptions extends EditSyncOptions {
  phase: number
  cause: string
}

/** How a halt went. */
export interface HaltResult extends WriteResult {
  /** The line on stderr. */
  line: string
  hooks: { command: string[]; exitCode: number | null; stdout: string; stderr: string }[]
}

/** What {@link nextAttempt} is asked with. */
export interface AttemptOptions extends EditSyncOptions {
  /** What failed, and which change mends it. */
  reflection?: string
  /** Give the loop its attempts back: for a human. */
  reset?: boolean
}

/** An attempt that may be made. */
export interface Attempt extends WriteResult {
  loop: string
  /** From 1 to 3; 0 after a reset. */
  attempt: number
  of: number
  reflections: { attempt: number; at: string | null; reflection: string }[]
}

/** What a phase hands over. */
export interface NewHandoff extends EditSyncOptions {
  phase: number
  name: string
  done?: string[]
  remaining?: string[]
  decisions?: string[]
  openFindings?: string[]
  next: string
}

/** A handoff as it was read. */
export interface Handoff {
  kind: 'handoff'
  phase: number | null
  name: string | null
  at: string | null
  done: string[]
  remaining: string[]
  decisions: string[]
  openFindings: string[]
  next: string | null
  /** The block as it stands there, and the line that it begins at. */
  text: string
  line: number
}

/** The last section of a log without a handoff. */
export interface LogSection {
  kind: 'section'
  heading: string | null
  text: string
  line: number
}

/** Which files {@link phaseFiles} gives. */
export interface PhaseFilesOptions {
  only?: 'existing' | 'missing'
}

/** A file that a phase lists. */
export interface PhaseFile {
  path: string
  /** `null` when no worktree is recorded to look in. */
  exists: boolean | null
}

/** What {@link checkResult} came to. */
export interface CheckedResult {
  /** Whether the result is as it should be, and nothing but it was given back. */
  ok: boolean
  findings: Finding[]
  result: {
    status: string | null
    findings: number | null
    files_changed: string[] | null
    blocking: boolean | null
  }
  /** The JSON of the result; `null` when there is none. */
  text: string | null
}

/** One thing that {@link validateState} found. */
export interface Finding {
  /**
   * An error makes a resume unsafe; a warning does so only with `strict`; an advice, to look at something around the
   * document, and an info never.
   */
  severity: 'error' | 'warning' | 'advice' | 'info'
  /** What it is, in kebab case; stable, for programs. */
  code: string
  /** RFC 6901 pointer of the field that it is about; `''` for the whole document. */
  pointer: string
  /** What is wrong, for people. */
  message: string
}

/**
 * Why a call did not do what it was asked. `message` is one line that says what failed, on what, why, and what to do.
 *
 * Wrong arguments are a `TypeError` instead, with the code `ERR_PIPESTATE_USAGE` and the exit code 64.
 */
export declare class PipestateError extends Error {
  private constructor()
  name: 'PipestateError'
  /** What went wrong. */
  code: PipestateErrorCode
  /** The exit code that the command line has for it. */
  exitCode: 1 | 2 | 3 | 4 | 70
  /** The state file, as the caller named it; absent where the error is about the patch alone. */
  path?: string
  /** RFC 6901 pointer of the field that was refused. */
  pointer?: string
  /** Who has the lock, of `ERR_PIPESTATE_LOCK_TIMEOUT`. */
  holder?: LockHolder
  /** The tasks that are called so, when a name is ambiguous. */
  candidates?: string[]
  /** What is removed, when not all could be. */
  removed?: string[]
  /** What is left then, each with the reason. */
  left?: string[]
  /** The system call that failed, of `ERR_PIPESTATE_IO`. */
  syscall?: string
  /** The system's error number, negative as in Node's own errors: `util.getSystemErrorName(errno)` names it. */
  errno?: number
  /** The line of the JSON text in which the error is, from 1; of `ERR_PIPESTATE_INVALID`. */
  line?: number
  /** The column in that line, in characters, from 1. */
  column?: number
  /** The offset of the error in the text, in bytes, from 0. */
  offset?: number
  /** The revision of the file now, of `ERR_PIPESTATE_CONFLICT`. */
  rev?: string
}

/**
 * - `ERR_PIPESTATE_INVALID`: the patch is not JSON, or no object
 * - `ERR_PIPESTATE_REFUSED`: a rule forbids this change; `pointer` names the field
 * - `ERR_PIPESTATE_LOCK_TIMEOUT`: another writer had the lock for the whole window; `holder` says who. Retry once, then halt
 * - `ERR_PIPESTATE_LOCK_LOST`: another tool removed the lock; nothing was written
 * - `ERR_PIPESTATE_IO`: the system refused something; `syscall` and `errno` say what. Nothing was written, unless the message
 *   says "written, not known to be durable"
 * - `ERR_PIPESTATE_CORRUPT`: the state file is not a JSON object. Its bytes are kept; `replace` writes over it
 * - `ERR_PIPESTATE_CONFLICT`: the revision is not that of `ifMatch`; `rev` is the one of the file. Read again and decide again
 * - `ERR_PIPESTATE_BUG`: a defect of pipestate
 */
export type PipestateErrorCode =
  | 'ERR_PIPESTATE_INVALID'
  | 'ERR_PIPESTATE_REFUSED'
  | 'ERR_PIPESTATE_LOCK_TIMEOUT'
  | 'ERR_PIPESTATE_LOCK_LOST'
  | 'ERR_PIPESTATE_IO'
  | 'ERR_PIPESTATE_CORRUPT'
  | 'ERR_PIPESTATE_CONFLICT'
  | 'ERR_PIPESTATE_BUG'

/** Who has a lock, and whether they live. */
export interface LockHolder {
  /** Process id, as the holder sees it; `null` when the lock names nobody. */
  pid: number | null
  /** The program that took the lock; `null` when it did not say. */
  program: string | null
  /** The host that it runs on; `null` when it did not say. */
  host: string | null
  /** How old the lock is, in milliseconds; `null` when its time lies in the future. */
  ageMs: number | null
  /** Whether the holder is taken to be alive. */
  alive: boolean
  /** Why. */
  why: string
}

/** Which task is killed. */
export interface KillOptions extends TasksOptions {
  /** Delete the branch on its remote as well. */
  remote?: boolean
}

/** Whose logs are deleted. */
export interface ClearLogsOptions extends TasksOptions {
  /** Those of runs that are at work, too. */
  includeActive?: boolean
}

/** What is purged. */
export interface PurgeOptions extends ClearLogsOptions {
  /** Delete the branches on their remotes as well. */
  remote?: boolean
}

/** How a token is used. */
export interface ConfirmOptions {
  /** See {@link TasksOptions.logsDir}. */
  logsDir?: string
  /** How long to wait for a lock, in milliseconds: of other runs, and of files that are removed. */
  lockTimeoutMs?: number
}

/** What would be removed. */
export interface DestructionPlan {
  command: 'kill' | 'clear-logs' | 'purge'
  /** What goes, task by task, in this order. */
  groups: DestructionGroup[]
  /** What is left alone, though it was asked for. */
  kept: { path: string; reason: string }[]
  /** What {@link confirm} takes; `null` when there is nothing to remove. */
  token: string | null
  /** From then on the token is void. */
  expiresAt: string | null
  /** The shell line that confirms it. */
  confirm: string | null
}

/** What goes together. */
export interface DestructionGroup {
  project: string
  /** `null` for what is the project's own. */
  taskId: number | null
  ticket: string | null
  items: DestructionItem[]
  /** What is odd about it. */
  notes: string[]
}

/** One thing that goes, and what goes with it. */
export type DestructionItem =
  | DestroyedWorktree
  | { kind: 'branch'; gitFolder: string; name: string; oid: string; lost: LostCommits }
  | DestroyedRemoteBranch
  | { kind: 'trash' | 'log-folder'; path: string; size: number; files: number; names: string[]; fingerprint: string }
  | { kind: 'log-file' | 'counter' | 'lock'; path: string; size: number; fingerprint: string }
  | { kind: 'project-folder'; path: string }

/** A branch on a remote that goes. */
export interface DestroyedRemoteBranch {
  kind: 'remote-branch'
  gitFolder: string
  remote: string
  name: string
  oid: string
  /** `false` when its commits are not in this repository, so that nobody here knows what goes with it. */
  isFetched: boolean
  lost: LostCommits
}

/** A worktree that goes. */
export interface DestroyedWorktree {
  kind: 'worktree'
  path: string
  gitFolder: string
  /** `false` when only git still knows of it. */
  exists: boolean
  head: string | null
  branch: string | null
  /** Bytes in its files. */
  size: number
  files: number
  /** Files that differ from the last commit, and files that git does not know. */
  uncommitted: LostNames
  /** Files that git is told to overlook. */
  ignored: LostNames
  /** Folders in it that are repositories of their own. */
  repositories: LostNames
  /** Commits that nothing else leads to; only of one that is on no branch. */
  lost: LostCommits
  fingerprint: string
}

/** Names that go; with `more` there are others. */
export interface LostNames {
  count: number
  more: boolean
  names: string[]
}

/** Commits that no other branch, tag or remote-tracking branch has; at most 20 are named. */
export interface LostCommits {
  count: number
  named: string[]
}

/** A plan that was run. */
export interface Destruction {
  done: true
  command: 'kill' | 'clear-logs' | 'purge'
  /** The sentence that tells it: `Task #2 killed (logs preserved at …)`. */
  line: string
  removed: string[]
  warnings?: string[]
}

/** The second question of a purge; nothing is removed yet. */
export interface DestructionQuestion {
  done: false
  command: 'purge'
  question: 'Purge permanently'
  token: string
  expiresAt: string
  confirm: string
}

// ---- Options and results ----
