//! Which of the two documents a state file holds (the table at the head of the contract).

use std::fmt;
use std::path::Path;

use serde::{Serialize, Serializer};

use crate::document::{Key, Value};

/// The kinds of state document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StateKind {
    /// `agent-state.json`: the state of one task.
    Agent,
    /// `pipeline-state.json`: the state of one run of a pipeline.
    Pipeline,
}

/// The name of an agent's state file.
pub const AGENT_FILE: &str = "agent-state.json";

/// The name of a pipeline run's state file.
pub const PIPELINE_FILE: &str = "pipeline-state.json";

impl StateKind {
    /// The kind of the document `root` in the file at `path`: by the file's name, else by the fields that only one
    /// kind has. `None` is a document of neither kind, for which no P, S or V rule applies.
    ///
    /// ```
    /// use std::path::Path;
    /// use pipestate::document::Document;
    /// use pipestate::kind::StateKind;
    ///
    /// let document = Document::parse(br#"{"currentPhase": 4}"#.to_vec()).unwrap();
    /// assert_eq!(StateKind::of(Path::new("state.json"), document.root()), Some(StateKind::Agent));
    /// assert_eq!(StateKind::of(Path::new("pipeline-state.json"), document.root()), Some(StateKind::Pipeline));
    /// ```
    pub fn of(path: &Path, root: Value<'_>) -> Option<StateKind> {
        StateKind::by_name(path).or_else(|| StateKind::by_fields(root))
    }

    /// The kind that a file's name says.
    pub fn by_name(path: &Path) -> Option<StateKind> {
        match path.file_name()?.to_str()? {
            AGENT_FILE => Some(StateKind::Agent),
            PIPELINE_FILE => Some(StateKind::Pipeline),
            _ => None,
        }
    }

    /// The kind that a document's fields say.
    pub fn by_fields(root: Value<'_>) -> Option<StateKind> {
        let keys: Vec<Key> = root.members().map(|member| member.key).collect();
        StateKind::by_keys(|field| keys.iter().any(|key| *key == *field))
    }

    /// The kind of a document that has the keys that `has` says.
    pub fn by_keys(has: impl Fn(&str) -> bool) -> Option<StateKind> {
        if has("pipeline_id") || has("current_phase") {
            Some(StateKind::Pipeline)
        } else if has("currentPhase") {
            Some(StateKind::Agent)
        } else {
            None
        }
    }

    /// The kind's name, as `--kind` and `--json` have it.
    pub fn word(self) -> &'static str {
        match self {
            StateKind::Agent => "agent",
            StateKind::Pipeline => "pipeline",
        }
    }
}

/// The kind's name as `--json` has it, `unknown` for a document of neither kind.
pub fn or_unknown<S: Serializer>(kind: &Option<StateKind>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.map_or("unknown", StateKind::word))
}

impl fmt::Display for StateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn the_name_decides_and_then_the_fields() {
        let kind = |path: &str, text: &str| {
            StateKind::of(path.as_ref(), Document::parse(text.into()).unwrap().root())
        };
        let (agent, pipeline) = (Some(StateKind::Agent), Some(StateKind::Pipeline));
        assert_eq!(kind("a/agent-state.json", r#"{"current_phase":1}"#), agent);
        assert_eq!(kind("a/pipeline-state.json", r#"{"currentPhase":1}"#), pipeline);
        assert_eq!(kind("state.json", r#"{"currentPhase":1}"#), agent);
        assert_eq!(kind("state.json", r#"{"currentPhase":1,"current_phase":1}"#), pipeline);
        assert_eq!(kind("state.json", r#"{"pipeline_id":null}"#), pipeline);
        assert_eq!(kind("state.json", r#"{"metadata":{"current_phase":1}}"#), None);
        assert_eq!(kind("agent-state.json.bak", "[]"), None);
    }
}
