//! A run as one self-contained page for people: [`Run::read`] collects what there is to tell, [`html::page`] lays it out.
//!
//! The page asks for nothing: no network, no scripts, no fonts. Its policy says so itself, and allows the one style sheet
//! that is in it by its hash. All text of the run is escaped, and what would turn or hide text is written out.

mod history;
mod html;
mod timeline;

use std::path::Path;

use crate::agent::handoff::{self, Latest};
use crate::document::Value;
use crate::error::Error;
use crate::log::LOG_FILE;
use crate::recovery::Clock;
use crate::runs::{Content, StateFile};
use crate::status::View;
use crate::update;
use crate::validate::{self, Finding, Options};
use history::{Event, Span};

pub use html::page;

/// What there is to tell of a run.
#[derive(Debug)]
pub struct Run {
    /// Name, decision and phases.
    pub view: View,
    /// When each phase was worked on; as many as there are phases in the view, in their order.
    spans: Vec<Vec<Span>>,
    /// How often each phase was tried again, where that is recorded.
    retries: Vec<Option<u64>>,
    /// The reason of the halt that the run stands in.
    halt: Option<String>,
    /// The loops, each with the reflections of its attempts; the first attempt has none.
    loops: Vec<(String, Vec<Option<String>>)>,
    /// What phases have handed over, the latest first.
    handoffs: Vec<Latest>,
    /// What has happened, in its order.
    events: Vec<Event>,
    /// What the validator says.
    findings: Vec<Finding>,
    /// What the run belongs to, as names and values.
    facts: Vec<(&'static str, String)>,
    /// What the page was made by.
    clock: Clock,
}

impl Run {
    /// Reads the run of the state file at `path`, and the log beside it. `home` is what `~` stands for.
    ///
    /// # Errors
    /// [`Error::Io`] when there is no such file. A damaged one is a run that the page says so of.
    pub fn read(path: &Path, home: Option<&Path>, clock: &Clock) -> Result<Run, Error> {
        let file = StateFile::read(path, home);
        if file.rev.as_deref() == Some(update::NO_REVISION) {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::io(path, "read the state file", "open", missing));
        }
        let log =
            update::read(&path.with_file_name(LOG_FILE)).map(|snapshot| snapshot.text).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let view = View::of(&file, clock);
        let mut run = Run {
            spans: vec![Vec::new(); view.phases.len()],
            retries: vec![None; view.phases.len()],
            view,
            halt: None,
            loops: Vec::new(),
            handoffs: handoff::all(&log).into_iter().rev().collect(),
            events: history::of_log(&log),
            findings: validate::validate_file(path, &Options::default()).findings,
            facts: Vec::new(),
            clock: *clock,
        };
        if let Content::Document { document, .. } = &file.content {
            run.add(document.root());
        }
        Ok(run)
    }

    /// What the document tells beyond what the view shows.
    fn add(&mut self, root: Value<'_>) {
        let spans = history::spans(root, &self.events);
        let records = crate::phases::phases(root);
        for (index, phase) in self.view.phases.iter().enumerate() {
            let of_phase = spans.iter().find(|(key, _)| *key == phase.key);
            self.spans[index] = of_phase.map(|(_, spans)| spans.clone()).unwrap_or_default();
            let record = records.iter().find(|record| record.key == phase.key);
            self.retries[index] = record.and_then(|record| retries(record.value));
        }
        self.events = history::merged(history::of_document(root), std::mem::take(&mut self.events));
        self.halt = history::halt(root);
        let reflection = |attempt: Value<'_>| attempt.get("reflection")?.as_str().map(String::from);
        let of_loop = |record| history::attempts(record).map(reflection).collect();
        self.loops = history::loops(root).into_iter().map(|(name, record)| (name, of_loop(record))).collect();
        let value = |pointer: &str| root.pointer(pointer)?.as_str().map(String::from);
        let fact = |(name, pointer): &(&'static str, &str)| {
            Some((*name, value(pointer).filter(|text| !text.is_empty())?))
        };
        self.facts = FACTS.iter().filter_map(fact).collect();
    }
}

/// What a run belongs to, where its document says so.
const FACTS: [(&str, &str); 8] = [
    ("Project", "/project"),
    ("Branch", "/branch"),
    ("Worktree", "/worktreePath"),
    ("Pattern", "/pattern"),
    ("Tier", "/metadata/runtime_tier"),
    ("Plugin version", "/plugin_version"),
    ("Isolation", "/metadata/isolation_warning"),
    ("Pipeline id", "/pipeline_id"),
];

fn retries(phase: Value<'_>) -> Option<u64> {
    ["retryCount", "retry_count", "retries"]
        .iter()
        .find_map(|field| u64::try_from(phase.get(field)?.as_i64()?).ok())
        .filter(|count| *count > 0)
}
