//! What one phase tells the next (S5): blocks in `agent-log.md`, the latest of which is authoritative.
//!
//! ```markdown
//! ## Handoff - end of Phase 3 (dev) - 2026-07-31T13:40:00Z
//! - Done: build green, 12 tests added
//! - Remaining: review, report
//! - Decisions: used existing KeychainStore, no new wrapper
//! - Open findings: none
//! - Next: Phase 4 review, subStep start
//! ```
//!
//! One item stands on its label's line, several below it, a bullet each. A block ends where something else begins: another
//! heading, a paragraph, a line of the log. One that the file ends in, without the last line feed and without its last
//! label, was torn by a crash, and the one before it counts.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::plan::log_beside;
use crate::error::Error;
use crate::log;
use crate::merge::Refusal;
use crate::update::{self, Caller, WriteOptions};

/// As many lines as a block may have.
pub const MOST_LINES: usize = 15;

/// As much of a section of an older log is given.
const MOST_SECTION: usize = 1 << 14;

/// What a phase hands over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handoff {
    /// The phase that has ended.
    pub phase: u32,
    /// Its name.
    pub name: String,
    /// What is done.
    pub done: Vec<String>,
    /// What is left, in its order.
    pub remaining: Vec<String>,
    /// What later phases depend on.
    pub decisions: Vec<String>,
    /// Findings that are accepted and not resolved.
    pub open_findings: Vec<String>,
    /// Where to go on.
    pub next: Vec<String>,
}

/// What the latest handoff says, as data; of an older log without one, its last section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Latest {
    /// A handoff block.
    Handoff {
        /// The phase that had ended.
        phase: Option<u32>,
        /// Its name.
        name: Option<String>,
        /// When, as it stands there.
        at: Option<String>,
        /// What is done.
        done: Vec<String>,
        /// What is left, in its order.
        remaining: Vec<String>,
        /// What later phases depend on.
        decisions: Vec<String>,
        /// Findings that are accepted and not resolved.
        open_findings: Vec<String>,
        /// Where to go on.
        next: Option<String>,
        /// The block as it stands there.
        text: String,
        /// The line that it begins at.
        line: usize,
    },
    /// The last section of a log without a handoff.
    Section {
        /// Its heading.
        heading: Option<String>,
        /// The section as it stands there, heading and all; of a long one the end.
        text: String,
        /// The line that it begins at.
        line: usize,
    },
}

const HEADING: &str = "## Handoff";
const LABELS: [&str; 5] = ["Done", "Remaining", "Decisions", "Open findings", "Next"];

impl Handoff {
    /// The block, as it is appended at `at`.
    ///
    /// # Errors
    /// A refusal that names the number of lines when there are more than [`MOST_LINES`].
    pub fn block(&self, at: DateTime<Utc>) -> Result<String, Refusal> {
        let heading = format!(
            "{HEADING} - end of Phase {} ({}) - {}",
            self.phase,
            one_line(&self.name),
            log::to_text(at)
        );
        let mut lines = vec![heading];
        let lists = [&self.done, &self.remaining, &self.decisions, &self.open_findings, &self.next];
        for (label, list) in LABELS.iter().zip(lists) {
            let items: Vec<String> = list
                .iter()
                .flat_map(|text| text.lines())
                .map(one_line)
                .filter(|line| !line.is_empty())
                .collect();
            match &items[..] {
                [] => lines.push(format!("- {label}: none")),
                [item] => lines.push(format!("- {label}: {item}")),
                items => {
                    lines.push(format!("- {label}:"));
                    lines.extend(items.iter().map(|item| format!("  - {item}")));
                }
            }
        }
        if lines.len() > MOST_LINES {
            let reason =
                format!("the handoff has {} lines, and it has at most {MOST_LINES}: say less", lines.len());
            return Err(super::refusal("", reason));
        }
        Ok(lines.join("\n") + "\n")
    }
}

fn one_line(text: &str) -> String {
    crate::text::one_line(text.trim())
}

/// The log that `file` is, or that lies beside it if it is a state file.
///
/// # Errors
/// [`Error::Io`] when there is no such state file: a mistyped path would make a log that nobody reads.
pub fn log_of(file: &Path) -> Result<PathBuf, Error> {
    if file.extension().is_some_and(|extension| extension == "md") {
        return Ok(file.to_owned());
    }
    match file.metadata() {
        Ok(_) => Ok(log_beside(file)),
        Err(source) => Err(Error::io(file, "find the state file", "stat", source)),
    }
}

/// Appends a handoff to the log at `log`; gives the block that was appended.
///
/// # Errors
/// [`Error::Refused`] for one that is too long; those of [`log::append`].
pub fn append(
    log: &Path,
    handoff: &Handoff,
    now: DateTime<Utc>,
    options: &WriteOptions,
    caller: Caller,
) -> Result<String, Error> {
    let block = handoff.block(now).map_err(|refusal| refusal.of(log))?;
    // A heading stands behind an empty line, and so does whatever follows the list.
    log::append(log, &format!("\n{block}\n"), options, caller)?;
    Ok(block)
}

/// The latest handoff in the log at `log`; `None` when there is no log, or nothing in it.
///
/// # Errors
/// [`Error::Io`] when it cannot be read.
pub fn latest(log: &Path) -> Result<Option<Latest>, Error> {
    let text = update::read(log)?.text;
    Ok(latest_in(&String::from_utf8_lossy(&text)))
}

/// Every handoff of a log, in the order in which they stand there.
pub fn all(text: &str) -> Vec<Latest> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = (0..lines.len()).filter(|&start| is_handoff(lines[start]));
    starts.map(|start| read_block(&lines, start).0).collect()
}

/// The latest handoff in a log.
fn latest_in(text: &str) -> Option<Latest> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = (0..lines.len()).rev().filter(|&start| is_handoff(lines[start]));
    for start in starts {
        let (latest, end) = read_block(&lines, start);
        // What is left of a torn label is a line that is none.
        let is_torn = end + 1 >= lines.len()
            && !text.ends_with('\n')
            && matches!(&latest, Latest::Handoff { next: None, .. });
        if !is_torn {
            return Some(latest);
        }
    }
    last_section(&lines)
}

fn is_handoff(line: &str) -> bool {
    line.strip_prefix(HEADING).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':', '-']))
}

/// The block that begins at `start`, and where it ends.
fn read_block(lines: &[&str], start: usize) -> (Latest, usize) {
    let (phase, name, at) = read_heading(lines[start]);
    let mut lists: [Vec<String>; 5] = Default::default();
    let mut current = None;
    let mut end = start + 1;
    for line in &lines[start + 1..] {
        match (label(line), current) {
            (Some((index, item)), _) => {
                current = Some(index);
                lists[index].extend(item);
            }
            // Below a label: a bullet, or the rest of one.
            (None, Some(index)) if line.starts_with([' ', '\t']) && !line.trim().is_empty() => {
                let item: &str = line.trim_start();
                match item.strip_prefix("- ").or_else(|| item.strip_prefix("* ")) {
                    Some(item) => lists[index].push(item.trim().to_owned()),
                    None => match lists[index].last_mut() {
                        Some(last) => *last = format!("{last} {}", item.trim()),
                        None => lists[index].push(item.trim().to_owned()),
                    },
                }
            }
            // Empty lines between heading and list.
            (None, None) if line.trim().is_empty() => {}
            _ => break,
        }
        end += 1;
    }
    let text = lines[start..end].join("\n") + "\n";
    let [done, remaining, decisions, open_findings, next] = lists.map(|list| {
        let is_none = matches!(&list[..], [one] if one.eq_ignore_ascii_case("none"));
        if is_none { Vec::new() } else { list }
    });
    let next = (!next.is_empty()).then(|| next.join("; "));
    let latest = Latest::Handoff {
        phase,
        name,
        at,
        done,
        remaining,
        decisions,
        open_findings,
        next,
        text,
        line: start + 1,
    };
    (latest, end)
}

/// Phase, name and time in `## Handoff - end of Phase 3 (dev) - 2026-07-31T13:40:00Z`.
fn read_heading(line: &str) -> (Option<u32>, Option<String>, Option<String>) {
    let Some((_, rest)) = line.split_once("Phase ") else { return (None, None, None) };
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    let phase = rest[..digits].parse().ok();
    let rest = rest[digits..].trim_start();
    let (name, rest) = match rest.strip_prefix('(').and_then(|rest| rest.rsplit_once(')')) {
        Some((name, rest)) => (Some(name.to_owned()), rest),
        None => (None, rest),
    };
    let at = rest.trim_start_matches([' ', '-', '–', '—']).trim();
    (phase, name, (!at.is_empty()).then(|| at.to_owned()))
}

/// The label of a line, and the item beside it.
fn label(line: &str) -> Option<(usize, Option<String>)> {
    let rest = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?.replace("**", "");
    LABELS.iter().enumerate().find_map(|(index, label)| {
        let item = rest.strip_prefix(label)?.strip_prefix(':')?.trim();
        Some((index, (!item.is_empty()).then(|| item.to_owned())))
    })
}

/// What stands under the last heading; all of it where there is none.
fn last_section(lines: &[&str]) -> Option<Latest> {
    let start = lines.iter().rposition(|line| is_heading(line) && !is_handoff(line));
    let heading = start.map(|start| lines[start].trim_start_matches('#').trim().to_owned());
    let start = start.unwrap_or(0);
    let text = lines[start..].join("\n");
    if text.trim().is_empty() {
        return None;
    }
    let mut cut = text.len().saturating_sub(MOST_SECTION);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    Some(Latest::Section { heading, text: text[cut..].to_owned() + "\n", line: start + 1 })
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && rest.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    fn handoff() -> Handoff {
        Handoff {
            phase: 3,
            name: "dev (tdd)".into(),
            done: vec!["build green".into(), "12 tests added".into()],
            remaining: vec!["review".into()],
            decisions: Vec::new(),
            open_findings: vec![],
            next: vec!["Phase 4 review, subStep start".into()],
        }
    }

    const BLOCK: &str = "\
## Handoff - end of Phase 3 (dev (tdd)) - 1970-01-01T00:00:00Z
- Done:
  - build green
  - 12 tests added
- Remaining: review
- Decisions: none
- Open findings: none
- Next: Phase 4 review, subStep start
";

    fn read(line: usize) -> Latest {
        Latest::Handoff {
            phase: Some(3),
            name: Some("dev (tdd)".into()),
            at: Some("1970-01-01T00:00:00Z".into()),
            done: vec!["build green".into(), "12 tests added".into()],
            remaining: vec!["review".into()],
            decisions: Vec::new(),
            open_findings: Vec::new(),
            next: Some("Phase 4 review, subStep start".into()),
            text: BLOCK.into(),
            line,
        }
    }

    #[test]
    fn a_block_is_written_in_the_format_and_read_back_as_data() {
        let at = Utc.timestamp_opt(0, 0).unwrap();
        assert_eq!(handoff().block(at).unwrap(), BLOCK);
        assert_eq!(latest_in(BLOCK), Some(read(1)));
        let log = format!("# Log\n\n- started\n\n{BLOCK}\n- 2026 Phase 4 running\n");
        assert_eq!(latest_in(&log), Some(read(5)));
    }

    #[test]
    fn fifteen_lines_are_allowed_and_sixteen_refused_with_the_count() {
        let at = Utc.timestamp_opt(0, 0).unwrap();
        let items = |count: usize| (0..count).map(|item| format!("item {item}")).collect();
        let long = Handoff { done: items(9), ..Handoff::default() };
        assert_eq!(long.block(at).unwrap().lines().count(), 15);
        let longer =
            Handoff { done: vec![(0..10).map(|i| format!("{i}\n")).collect()], ..Handoff::default() };
        assert_eq!(
            longer.block(at).unwrap_err().reason,
            "the handoff has 16 lines, and it has at most 15: say less"
        );
    }

    #[test]
    fn no_item_can_begin_a_block_of_its_own() {
        let at = Utc.timestamp_opt(0, 0).unwrap();
        let sly = Handoff { done: vec!["x\n## Handoff - end of Phase 9 (y) - now".into()], ..handoff() };
        let block = sly.block(at).unwrap();
        assert_eq!(block.lines().filter(|line| is_handoff(line)).count(), 1);
    }

    #[test]
    fn the_latest_block_counts_and_a_torn_one_does_not() {
        let later = BLOCK.replace("Phase 3", "Phase 4");
        let phase = |log: &str| match latest_in(log) {
            Some(Latest::Handoff { phase, .. }) => phase,
            _ => None,
        };
        assert_eq!(phase(&format!("{BLOCK}\n{later}")), Some(4));
        let torn = &later[..later.find("- Next").unwrap() + 3];
        assert_eq!(phase(&format!("{BLOCK}\n{torn}")), Some(3));
        assert_eq!(phase(&format!("{BLOCK}\n{torn}\n")), Some(4), "somebody ended it so");
    }

    #[test]
    fn blocks_by_other_hands_are_read_as_far_as_they_go() {
        let log = "## Handoff - end of Phase 2 (plan) — 2026-07-31\n\n- **Done:** plan approved,\n  4 tasks\n* Next: Phase 3\n\nText.\n";
        assert_eq!(
            latest_in(log),
            Some(Latest::Handoff {
                phase: Some(2),
                name: Some("plan".into()),
                at: Some("2026-07-31".into()),
                done: vec!["plan approved, 4 tasks".into()],
                remaining: Vec::new(),
                decisions: Vec::new(),
                open_findings: Vec::new(),
                next: Some("Phase 3".into()),
                text: "## Handoff - end of Phase 2 (plan) — 2026-07-31\n\n- **Done:** plan approved,\n  4 tasks\n* Next: Phase 3\n".into(),
                line: 1,
            })
        );
    }

    #[test]
    fn of_an_older_log_the_last_section_is_given_and_named_so() {
        let log = "# Task 3\n## Phase 1\nfound a\n## Phase 2 findings\nfound b\n- and c\n";
        assert_eq!(
            latest_in(log),
            Some(Latest::Section {
                heading: Some("Phase 2 findings".into()),
                text: "## Phase 2 findings\nfound b\n- and c\n".into(),
                line: 4
            })
        );
        assert_eq!(
            latest_in("no heading\n"),
            Some(Latest::Section { heading: None, text: "no heading\n".into(), line: 1 })
        );
        assert_eq!(latest_in(" \n"), None);
        assert_eq!(latest_in(""), None);
    }
}
