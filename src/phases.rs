//! The phases of a document in every shape that occurs: an array of records, an object keyed by numbers (`"3"`,
//! `"3.5"`) or by names, entries that are bare status words. Only reading: nothing here is an opinion on the shape.

use std::borrow::Cow;

use crate::document::{Kind, Value, pointer_token};

/// One phase where it stands.
#[derive(Clone, Debug)]
pub struct Phase<'a> {
    /// Its place in the array, or its key.
    pub key: String,
    /// Its JSON pointer.
    pub pointer: String,
    /// What stands there: mostly an object.
    pub value: Value<'a>,
}

/// The phases of the document `root`, in the order in which they stand there; none if it has none that can be read.
pub fn phases(root: Value<'_>) -> Vec<Phase<'_>> {
    let Some(phases) = root.get("phases") else { return Vec::new() };
    let phase = |key: String, value| {
        let pointer = format!("/phases/{}", pointer_token(&key));
        Phase { key, pointer, value }
    };
    let elements = phases.elements().enumerate().map(|(index, value)| phase(index.to_string(), value));
    let members = phases.members().map(|member| phase(member.key.to_str().into_owned(), member.value));
    elements.chain(members).collect()
}

/// The words of one status (V4).
pub fn is_done(status: &str) -> bool {
    matches!(status, "done" | "completed")
}

impl<'a> Phase<'a> {
    /// Its status word; `None` when there is none or when it is not a string.
    pub fn status(&self) -> Option<Cow<'a, str>> {
        match self.value.kind() {
            Kind::String => self.value.as_str(),
            _ => self.value.get("status")?.as_str(),
        }
    }

    /// Whether it is `done` or `completed`, which are one status (V4).
    pub fn is_done(&self) -> bool {
        self.status().is_some_and(|status| is_done(&status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn read(text: &str) -> Vec<(String, Option<String>, bool)> {
        let document = Document::parse(text.into()).unwrap();
        let phases = phases(document.root());
        phases.iter().for_each(|phase| {
            assert_eq!(document.root().pointer(&phase.pointer).unwrap().raw(), phase.value.raw());
        });
        phases
            .iter()
            .map(|phase| (phase.key.clone(), phase.status().map(Cow::into_owned), phase.is_done()))
            .collect()
    }

    #[test]
    fn phases_are_found_in_every_shape() {
        let row = |key: &str, status: Option<&str>, done| (key.to_owned(), status.map(str::to_owned), done);
        assert_eq!(
            read(r#"{"phases":[{"name":"a","status":"done"},"completed",{"status":null},7]}"#),
            [
                row("0", Some("done"), true),
                row("1", Some("completed"), true),
                row("2", None, false),
                row("3", None, false)
            ]
        );
        assert_eq!(
            read(r#"{"phases":{"3.5":{"status":"in_progress"},"a/b":{},"0":"pending"}}"#),
            [
                row("3.5", Some("in_progress"), false),
                row("a/b", None, false),
                row("0", Some("pending"), false)
            ]
        );
        for none in ["{}", r#"{"phases":null}"#, r#"{"phases":3}"#, r#"{"phases":{}}"#, "[]"] {
            assert_eq!(read(none), []);
        }
    }
}
