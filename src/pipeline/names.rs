//! The words and names of pipeline documents (V4).

use chrono::{DateTime, Utc};

use crate::time::date_and_time;

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 48;
/// The patterns that a pipeline can be of.
pub const PATTERNS: [&str; 6] = ["1", "2", "2b", "3", "4", "5"];
/// The statuses of a run that mean something to pipestate; `paused` is not in the source document, but in R4.
pub const RUN_STATUSES: [&str; 5] = ["running", "completed", "escalated", "failed", "paused"];
/// The statuses of a phase; `completed` is `done` (V4).
pub const PHASE_STATUSES: [&str; 5] = ["pending", "running", "done", "completed", "failed"];
/// The beginning of run folders that are not a run's, but an edit's; scans leave them out (R8).
pub const EDIT_PREFIX: &str = "edit-";
/// The time in a run id that is a stamp: a `d` for each digit.
const STAMP_SHAPE: &str = "dddddddd-dddddd";

/// Whether it is a name of a pipeline or phase: `[a-z0-9-]`, at most 48 of them.
pub fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Whether it is a UUID, in any case of its letters.
pub fn is_uuid(text: &str) -> bool {
    has_shape(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
}

/// The run id of pipeline `name` at a time: `{P}-{YYYYMMDD-HHMMSS}` in UTC. Where that is taken, the second try has
/// the suffix `-2`.
pub fn stamp(name: &str, at: DateTime<Utc>, attempt: usize) -> String {
    let (date, time) = date_and_time(at);
    let stamp = format!("{name}-{}-{}", date.replace('-', ""), time.replace(':', ""));
    if attempt < 2 { stamp } else { format!("{stamp}-{attempt}") }
}

/// Whether it is a stamp, of that pipeline if one is given.
pub fn is_stamp(text: &str, name: Option<&str>) -> bool {
    let suffix = text.rsplit_once('-').filter(|(rest, suffix)| {
        let is_suffix = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_digit());
        is_suffix && !suffix.starts_with('0') && *suffix != "1" && has_stamp(rest, name)
    });
    suffix.is_some() || has_stamp(text, name)
}

fn has_stamp(text: &str, name: Option<&str>) -> bool {
    let Some(split) = text.len().checked_sub(STAMP_SHAPE.len() + 1) else { return false };
    let (Some(prefix), Some(rest)) = (text.get(..split), text.get(split..)) else { return false };
    let fits = name.map_or(is_name(prefix), |name| prefix == name);
    fits && rest.strip_prefix('-').is_some_and(|stamp| has_shape(stamp, STAMP_SHAPE))
}

/// Whether a text has hexadecimal digits where the shape has `x`, digits where it has `d`, and else the same.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, wanted)| match wanted {
            b'x' => byte.is_ascii_hexdigit(),
            b'd' => byte.is_ascii_digit(),
            wanted => byte == wanted,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        for name in ["a", "docs-2", "-", &"x".repeat(48)] {
            assert!(is_name(name), "{name}");
        }
        for other in ["", "Docs", "a_b", "a b", "a/b", "..", "é", "a\n", &"x".repeat(49)] {
            assert!(!is_name(other), "{other}");
        }
    }

    #[test]
    fn run_ids_are_uuids_or_stamps() {
        assert!(is_uuid("0b1c2d3e-0000-4000-8000-0123456789aB"));
        for other in
            ["", "0b1c2d3e-0000-4000-8000-0123456789a", "0b1c2d3e-0000-4000-8000-0123456789ag", "<uuid>"]
        {
            assert!(!is_uuid(other), "{other}");
        }
        let at = "2026-07-31T13:40:00Z".parse().unwrap();
        assert_eq!(stamp("docs", at, 1), "docs-20260731-134000");
        assert_eq!(stamp("docs", at, 2), "docs-20260731-134000-2");
        for attempt in [1, 2, 10, 999] {
            let stamp = stamp("my-docs", at, attempt);
            assert!(
                is_stamp(&stamp, None)
                    && is_stamp(&stamp, Some("my-docs"))
                    && !is_stamp(&stamp, Some("docs"))
            );
        }
        for other in [
            "docs",
            "docs-2026",
            "docs-20260731-134000-",
            "docs-20260731-134000-01",
            "docs-20260731-134000-1",
            "20260731-134000",
            "-20260731-134000",
            "Docs-20260731-134000",
            "é20260731-134000",
            "docs-20260731_134000",
        ] {
            assert!(!is_stamp(other, Some("docs")), "{other}");
        }
    }
}
