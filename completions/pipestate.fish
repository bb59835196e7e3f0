# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_pipestate_global_optspecs
    string join \n h/help V/version
end

function __fish_pipestate_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_pipestate_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_pipestate_using_subcommand
    set -l cmd (__fish_pipestate_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c pipestate -n "__fish_pipestate_needs_command" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_needs_command" -s V -l version -d 'Print version'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "write" -d 'Merge the JSON object on stdin into the state file'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "validate" -d 'Say whether a state file is safe to resume, and everything that is wrong or odd about it'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "get" -d 'Print a value of the state file, byte for byte as it stands there'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "unlock" -d 'Say who holds the lock of the state file and whether they live; remove the lock of a dead one'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "init" -d 'Make a new run of a pipeline: its folder and its pipeline-state.json, whose path is printed'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "phase" -d 'Record what a phase has come to: status, outputs, error and cursor in one write'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "recover" -d 'Say what to do about a run that is found: refuse, ask, skip, stop or escalate, and why'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "status" -d 'Show a run: name, status, age, what to do about it, and a line for each phase'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "resume" -d 'Say where an agent\'s run goes on, and take up a run that has stopped: of several that do, one gets it'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "finalize" -d 'Mark a pipeline\'s run completed: it is running, and all its phases are done'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "task" -d 'Number tasks, make their folders, and find them again'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "halt" -d 'Pause a run that cannot go on, say so on stderr, and run the hooks'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "attempt" -d 'Ask for the next of the three attempts of a loop; the fourth halts the run'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "handoff" -d 'Write what one phase hands over to the next into the log, and read the latest of these back'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "files" -d 'List the files that one phase has put out, relative to the worktree'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "check-result" -d 'Check the result of a sub-agent on stdin: {"status", "findings", "files_changed", "blocking"}'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "guard" -d 'Keep an agent\'s session from editing state files past pipestate: a PreToolUse hook of Claude Code'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "list" -d 'List all runs and tasks, newest first: age, what to do about each, status, name and file'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "doctor" -d 'Explain what is wrong with a state file and where, and propose a repaired copy'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "report" -d 'Make one self-contained page of a run: phases in time, retries, halts, handoffs, outputs, findings'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "completions" -d 'Print what completes this program\'s arguments in a shell'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "install" -d 'Put write-state.mjs and validate-state.mjs into a folder of scripts, in place of those that are there'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "kill" -d 'Remove a task\'s worktree and branch, its logs stay: shows what would go, and a token that lets it go'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "clear-logs" -d 'Delete every agent-log.md and agent-state.json, counters stay: shows what would go, and a token'
complete -c pipestate -n "__fish_pipestate_needs_command" -f -a "purge" -d 'Remove worktrees, branches, logs and counters: shows what would go, and the first of two tokens'
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -l if-match -d 'Write only if the file has this revision (`none`: if there is no file); else exit 4' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -l replace -d 'Store the document as a whole, also over a file that does not parse'
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -l merge-patch -d 'Merge by RFC 7396: null deletes a key, arrays are replaced'
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -l force -d 'Write also what never changes after init in a pipeline document (P2, P3), and warn of it'
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -l json -d 'Print the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand write" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand validate" -l kind -d 'Check it as `agent` or as `pipeline` [default: `auto`: by file name, else by its fields]' -r -f -a "auto\t''
agent\t''
pipeline\t''"
complete -c pipestate -n "__fish_pipestate_using_subcommand validate" -l max-phase -d 'The highest phase of this host\'s phase list' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand validate" -l strict -d 'Let warnings fail too'
complete -c pipestate -n "__fish_pipestate_using_subcommand validate" -l json -d 'Print the report as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand validate" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand get" -l rev -d 'Print the revision instead; `none` if there is no file'
complete -c pipestate -n "__fish_pipestate_using_subcommand get" -l json -d 'Print path, revision, pointer and value as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand get" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand unlock" -l force -d 'Remove the lock also of a holder that lives, or of whom nothing is known'
complete -c pipestate -n "__fish_pipestate_using_subcommand unlock" -l json -d 'Print the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand unlock" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l name -d 'The pipeline\'s name: a-z, 0-9 and -, at most 48 of them' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l pattern -d 'The execution pattern' -r -f -a "1\t''
2\t''
2b\t''
3\t''
4\t''
5\t''"
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l tier -d 'The tier that makes and runs it: tier_1, tier_1b, tier_1c, tier_1d, tier_2' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l layout -d 'How the run lies below its scope root: temp/NAME/RUN, or superpipelines/temp/NAME/RUN' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l scope-root -d 'The scope root [default: below the workspace, .superpipelines (data) or the tier\'s (legacy)]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l phase -d 'A phase and who does it; once for each, in their order' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l profile -d 'The tier\'s platform profile, a JSON file, which the run keeps as it is' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l workspace -d 'The workspace, with the tier\'s manifest in it [default: the working folder]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l run-id -d 'What the run is called: a random UUID, or name and time' -r -f -a "uuid\t''
stamp\t''"
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -l json -d 'Print path, ids and revision as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand init" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l status -d 'pending, running, done (or completed), failed; with a failed phase a pipeline\'s run has failed, an agent\'s is paused' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l output -l file -d 'A file that the phase has put out; added to those that are recorded' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l error -d 'Why the phase failed (of pipelines)' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l sub-step -d 'The unit of the phase that is done by this, with these files: a resume skips it (of agents)' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l retry-count -d 'How often the phase has been tried again (of agents)' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l max-phase -d 'The highest phase of this host\'s phase list (of agents)' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l no-log -d 'Leave out the line in agent-log.md (of agents)'
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -l json -d 'Print the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand phase" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand recover" -l scan -d 'Find the runs of these workspaces and of the home folder, of all tiers' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand recover" -l home -d 'The home folder, for the runs below it and for preference files in `~` [default: $HOME]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand recover" -l stale-after -d 'How long a running run may be silent before it has crashed: 90m, 1h30m [default: 1h]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand recover" -l now -d 'The time that counts as now, in ISO 8601, without a zone UTC [default: the system\'s]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand recover" -l no-user -d 'Leave the home folder alone'
complete -c pipestate -n "__fish_pipestate_using_subcommand recover" -l json -d 'Print the decisions as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand recover" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand status" -l stale-after -d 'How long a running run may be silent before it has crashed: 90m, 1h30m [default: 1h]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand status" -l now -d 'The time that counts as now, in ISO 8601, without a zone UTC [default: the system\'s]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand status" -l watch -d 'Show it again whenever it changes, until the run ends or Ctrl-C'
complete -c pipestate -n "__fish_pipestate_using_subcommand status" -l json -d 'Print what is shown as one JSON object (with --watch, one at each change)'
complete -c pipestate -n "__fish_pipestate_using_subcommand status" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l tier -d 'The tier that the run goes on under' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l profile -d 'The platform profile of that tier; kept when it is another tier than before' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l max-phase -d 'The highest phase of this host\'s phase list (of agents)' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l stale-after -d 'How long a running run may be silent before it has crashed: 90m, 1h30m [default: 1h]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l now -d 'The time that counts as now, in ISO 8601, without a zone UTC [default: the system\'s]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l confirm -d 'A human has said yes: needed for a crashed run, and for one that has failed, been escalated or paused'
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l start -d 'Take the plan: the run is running from now on (of agents; a human has said yes)'
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -l json -d 'Print what was claimed as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand resume" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand finalize" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand finalize" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand finalize" -l json -d 'Print the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand finalize" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and not __fish_seen_subcommand_from new list show" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and not __fish_seen_subcommand_from new list show" -f -a "new" -d 'Give a ticket the next number of its project, with folder, state and log'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and not __fish_seen_subcommand_from new list show" -f -a "list" -d 'List the tasks, by project and number'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and not __fish_seen_subcommand_from new list show" -f -a "show" -d 'Find a task by its number or its ticket; exit 1 when none or several are called so'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l project -d 'The project [default: the base name of the repository]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l repo -d 'The repository; once for each of several, with its --worktree and --branch [default: the one around us, unless --project is given]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l worktree -d 'The worktree that is made of it; a relative one starts at the repository' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l branch -d 'The branch in it' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l logs-dir -d 'The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -l json -d 'Print the task as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from list" -l project -d 'Only those of this project' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from list" -l logs-dir -d 'The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from list" -l json -d 'Print the tasks as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from show" -l project -d 'Only among those of this project' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from show" -l logs-dir -d 'The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from show" -l path -d 'Print the path of its state file and nothing else'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from show" -l json -d 'Print the task as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand task; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand halt" -l phase -d 'The phase that cannot go on' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand halt" -l cause -d 'Why' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand halt" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand halt" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand halt" -l json -d 'Print how it went as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand halt" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand attempt" -l loop -d 'What is tried again and again' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand attempt" -l reflect -d 'What failed, and which change mends it; needed from the second attempt on, and never the same twice' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand attempt" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand attempt" -l reset -d 'Give the loop its attempts back'
complete -c pipestate -n "__fish_pipestate_using_subcommand attempt" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand attempt" -l json -d 'Print number and earlier reflections as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand attempt" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and not __fish_seen_subcommand_from append latest" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and not __fish_seen_subcommand_from append latest" -f -a "append" -d 'Append a block of at most 15 lines, whole or not at all'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and not __fish_seen_subcommand_from append latest" -f -a "latest" -d 'Print the latest block; of an older log without one the last section, named as such; exit 1 when there is neither'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l phase -d 'The phase that has ended' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l name -d 'Its name' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l done -d 'What is done; once for each' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l remaining -d 'What is left, in its order' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l decision -d 'What later phases depend on' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l open -d 'A finding that is accepted and not resolved' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l next -d 'Where to go on: the next phase, its name and its sub-step' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l lock-timeout -d 'Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l no-fsync -d 'Do not wait for the disk: faster, but a power cut may take the write back'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -l json -d 'Print the block as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from append" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from latest" -l json -d 'Print it as data, in one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand handoff; and __fish_seen_subcommand_from latest" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand files" -l phase -d 'The phase' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand files" -l missing -d 'Only files that are not there'
complete -c pipestate -n "__fish_pipestate_using_subcommand files" -l existing -d 'Only files that are there'
complete -c pipestate -n "__fish_pipestate_using_subcommand files" -s z -d 'End each with a NUL byte instead of a line feed, and quote none'
complete -c pipestate -n "__fish_pipestate_using_subcommand files" -l json -d 'Print them as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand files" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand check-result" -l extract -d 'Print the JSON of the result, whatever stands around it; exit 1 only if that JSON is wrong'
complete -c pipestate -n "__fish_pipestate_using_subcommand check-result" -l json -d 'Print findings and result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand check-result" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand guard" -l print-config -d 'Print the settings that install it, and read nothing'
complete -c pipestate -n "__fish_pipestate_using_subcommand guard" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand list" -l home -d 'The home folder, for the runs below it and for preference files in `~` [default: $HOME]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand list" -l logs-dir -d 'The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand list" -l stale-after -d 'How long a running run may be silent before it has crashed: 90m, 1h30m [default: 1h]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand list" -l now -d 'The time that counts as now, in ISO 8601, without a zone UTC [default: the system\'s]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand list" -l no-user -d 'Leave the home folder alone'
complete -c pipestate -n "__fish_pipestate_using_subcommand list" -l json -d 'Print the runs as one JSON object, with their phases'
complete -c pipestate -n "__fish_pipestate_using_subcommand list" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand doctor" -l propose -d 'Write a repaired copy beside the file (at most 5), and say what was changed'
complete -c pipestate -n "__fish_pipestate_using_subcommand doctor" -l json -d 'Print the diagnoses as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand report" -s o -l output -d 'The file to write; one that is there is replaced [default: stdout]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand report" -l stale-after -d 'How long a running run may be silent before it has crashed: 90m, 1h30m [default: 1h]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand report" -l now -d 'The time that counts as now, in ISO 8601, without a zone UTC [default: the system\'s]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand report" -l json -d 'Print the result as one JSON object; needs --output'
complete -c pipestate -n "__fish_pipestate_using_subcommand report" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand completions" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand install" -l addon -d 'The addon to install [default: the one that came with this program]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand install" -l uninstall -d 'Put back what was there before'
complete -c pipestate -n "__fish_pipestate_using_subcommand install" -l json -d 'Print the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand install" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand kill" -l project -d 'Only among the tasks of this project' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand kill" -l confirm -d 'Run the plan that this token was printed with, once' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand kill" -l logs-dir -d 'The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand kill" -l lock-timeout -d 'Milliseconds to wait for a lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand kill" -l remote -d 'Delete the branch on its remote as well'
complete -c pipestate -n "__fish_pipestate_using_subcommand kill" -l json -d 'Print the plan or the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand kill" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand clear-logs" -l project -d 'Only those of this project [default: of all projects]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand clear-logs" -l confirm -d 'Run the plan that this token was printed with, once' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand clear-logs" -l logs-dir -d 'The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand clear-logs" -l lock-timeout -d 'Milliseconds to wait for a lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand clear-logs" -l include-active -d 'Those of runs that are at work, too'
complete -c pipestate -n "__fish_pipestate_using_subcommand clear-logs" -l json -d 'Print the plan or the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand clear-logs" -s h -l help -d 'Print help'
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -l project -d 'Only those of this project [default: of all projects]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -l confirm -d 'Run the plan that this token was printed with, once' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -l logs-dir -d 'The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]' -r -F
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -l lock-timeout -d 'Milliseconds to wait for a lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]' -r
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -l remote -d 'Delete the branches on their remotes as well'
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -l include-active -d 'Those of runs that are at work, too'
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -l json -d 'Print the plan or the result as one JSON object'
complete -c pipestate -n "__fish_pipestate_using_subcommand purge" -s h -l help -d 'Print help'
