//! When a run was active last (R7): the newest of its file's time and of the times in its document.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{Reason, to_rfc3339};
use crate::document::{Member, Value};
use crate::phases::phases;
use crate::text::quoted;
use crate::time::{self, Moment, TIME_FIELDS, Zone};

/// When something happened last, and what tells so (R7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// The newest of all times; it may lie in the future.
    #[serde(serialize_with = "to_rfc3339")]
    pub at: DateTime<Utc>,
    /// The pointer of the field that tells it, or [`MTIME`].
    pub source: String,
}

/// The source of an activity that only the file's modification time tells of.
pub const MTIME: &str = "mtime";

impl Activity {
    /// How long ago it was at `now`; zero for one in the future.
    pub fn age(&self, now: DateTime<Utc>) -> Duration {
        time::between(self.at, now)
    }
}

/// The newest time that the file or its document tells of, and what is odd about those times (R7).
pub(super) fn last_activity(
    root: Value<'_>,
    modified: DateTime<Utc>,
    now: DateTime<Utc>,
) -> (Activity, Vec<Reason>) {
    let mut newest = Activity { at: modified, source: MTIME.to_owned() };
    let mut future = Odd::new("clock-skew");
    let mut unzoned = Odd::new("time-without-zone");
    let mut unreadable = Odd::new("time-unreadable");
    let in_future = |at: DateTime<Utc>| {
        let ahead = time::told(time::between(now, at));
        format!("is {ahead} in the future: clocks differ, and it counts as active")
    };
    if modified > now {
        future.note(None, || format!("the modification time {}", in_future(modified)));
    }
    for (pointer, value) in times(root) {
        let Some(text) = value.as_str() else {
            unreadable.note(Some(&pointer), || {
                format!("is {}, and no time; it is ignored", value.kind().described())
            });
            continue;
        };
        let Some(Moment { at, zone }) = Moment::parse(&text) else {
            unreadable.note(Some(&pointer), || {
                format!("is {}, and no ISO 8601 time; it is ignored", quoted(&text))
            });
            continue;
        };
        if zone == Zone::Missing {
            unzoned
                .note(Some(&pointer), || format!("is {} without a zone, and taken for UTC", quoted(&text)));
        }
        if at > now {
            future.note(Some(&pointer), || in_future(at));
        }
        if at > newest.at {
            newest = Activity { at, source: pointer };
        }
    }
    (newest, [future, unzoned, unreadable].into_iter().filter_map(Odd::into_reason).collect())
}

/// Every field that tells when something happened, with its pointer: at the top, in `metadata`, in phases and in tier
/// changes. A field that is `null` tells nothing.
fn times(root: Value<'_>) -> Vec<(String, Value<'_>)> {
    let mut times = times_in("", root);
    if let Some(metadata) = root.get("metadata") {
        times.extend(times_in("/metadata", metadata));
    }
    for phase in phases(root) {
        times.extend(times_in(&phase.pointer, phase.value));
    }
    times.retain(|(_, value)| !value.is_null());
    times
}

fn times_in<'a>(pointer: &str, object: Value<'a>) -> Vec<(String, Value<'a>)> {
    let mut times = Vec::new();
    for Member { key, value } in object.members() {
        if TIME_FIELDS.iter().any(|field| key == **field) {
            times.push((format!("{pointer}/{}", key.to_str()), value));
        } else if TIER_CHANGES.iter().any(|field| key == **field) {
            let changes = value.elements().enumerate();
            let at = changes.filter_map(|(index, change)| Some((index, change.get("at")?)));
            times.extend(at.map(|(index, at)| (format!("{pointer}/{}/{index}/at", key.to_str()), at)));
        }
    }
    times
}

const TIER_CHANGES: [&str; 2] = ["tier_changes", "tierChanges"];

/// One oddity that may occur any number of times: its first place is told, and how many more there are.
struct Odd {
    code: &'static str,
    first: Option<Reason>,
    more: usize,
}

impl Odd {
    fn new(code: &'static str) -> Odd {
        Odd { code, first: None, more: 0 }
    }

    fn note(&mut self, pointer: Option<&str>, message: impl FnOnce() -> String) {
        if self.first.is_some() {
            self.more += 1;
        } else {
            self.first =
                Some(Reason { code: self.code, message: message(), pointer: pointer.map(str::to_owned) });
        }
    }

    fn into_reason(self) -> Option<Reason> {
        let mut reason = self.first?;
        reason.message.push_str(&and_more(self.more));
        Some(reason)
    }
}

pub(super) fn and_more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" (and {count} more)") }
}
