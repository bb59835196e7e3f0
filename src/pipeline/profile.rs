//! A platform profile: what the host program says of itself. A run keeps it as it is (P1, P6).

use std::path::Path;

use super::tiers::Tier;
use crate::document::Value;
use crate::error::Error;
use crate::merge::Patch;

/// What stands between the warnings of a profile when they are joined.
const SEPARATOR: &str = "; ";

/// A profile as its file has it, or as a run keeps it.
#[derive(Debug)]
pub struct Profile(Patch);

impl Profile {
    /// Reads the profile in the file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::InvalidJson`], [`Error::NotAnObject`].
    pub fn read(path: &Path) -> Result<Profile, Error> {
        let text = std::fs::read(path)
            .map_err(|source| Error::io(path, "read the platform profile", "open", source))?;
        Profile::parse(text)
    }

    /// Takes the text of a profile.
    pub fn parse(text: Vec<u8>) -> Result<Profile, Error> {
        Patch::parse(text, "the platform profile").map(Profile)
    }

    /// The profile, as its file has it.
    pub fn root(&self) -> Value<'_> {
        self.0.verbatim()
    }

    /// Its warnings joined; `None` when it has none.
    pub fn isolation_warning(&self) -> Option<String> {
        let warnings = self.root().get("degradation_warnings")?;
        let listed: Vec<_> = warnings.elements().filter_map(Value::as_str).collect();
        let joined = warnings.as_str().map_or_else(|| listed.join(SEPARATOR), String::from);
        Some(joined).filter(|joined| !joined.is_empty())
    }

    /// The version of its table of models.
    pub fn model_tiers_version(&self) -> Option<String> {
        self.root().get("model_tiers_version")?.as_str().map(String::from)
    }
}

/// The root of a tier below a workspace; what a profile says wins (P4).
pub fn workspace_root(tier: Tier, profile: Option<Value<'_>>) -> String {
    let said = profile.and_then(|profile| {
        let root = profile.get("scope_root")?;
        let name = root.as_str().or_else(|| root.get("workspace")?.as_str())?;
        let name = name.strip_prefix("./").unwrap_or(&name).trim_end_matches('/');
        (!name.is_empty()).then(|| name.to_owned())
    });
    said.unwrap_or_else(|| tier.workspace_root().to_owned())
}

/// The manifest of a tier, relative to a workspace; what a profile says wins (P4).
pub fn manifest(tier: Tier, profile: Option<Value<'_>>) -> String {
    let said = profile.and_then(|profile| {
        profile.at(&["extensions", "version_manifest_path"])?.as_str().filter(|path| !path.is_empty())
    });
    said.map_or_else(|| tier.manifest().to_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> Profile {
        Profile::parse(text.into()).unwrap()
    }

    #[test]
    fn what_a_profile_says_wins_over_the_table() {
        for (text, root, path) in [
            ("{}", ".agents/codex", ".codex-plugin/plugin.json"),
            (r#"{"scope_root":{"workspace":"./.mine/"}}"#, ".mine", ".codex-plugin/plugin.json"),
            (r#"{"scope_root":".mine"}"#, ".mine", ".codex-plugin/plugin.json"),
            (r#"{"scope_root":{"workspace":""}}"#, ".agents/codex", ".codex-plugin/plugin.json"),
            (r#"{"scope_root":{"user":"~/.mine"}}"#, ".agents/codex", ".codex-plugin/plugin.json"),
            (r#"{"extensions":{"version_manifest_path":"a/b.json"}}"#, ".agents/codex", "a/b.json"),
            (r#"{"extensions":{"version_manifest_path":""}}"#, ".agents/codex", ".codex-plugin/plugin.json"),
        ] {
            let profile = profile(text);
            let root_of = workspace_root(Tier::Tier1d, Some(profile.root()));
            assert_eq!(
                (root_of.as_str(), &*manifest(Tier::Tier1d, Some(profile.root()))),
                (root, path),
                "{text}"
            );
        }
        assert_eq!(workspace_root(Tier::Tier1, None), ".claude");
        assert_eq!(manifest(Tier::Tier2, None), ".cursor-plugin/plugin.json");
    }

    #[test]
    fn the_warnings_of_a_profile_are_joined_and_none_are_none() {
        for (text, joined) in [
            ("{}", None),
            (r#"{"degradation_warnings":null}"#, None),
            (r#"{"degradation_warnings":[]}"#, None),
            (r#"{"degradation_warnings":["no worktrees","no hooks"]}"#, Some("no worktrees; no hooks")),
            (r#"{"degradation_warnings":"no hooks"}"#, Some("no hooks")),
        ] {
            assert_eq!(profile(text).isolation_warning().as_deref(), joined, "{text}");
        }
    }
}
