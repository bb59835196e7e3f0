//! What a validation has to say (V5): one [`Finding`] for each thing that is wrong or odd, and how it is worded.

use std::fmt;

use serde::Serialize;

/// How much a finding weighs (V5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A resume would have to guess: exit 1, or 3 when the document could not be read at all.
    Error,
    /// A resume knows what to do, and somebody should look at it: exit 0, or 1 when strict.
    Warning,
    /// Something that could not be checked, and why; never fails.
    Info,
}

impl Severity {
    /// The word for people and programs: `error`, `warning`, `info`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// One thing that is wrong with a state document, or odd about it (V5).
///
/// `Display` is one line for stdout, whatever the document's keys contain:
/// `error /currentPhase: currentPhase is null, so where to resume would be a guess [current-phase-null]`. Without a pointer the
/// finding is about the whole document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// What it is, in kebab case; stable, for programs.
    pub code: &'static str,
    /// RFC 6901 pointer of the field it is about; empty for the document.
    pub pointer: String,
    /// What is wrong, for people; says on its own what it is about.
    pub message: String,
}

impl Finding {
    /// A finding of severity [`Severity::Error`].
    pub fn error(code: &'static str, pointer: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Error, code, pointer: pointer.into(), message: message.into() }
    }

    /// A finding of severity [`Severity::Warning`].
    pub fn warning(code: &'static str, pointer: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, code, pointer: pointer.into(), message: message.into() }
    }

    /// A finding of severity [`Severity::Info`].
    pub fn info(code: &'static str, pointer: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Info, code, pointer: pointer.into(), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.severity.word())?;
        if !self.pointer.is_empty() {
            f.write_str(" ")?;
            write_on_one_line(&self.pointer, f)?;
        }
        write!(f, ": {} [{}]", self.message, self.code)
    }
}

/// Writes text of the document so that it stays on its line and steers no terminal.
fn write_on_one_line(text: &str, f: &mut impl fmt::Write) -> fmt::Result {
    let breaks_lines =
        |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    text.chars().try_for_each(|character| match breaks_lines(character) {
        true => write!(f, "{}", character.escape_unicode()),
        false => f.write_char(character),
    })
}

/// A string of the document as a message shows it: in quotes, on one line, no more of it than anyone reads.
pub(super) fn quoted(text: &str) -> String {
    /// In characters.
    const LONGEST: usize = 60;
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    let mut quoted = String::from("\"");
    // Writing to a string does not fail.
    let _ = write_on_one_line(&text[..end], &mut quoted);
    quoted.push_str(if end < text.len() { "…\"" } else { "\"" });
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_that_names_severity_field_message_and_code() {
        let line = |finding: Finding| finding.to_string();
        assert_eq!(line(Finding::error("some-code", "/a/0", "is odd")), "error /a/0: is odd [some-code]");
        assert_eq!(line(Finding::warning("some-code", "", "is odd")), "warning: is odd [some-code]");
        assert_eq!(
            line(Finding::info("some-code", "/a\nb\u{1b}[31m\u{2028}é", "is odd")),
            "info /a\\u{a}b\\u{1b}[31m\\u{2028}é: is odd [some-code]"
        );
    }

    #[test]
    fn text_of_the_document_is_quoted_on_one_line_and_shortened() {
        assert_eq!(quoted("run\0ning"), "\"run\\u{0}ning\"");
        assert_eq!(quoted(&"é".repeat(60)), format!("\"{}\"", "é".repeat(60)));
        assert_eq!(quoted(&"é".repeat(61)), format!("\"{}…\"", "é".repeat(60)));
    }
}
