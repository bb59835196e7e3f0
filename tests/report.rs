//! `pipestate report`: the page as markup. How it looks and behaves in a browser is tested in `__test__/report.test.mjs`.

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use support::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("__test__/fixtures/report").join(name)
}

fn report(path: &Path) -> Ran {
    run(["report", "--now", "2026-07-31T13:52:00Z", path.to_str().unwrap()], "")
}

fn page(path: &Path) -> String {
    let ran = report(path);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.stdout
}

/// Every element that is opened is closed, by its own end tag; gives the names of all.
fn elements(page: &str) -> Vec<String> {
    const VOID: [&str; 6] = ["meta", "link", "line", "rect", "path", "!doctype"];
    let mut open: Vec<String> = Vec::new();
    let mut all = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name: String =
            tag.trim_start_matches('/').chars().take_while(|c| !c.is_whitespace() && *c != '/').collect();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "before {}", &rest[..rest.len().min(80)]);
            continue;
        }
        all.push(name.clone());
        if name == "style" {
            rest = &rest[rest.find("</style>").unwrap()..];
        }
        if !VOID.contains(&name.as_str()) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0]);
    all
}

#[test]
fn the_page_is_whole_and_asks_for_nothing() {
    for name in ["agent", "pipeline"] {
        let page = page(&fixture(name));
        let names = elements(&page);
        let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
        assert_eq!(
            [count("h1"), count("main"), count("title"), count("style"), count("script")],
            [1, 1, 1, 1, 0],
            "{name}"
        );
        assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
        assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
        for outside in
            ["http:", "https:", "//", "url(", "@import", " src=", " style=", "<link", "<iframe", " on"]
        {
            let found = page
                .match_indices(outside)
                .find(|(at, _)| outside != " on" || page[*at..].contains("=\"alert"));
            assert_eq!(found, None, "{name}");
        }
        // Every link leads to a section that is there.
        for link in page.split("href=\"#").skip(1) {
            let id = link.split('"').next().unwrap();
            assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
    }
}

#[test]
fn it_tells_of_phases_retries_halts_handoffs_outputs_and_findings() {
    let agent = page(&fixture("agent"));
    for told in [
        "<h1>SHOP-482</h1>",
        "Agent task 12",
        "It has stopped: a human decides",
        "Halted in phase 5: <strong>loop build-fix has used its 3 attempts</strong>",
        "<dt>Phases done</dt><dd>4 of 8</dd>",
        "<dt>Retries</dt><dd>4</dd>",
        "<dt>Halts</dt><dd>2</dd>",
        "<dt>Took</dt><dd>2h26m</dd>",
        "</span>3 dev</h3><p class=\"under\"><b>done</b> · 1 retry</p>",
        "aria-label=\"2026-07-31 09:31 to 2026-07-31 09:52, then 2026-07-31 10:20 to 2026-07-31 10:58\"",
        "<p class=\"took\">59m16s</p>",
        "<li><code>migrations/0042_gift_cards.sql</code></li>",
        "build-fix <span class=\"tag bad\">3 of 3 attempts</span>",
        "The split leaves a cycle between total.ts and gift-card.ts: pass the rate in.",
        "End of phase 3 (dev) <span class=\"tag calm\">latest</span>",
        "<dt>Open findings</dt><dd><ul><li>balance look-ups are not rate-limited (accepted until SHOP-501)</li></ul></dd>",
        "HALT phase 3: no subagent returned",
        "<span class=\"tag none\">info</span>",
    ] {
        assert!(agent.contains(told), "{told} in {agent}");
    }
    let pipeline = page(&fixture("pipeline"));
    for told in [
        "Pipeline run 2f9c1a7e-1c1f-4b7e-9c55-0d5c4c1e7b10",
        "<p class=\"wrong\">Two entries cite issues that are still open: #812, #840</p>",
        "From tier_1 to tier_1d",
        "<p class=\"took\">22m25s</p>",
        "aria-current=\"step\"",
    ] {
        assert!(pipeline.contains(told), "{told} in {pipeline}");
    }
}

/// Whatever a state or a log says, it is text.
#[test]
fn hostile_text_is_text() {
    let folder = Folder::new();
    let evil = "</style></title><script>alert(1)</script><img src=x onerror=\"alert(1)\">'&\u{202e}\n\u{0}";
    let state = json!({
        "taskId": evil, "ticket": evil, "project": evil, "branch": evil, "worktreePath": evil, "status": evil,
        "haltReason": format!("{evil}:{evil}"), "currentPhase": evil, "metadata": { "resumedAt": "2026-07-31T10:00:00Z",
        "resumedBy": evil, "runtime_tier": evil, "tier_changes": [{ "from": evil, "to": evil, "at": "2026-07-31T10:00:00Z" }] },
        "phases": { evil: { "name": evil, "status": evil, "agent": evil, "subStep": evil, "error": evil, "files": [evil],
            "started_at": "2026-07-31T10:00:00Z", "completed_at": "2026-07-31T11:00:00Z" }, "1": evil },
        "loops": { evil: { "attempts": [{ "at": "2026-07-31T10:00:00Z", "reflection": evil }] } },
    });
    let path = folder.file("agent-state.json", state.to_string());
    let line = evil.replace(['\n', '\0'], "");
    fs::write(
        folder.join("agent-log.md"),
        format!("- 2026-07-31T10:00:00Z {line}\n## Handoff - end of Phase 1 ({line}) - {line}\n- Done: {line}\n- Next: {line}\n"),
    )
    .unwrap();
    let ran = report(&path);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let names = elements(&ran.stdout);
    for name in ["script", "img"] {
        assert!(!names.iter().any(|found| found == name), "{name}");
    }
    assert!(ran.stdout.matches("&lt;script&gt;alert(1)").count() > 15);
    assert!(!ran.stdout.contains(['\u{202e}', '\0']));
    assert!(!ran.stdout.contains("onerror=\""));
}

#[test]
fn the_page_goes_to_stdout_or_into_a_file_that_is_no_state() {
    let folder = Folder::new();
    let source = fixture("pipeline");
    let to = |target: &Path, more: &[&str]| {
        let arguments = [
            "report",
            source.to_str().unwrap(),
            "--now",
            "2026-07-31T13:52:00Z",
            "-o",
            target.to_str().unwrap(),
        ];
        run(arguments.into_iter().chain(more.iter().copied()), "")
    };
    let target = folder.join("new/run.html");
    assert_written(&to(&target, &[]));
    assert_eq!(fs::read_to_string(&target).unwrap(), page(&source));
    fs::write(&target, "old").unwrap();
    let told: serde_json::Value = serde_json::from_str(&to(&target, &["--json"]).stdout).unwrap();
    assert_eq!(
        told,
        json!({ "ok": true, "path": target.to_str().unwrap(), "bytes": fs::metadata(&target).unwrap().len() })
    );
    let names: Vec<_> =
        fs::read_dir(folder.join("new")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["run.html"]);
    let state = folder.file("agent-state.json", "{}");
    assert_eq!(to(&state, &[]).code, Some(64));
    assert_eq!(fs::read_to_string(&state).unwrap(), "{}");
}

#[test]
fn a_damaged_state_is_a_page_that_says_so_and_none_is_an_error() {
    let folder = Folder::new();
    let ran = report(&folder.file("agent-state.json", "{\"currentPhase\": 4,"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""));
    elements(&ran.stdout);
    assert!(ran.stdout.contains("The file is damaged: call a human"));
    assert!(ran.stdout.contains("it is torn"));
    let ran = report(&folder.join("none.json"));
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(3), "", 1));
    fs::create_dir(folder.join("empty")).unwrap();
    assert_eq!(report(&folder.join("empty")).code, Some(64));
    assert_eq!(
        report(&folder.file("state.json", "{}")).code,
        Some(0),
        "of neither kind, and a page all the same"
    );
}
