//! How fast a state document is checked, walked over and patched, beside serde_json on the same text.
//!
//! `cargo bench --bench scan`. Each figure is the best of several runs on one core; MB are 10^6 bytes.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use pipestate::document::Document;
use pipestate::merge::{Nulls, Patch, merge};

const SIZE: usize = 10_000_000;
const RUNS: usize = 15;

fn main() {
    let pretty = state_document(SIZE);
    let minified =
        serde_json::from_str::<serde_json::Value>(&pretty).expect("the generated state parses").to_string();
    let small = state_document(4_000);
    for (name, text) in [("pretty-printed", &pretty), ("minified", &minified), ("small", &small)] {
        println!("{name}, {:.4} MB", text.len() as f64 / 1e6);
        measure(text);
    }
}

fn measure(text: &str) {
    let bytes = text.as_bytes().to_vec();
    report(text, "serde_json IgnoredAny", || {
        black_box(serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)).expect("it parses");
    });
    // `parse` takes the text and gives it back, so that nothing is copied while the clock runs.
    let mut owned = Some(bytes);
    report(text, "Document::parse", || {
        let document = Document::parse(owned.take().expect("put back below")).expect("it parses");
        owned = Some(document.into_text());
    });
    let document = Document::parse(owned.expect("put back above")).expect("it parses");
    report(text, "passing every run", || {
        black_box(document.root().get("runs").expect("it is there").elements().count());
    });
    report(text, "passing all runs at once", || {
        black_box(document.root().members().count());
    });
    let patch = Patch::parse(br#"{"currentPhase": 5, "added": {"a": [1]}}"#.to_vec(), "the patch")
        .expect("it parses");
    report(text, "merging two keys", || {
        black_box(merge(&document, &patch, Nulls::Store)).expect("nothing is refused");
    });
    let whole = Patch::parse(document.text().to_vec(), "the patch").expect("it parses");
    report(text, "merging it with itself", || {
        assert!(merge(&document, &whole, Nulls::Store).expect("nothing is refused").is_empty());
    });
    report(text, "Patch::parse of all of it", || {
        black_box(Patch::parse(document.text().to_vec(), "the patch")).expect("it parses");
    });
}

fn report(text: &str, name: &str, mut run: impl FnMut()) {
    // The clock is not read for less than about a millisecond.
    let repeats = (SIZE / 10 / text.len()).max(1) as u32;
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        (0..repeats).for_each(|_| run());
        best = best.min(start.elapsed() / repeats);
    }
    println!(
        "  {name:26} {:8.4} ms {:8.0} MB/s",
        best.as_secs_f64() * 1e3,
        text.len() as f64 / 1e6 / best.as_secs_f64()
    );
}

/// A state as agents write it, of about `size` bytes: records of phases with times, paths, findings and counters.
fn state_document(size: usize) -> String {
    let mut text = String::from("{\n  \"taskId\": 7,\n  \"currentPhase\": 4,\n  \"runs\": [");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let statuses = ["completed", "running", "pending", "done", "failed", "skipped"];
    let notes = [
        "unit tests pass on both platforms; two lint findings were left to the next phase",
        "the reviewer asked for \\\"smaller commits\\\" and a rebase",
        "Faz 0 \u{fc}retildi \u{2014} orchestrator inline",
        "ok",
    ];
    let mut separator = "";
    while text.len() < size {
        let status = statuses[below(6) as usize];
        let note = notes[below(4) as usize];
        let (day, hour, minute) = (1 + below(28), below(24), below(60));
        write!(
            text,
            "{separator}\n    {{\n      \"status\": \"{status}\",\n      \"startedAt\": \
             \"2026-07-{day:02}T{hour:02}:{minute:02}:00.000Z\",\n      \"retryCount\": {},\n      \"gatePassed\": {},\n\
             \x20     \"durationMs\": {},\n      \"error\": null,\n      \"note\": \"{note}\",\n      \"files\": [",
            below(4),
            below(2) == 0,
            below(10_000_000),
        )
        .expect("strings grow");
        for file in 0..below(6) {
            let comma = if file == 0 { "" } else { "," };
            write!(text, "{comma}\n        \"src/module-{}/part_{}.rs\"", below(100), below(1000))
                .expect("strings grow");
        }
        text.push_str("\n      ]\n    }");
        separator = ",";
    }
    text.push_str("\n  ]\n}\n");
    text
}
