use serde_json::json;

use super::*;

fn event(tool: &str, input: serde_json::Value) -> Vec<u8> {
    let event =
        json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": "/work" });
    event.to_string().into_bytes()
}

fn denial(command: &str) -> Option<Denial> {
    judge(event("Bash", json!({ "command": command }))).unwrap()
}

#[test]
fn a_command_that_writes_onto_a_state_is_denied() {
    for command in [
        // Redirections.
        "echo '{}' > agent-state.json",
        "echo '{}' >agent-state.json",
        "echo '{}' >> /logs/p/1/agent-state.json",
        "echo '{}' >| pipeline-state.json",
        "> agent-state.json",
        ": > \"$DIR/agent-state.json\"",
        "make &> agent-state.json",
        "make &>> agent-state.json",
        "make >& agent-state.json",
        "make 2> agent-state.json",
        "make 2>&1 >agent-state.json",
        "exec 3<>agent-state.json",
        "> agent-state.json echo hi",
        "jq '.a = 1' agent-state.json > agent-state.json",
        "cat > 'my run/agent-state.json' <<'EOF'\n{\"currentPhase\": 4}\nEOF",
        "cat <<EOF > agent-state.json\n{}\nEOF",
        "pipestate get agent-state.json > agent-state.json",
        "if true; then echo '{}' > agent-state.json; fi",
        "for i in 1 2; do echo $i >> agent-state.json; done",
        "(cd run && echo '{}' > agent-state.json)",
        "{ echo '{}'; } > agent-state.json",
        "true && echo x > agent-state.json || true",
        "sleep 1 & echo x > agent-state.json",
        "echo $(date > agent-state.json)",
        "echo \"it is `date > agent-state.json`\"",
        "[ -f x ] && echo x > agent-state.json",
        "echo a \\\n  > agent-state.json",
        // What a temporary file becomes.
        "jq '.a=1' agent-state.json > tmp.json && mv tmp.json agent-state.json",
        "jq .a agent-state.json > $T; mv -f -- \"$T\" ./agent-state.json",
        "STATE=\"$DIR/agent-state.json\"\njq . \"$STATE\" > \"$STATE.tmp\" && mv \"$STATE.tmp\" \"$STATE\"",
        "F=agent-state.json; jq . x > ${F}",
        "cp new.json agent-state.json",
        "cp -f agent-state.json.bak agent-state.json",
        "/bin/cp new.json logs/agent-state.json",
        "install -m 644 new.json agent-state.json",
        "rsync -a new.json agent-state.json",
        "sudo -u ci mv x agent-state.json",
        "find . -name '*.new' | xargs -I{} mv {} agent-state.json",
        // Programs that write onto their operands.
        "jq . x | tee agent-state.json",
        "jq . x | tee -a -- agent-state.json >/dev/null",
        "jq . x | sponge agent-state.json",
        "sed -i 's/running/done/' agent-state.json",
        "sed -i.bak -e 's/a/b/' agent-state.json",
        "sed -Ei 's/a/b/' notes.md agent-state.json",
        "sed --in-place=.old 's/a/b/' agent-state.json",
        "sed -i '' 's/a/b/' agent-state.json",
        "perl -pi -e 's/a/b/' agent-state.json",
        "perl -i.bak -pe 's/a/b/' pipeline-state.json",
        "gawk -i inplace '{print}' agent-state.json",
        "yq -i '.a = 1' agent-state.json",
        "dd if=new.json of=agent-state.json conv=fsync",
        "truncate -s 0 agent-state.json",
        "patch agent-state.json < fix.diff",
        "curl -s https://example.org/x -o agent-state.json",
        "sort -o agent-state.json x",
        // Shells in shells.
        "bash -c \"jq . x > agent-state.json\"",
        "sh -ec 'echo x > agent-state.json'",
        "bash -euo pipefail -c 'echo x > agent-state.json'",
        "eval 'echo x > agent-state.json'",
        "flock agent-state.json.lock sh -c 'jq . x > agent-state.json'",
        "flock lock -c 'jq . x > agent-state.json'",
        "timeout 5 tee agent-state.json < x",
        "env A=b tee agent-state.json",
        "bash <<'EOF'\necho x > agent-state.json\nEOF",
        "diff <(cat x) <(tee agent-state.json < y)",
    ] {
        let Some(denial) = denial(command) else { panic!("passed: {command}") };
        assert!(denial.reason.contains("pipestate write"), "{command}");
    }
}

#[test]
fn a_command_that_reads_or_names_a_state_passes() {
    for command in [
        "cat agent-state.json",
        "jq .currentPhase agent-state.json",
        "jq '.phases[\"4\"] | .status' < agent-state.json",
        "jq '.a > 1' agent-state.json",
        "jq . agent-state.json > /tmp/copy.json",
        "jq . agent-state.json 2>/dev/null",
        "jq . agent-state.json >&2",
        "cat agent-state.json >&1 2>&-",
        "grep \">\" agent-state.json",
        "grep -c '> agent-state.json' notes.md",
        "rg 'mv .* agent-state.json' docs",
        "echo \"mv agent-state.json\"",
        "echo 'jq . > agent-state.json'",
        "echo \"do not: echo x > agent-state.json\"",
        "echo mv new.json agent-state.json",
        "echo \\> agent-state.json",
        "printf '%s\\n' '> agent-state.json' > notes.md",
        "git diff agent-state.json",
        "git diff -- agent-state.json > state.patch",
        "git add agent-state.json && git commit -m 'state > agent-state.json'",
        "git log -p -- pipeline-state.json | head",
        "cp agent-state.json agent-state.json.bak",
        "cp agent-state.json{,.bak}",
        "cp agent-state.json backup/",
        "cp agent-state.json backup/agent-state.json",
        "cp -t backup agent-state.json",
        "cp old/agent-state.json \"$NEW_DIR/agent-state.json\"",
        "mv agent-state.json archive/2026.json",
        "rsync -a agent-state.json host:backup/",
        "rm -f agent-state.json.tmp",
        "rm -r .superpipelines/temp/docs/1",
        "ls -l agent-state.json && stat agent-state.json",
        "test -f agent-state.json && echo there",
        "[[ $a > agent-state.json ]] && echo later",
        "(( a > 1 )) && cat agent-state.json",
        "echo $(( 3 > 2 )) agent-state.json",
        "diff <(jq -S . a/agent-state.json) <(jq -S . b/agent-state.json)",
        "tail -f agent-state.json | tee log.txt",
        "tee copy.json < agent-state.json",
        "sed 's/a/b/' agent-state.json",
        "sed -n '/running/p' agent-state.json",
        "sed -i 's/agent-state.json/state.json/' README.md",
        "sed -i -e 's|x|agent-state.json|' README.md",
        "perl -ne 'print if />/' agent-state.json",
        "perl -pi -e 's/x/agent-state.json/' README.md",
        "awk '$1 > 2' agent-state.json",
        "dd if=agent-state.json of=copy.json",
        "truncate -s 0 agent-state.json.log",
        "echo x > agent-state.json.tmp",
        "echo x > agent-state.json$SUFFIX",
        "echo x > my-agent-state.json",
        "echo x > agent-state.json/x",
        "# echo x > agent-state.json",
        "ls # > agent-state.json",
        "cat <<'EOF' > guide.md\nNever run `jq . > agent-state.json` or mv x agent-state.json\necho x > agent-state.json\nEOF",
        "cat <<-EOF\n\techo x > agent-state.json\n\tEOF\ncat agent-state.json",
        "git commit -m \"$(cat <<'EOF'\ndocs: don't edit by hand :) > agent-state.json\n\nmv x agent-state.json\nEOF\n)\"",
        "python3 -m json.tool agent-state.json",
        "node write-state.mjs agent-state.json < patch.json",
        "echo '{\"currentPhase\":4}' | node write-state.mjs \"$STATE_FILE\"",
        "echo '{\"a\":1}' | pipestate write agent-state.json",
        "pipestate write --replace agent-state.json < new.json",
        "pipestate phase agent-state.json 3 --status done > log.txt",
        "pipestate status --watch agent-state.json | tee status.log",
        "FILE=$(pipestate init --name docs --pattern 2 --tier tier_1) && pipestate get \"$FILE\" > x",
        "patch --dry-run agent-state.json < x.diff",
        "echo x > tests/fixtures/agent-state.json",
        "docker run -v $PWD:/w img cat /w/agent-state.json",
        "bash run.sh agent-state.json > out.log",
        "bash run.sh -c 'echo x > agent-state.json'",
        "wc -c < agent-state.json",
        "echo 'unclosed > agent-state.json",
        "echo \"unclosed $(cat agent-state.json",
        "",
    ] {
        assert_eq!(denial(command), None, "{command}");
    }
}

#[test]
fn file_tools_are_denied_state_files_and_nothing_else() {
    for (tool, field, path, denied) in [
        ("Write", "file_path", "/logs/p/1/agent-state.json", true),
        ("Edit", "file_path", "/w/.superpipelines/temp/p/r/pipeline-state.json", true),
        ("MultiEdit", "file_path", "agent-state.json", true),
        ("NotebookEdit", "notebook_path", "/w/agent-state.json", true),
        ("Write", "file_path", "/w/agent-state.json.bak", false),
        ("Write", "file_path", "/w/agent-state.schema.json", false),
        ("Write", "file_path", "/w/__test__/fixtures/agent-state.json", false),
        ("Edit", "file_path", "/w/README.md", false),
        ("Read", "file_path", "/w/agent-state.json", false),
        ("Grep", "path", "/w/agent-state.json", false),
        ("Write", "path", "/w/agent-state.json", false),
    ] {
        let found = judge(event(tool, json!({ field: path, "content": "agent-state.json" }))).unwrap();
        assert_eq!(found.map(|denial| denial.file), denied.then(|| path.to_owned()), "{tool} {path}");
    }
}

#[test]
fn the_reason_names_the_command_that_fits() {
    let reason = |command: &str| denial(command).unwrap().reason;
    assert!(reason("mv x 'a run/agent-state.json'").starts_with(
        "`mv` would edit the state file 'a run/agent-state.json' without its lock, so that a concurrent write may be lost \
         or a reader may find half of it. Store a whole document with: pipestate write --replace 'a run/agent-state.json' < NEW.json"
    ));
    assert!(
        reason("sed -i s/a/b/ agent-state.json")
            .contains("Change values with: echo '{\"key\":\"value\"}' | pipestate write agent-state.json")
    );
    assert!(reason("jq . x > agent-state.json").starts_with("`jq … >` would edit"));
}

#[test]
fn other_events_pass_and_what_is_no_event_is_told() {
    for passes in [
        json!({}),
        json!({ "hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": { "file_path": "agent-state.json" } }),
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Write" }),
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": null }),
        json!({ "hook_event_name": "PreToolUse", "tool_name": 7, "tool_input": { "file_path": ["agent-state.json"] } }),
    ] {
        assert_eq!(judge(passes.to_string().into_bytes()).unwrap(), None, "{passes}");
    }
    for wrong in ["", "{", "[]", "null", "\u{feff}{}"] {
        assert!(judge(wrong.into()).is_err(), "{wrong}");
    }
}

#[test]
fn the_settings_are_json() {
    let settings: serde_json::Value = serde_json::from_str(SETTINGS).unwrap();
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "pipestate guard");
}

#[test]
fn no_command_line_makes_the_parser_panic_or_hang() {
    let pieces = [
        "agent-state.json",
        " ",
        "\n",
        ">",
        ">>",
        "<<EOF",
        "<<-",
        "<<<",
        "<(",
        ">(",
        "$(",
        "$((",
        "((",
        "${",
        "}",
        ")",
        "`",
        "'",
        "\"",
        "\\",
        "&",
        "|",
        ";",
        "#",
        "[[",
        "]]",
        "é",
        "A=b",
        "mv",
        "sed -i",
        "bash -c",
        "eval",
        "sudo",
        "flock",
        "-c",
        "-",
        "--",
        "1",
        "$'",
        "$\"",
        "xargs",
        "timeout",
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let line: String = (0..random.usize(1..14)).map(|_| pieces[random.usize(0..pieces.len())]).collect();
        let _ = denial(&line);
    }
    for piece in ["$(", "`", "bash -c '", "<(", "(", "\"$("] {
        let _ = denial(&format!("agent-state.json {}", piece.repeat(100_000)));
    }
}
