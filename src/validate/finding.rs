//! What a validation has to say (V5): one [`Finding`] for each thing that is wrong or odd, and how it is worded.

use std::fmt;

use serde::Serialize;

use crate::text::one_line;

/// How much a finding weighs (V5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A resume would have to guess: exit 1, or 3 when the document could not be read at all.
    Error,
    /// A resume knows what to do, and somebody should look at it: exit 0, or 1 when strict.
    Warning,
    /// The document is what it should be, and something around it asks for a look; never fails.
    Advice,
    /// Something that could not be checked, and why; never fails.
    Info,
}

impl Severity {
    /// The word for people and programs: `error`, `warning`, `advice`, `info`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Advice => "advice",
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

    /// A finding of severity [`Severity::Advice`].
    pub fn advice(code: &'static str, pointer: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Advice, code, pointer: pointer.into(), message: message.into() }
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
            write!(f, " {}", one_line(&self.pointer))?;
        }
        write!(f, ": {} [{}]", self.message, self.code)
    }
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
            "info /a\\nb\\u{1b}[31m\\u{2028}é: is odd [some-code]"
        );
    }
}
