//! The attempts of a loop (S4): three, each but the first with a reflection on the one before.
//!
//! They are recorded in `loops.<name>.attempts`, a list of `{at, reflection}`. An ask is decided and recorded under the
//! lock, so that concurrent ones get distinct numbers. The fourth halts the run (S3), and so does every later one, until a
//! human resets the loop.

use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

use super::halt::{self, Cause, Halted};
use super::hooks::Hooks;
use super::state::cursor;
use super::{edit, refusal, tell_log};
use crate::document::{Kind, Value};
use crate::error::Error;
use crate::merge::Refusal;
use crate::pipeline::object::Object;
use crate::update::{Caller, WriteOptions, Written};

/// So many attempts a loop has.
pub const MOST_ATTEMPTS: usize = 3;

/// What an earlier attempt was preceded by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reflection {
    /// The number of the attempt.
    pub attempt: usize,
    /// When it was asked for.
    pub at: Option<String>,
    /// What failed before, and what changes.
    pub reflection: String,
}

/// What an ask came to.
#[derive(Debug)]
pub enum Answer {
    /// Try: this is the attempt's number, and these are the reflections before it.
    Attempt {
        /// From 1 to [`MOST_ATTEMPTS`].
        number: usize,
        /// Those of the attempts before, in their order.
        reflections: Vec<Reflection>,
        /// What the write did.
        written: Written,
    },
    /// No more attempts: the run is halted.
    Exhausted(Box<Halted>),
}

/// Asks for the next attempt of the loop `name` of the run at `path`.
///
/// # Errors
/// [`Error::Refused`] for a reflection that is missing or repeats an earlier one, which uses up no attempt; those of
/// [`crate::update::edit`]. A halt whose write failed is an [`Answer::Exhausted`] all the same.
#[allow(clippy::too_many_arguments)] // an ask, and all that a halt needs
pub fn next(
    path: &Path,
    name: &str,
    reflection: Option<&str>,
    now: DateTime<Utc>,
    hooks: &Hooks,
    options: &WriteOptions,
    caller: Caller,
    tell: &mut dyn FnMut(&str),
) -> Result<Answer, Error> {
    check_name(name)?;
    let mut decided = None;
    let written = edit(path, options, caller, &mut |root| {
        let (ask, patch) = decide(root, name, reflection, now)?;
        decided = Some(ask);
        Ok(Some(patch))
    });
    match (decided, written) {
        (Some(Ask::Halt(cause)), written) => {
            let halted = halt::follow(path, &cause, written, now, hooks, options, caller, tell);
            Ok(Answer::Exhausted(Box::new(halted)))
        }
        (Some(Ask::Attempt { number, reflections }), Ok(mut written)) => {
            let on = reflection.map_or(String::new(), |reflection| format!(": {reflection}"));
            let line = format!("Loop {name}, attempt {number} of {MOST_ATTEMPTS}{on}");
            tell_log(&mut written, now, &line, options, caller);
            Ok(Answer::Attempt { number, reflections, written })
        }
        (_, Err(error)) => Err(error),
        (None, Ok(_)) => Err(Error::Bug("an edit without a decision".into())),
    }
}

/// Gives the loop `name` its attempts back: for a human, after a halt.
///
/// # Errors
/// Those of [`crate::update::edit`].
pub fn reset(
    path: &Path,
    name: &str,
    now: DateTime<Utc>,
    options: &WriteOptions,
    caller: Caller,
) -> Result<Written, Error> {
    check_name(name)?;
    let mut written = edit(path, options, caller, &mut |_| {
        let mut record = Object::new();
        record.set_text("attempts", b"[]").set("resetAt", to_text(now));
        Ok(Some(in_loop(name, record)))
    })?;
    tell_log(&mut written, now, &format!("Loop {name} reset"), options, caller);
    Ok(written)
}

/// A loop's name is a key of the document and a word in messages.
fn check_name(name: &str) -> Result<(), Error> {
    /// In bytes.
    const LONGEST: usize = 64;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_word) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the loop {name:?} is no name: it has letters, digits and - _ . only, at most {LONGEST}"
    )))
}

/// What an ask is decided to be.
enum Ask {
    Attempt { number: usize, reflections: Vec<Reflection> },
    Halt(Cause),
}

fn decide(
    root: Value<'_>,
    name: &str,
    reflection: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(Ask, Object), Refusal> {
    let attempts = recorded(root, name)?;
    let made = attempts.map_or(0, |attempts| attempts.elements().count());
    if made >= MOST_ATTEMPTS {
        let phase = cursor(root).unwrap_or_default();
        let cause = Cause { phase, text: format!("loop {name} has used its {MOST_ATTEMPTS} attempts") };
        let patch = halt::patch(&cause);
        return Ok((Ask::Halt(cause), patch));
    }
    let number = made + 1;
    let reflections = attempts.map(reflections).unwrap_or_default();
    let reflection = reflection.map(str::trim).filter(|text| !words(text).is_empty());
    must_reflect(name, number, reflection, &reflections)?;
    let mut attempt = Object::new();
    attempt.set("at", to_text(now));
    if let Some(reflection) = reflection {
        attempt.set("reflection", reflection);
    }
    let mut record = Object::new();
    if attempts.is_some() {
        let mut append = Object::new();
        append.set_object(&made.to_string(), attempt);
        record.set_object("attempts", append);
    } else {
        record.set_text("attempts", &[b"[", attempt.into_text().as_slice(), b"]"].concat());
    }
    Ok((Ask::Attempt { number, reflections }, in_loop(name, record)))
}

/// Refuses an attempt that nobody has thought about, or that would go the same way again.
fn must_reflect(
    name: &str,
    number: usize,
    reflection: Option<&str>,
    earlier: &[Reflection],
) -> Result<(), Refusal> {
    let refuse = |reason: String| Err(refusal(format!("/loops/{name}"), reason));
    let Some(reflection) = reflection else {
        if number == 1 {
            return Ok(());
        }
        return refuse(format!(
            "attempt {number} needs a reflection: what failed, and which change mends it? say it with --reflect"
        ));
    };
    match earlier.iter().find(|earlier| words(&earlier.reflection) == words(reflection)) {
        Some(same) => refuse(format!(
            "the reflection repeats that of attempt {}: the same approach again is no attempt",
            same.attempt
        )),
        None => Ok(()),
    }
}

/// The words of a reflection, by which two are told to be the same.
fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The attempts that are recorded of a loop.
fn recorded<'a>(root: Value<'a>, name: &str) -> Result<Option<Value<'a>>, Refusal> {
    let must_be = |value: Option<Value<'a>>, kind: Kind, pointer: &str| match value
        .filter(|value| !value.is_null())
    {
        Some(other) if other.kind() != kind => Err(refusal(
            pointer,
            format!("it is {}, and attempts are recorded in {}", other.kind().described(), kind.described()),
        )),
        value => Ok(value),
    };
    let loops = must_be(root.get("loops"), Kind::Object, "/loops")?;
    let record = loops.and_then(|loops| loops.get(name));
    let record = must_be(record, Kind::Object, &format!("/loops/{name}"))?;
    let attempts = record.and_then(|record| record.get("attempts"));
    must_be(attempts, Kind::Array, &format!("/loops/{name}/attempts"))
}

fn reflections(attempts: Value<'_>) -> Vec<Reflection> {
    let text = |attempt: Value<'_>, key: &str| Some(String::from(attempt.get(key)?.as_str()?));
    let all = attempts.elements().enumerate();
    all.filter_map(|(index, attempt)| {
        let reflection = text(attempt, "reflection")?;
        Some(Reflection { attempt: index + 1, at: text(attempt, "at"), reflection })
    })
    .collect()
}

fn in_loop(name: &str, record: Object) -> Object {
    let mut loops = Object::new();
    loops.set_object(name, record);
    let mut patch = Object::new();
    patch.set_object("loops", loops);
    patch
}

fn to_text(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::merge::{Nulls, Patch, merge};
    use chrono::TimeZone;

    /// Asks, and gives the state afterwards and the number, or the reason of the refusal or the halt.
    fn ask(text: &str, reflection: Option<&str>) -> (String, Result<usize, String>) {
        let document = Document::parse(text.into()).unwrap();
        let now = Utc.timestamp_opt(0, 0).unwrap();
        match decide(document.root(), "build-fix", reflection, now) {
            Ok((ask, patch)) => {
                let patch = Patch::parse(patch.into_text(), "the ask").unwrap();
                let edits = merge(&document, &patch, Nulls::Store).unwrap();
                let state = String::from_utf8(edits.apply(document.text())).unwrap();
                match ask {
                    Ask::Attempt { number, .. } => (state, Ok(number)),
                    Ask::Halt(cause) => (state, Err(cause.reason())),
                }
            }
            Err(refusal) => (text.to_owned(), Err(refusal.reason)),
        }
    }

    #[test]
    fn three_attempts_are_given_and_the_fourth_halts() {
        let (state, one) = ask(r#"{"currentPhase":4}"#, None);
        let (state, missing) = ask(&state, Some(" - "));
        let (state, two) = ask(&state, Some("The import was missing"));
        let (state, repeated) = ask(&state, Some("the import   was MISSING."));
        let (state, three) = ask(&state, Some("another way"));
        assert_eq!((one, two, three), (Ok(1), Ok(2), Ok(3)));
        assert_eq!(
            missing.unwrap_err(),
            "attempt 2 needs a reflection: what failed, and which change mends it? say it with --reflect"
        );
        assert_eq!(
            repeated.unwrap_err(),
            "the reflection repeats that of attempt 2: the same approach again is no attempt"
        );
        assert_eq!(
            state,
            r#"{"currentPhase":4,"loops":{"build-fix":{"attempts":[{"at":"1970-01-01T00:00:00.000Z"},{"at":"1970-01-01T00:00:00.000Z","reflection":"The import was missing"},{"at":"1970-01-01T00:00:00.000Z","reflection":"another way"}]}}}"#
        );
        for reflection in [None, Some("yet another")] {
            let (halted, four) = ask(&state, reflection);
            assert_eq!(four.unwrap_err(), "4:loop build-fix has used its 3 attempts");
            assert!(
                halted
                    .contains(r#""status":"paused","haltReason":"4:loop build-fix has used its 3 attempts""#)
            );
        }
    }

    #[test]
    fn a_loop_that_is_recorded_in_another_shape_is_not_guessed_at() {
        for (state, pointer) in [
            (r#"{"loops":[]}"#, "/loops"),
            (r#"{"loops":{"build-fix":2}}"#, "/loops/build-fix"),
            (r#"{"loops":{"build-fix":{"attempts":2}}}"#, "/loops/build-fix/attempts"),
        ] {
            let document = Document::parse(state.into()).unwrap();
            assert_eq!(recorded(document.root(), "build-fix").unwrap_err().pointer, pointer);
        }
    }
}
