//! The version that a run is stamped with, from its tier's manifest (P1).

use std::fmt;
use std::path::{Path, PathBuf};

use crate::document::{Document, drop_bom};

/// Why a manifest tells no version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVersion {
    /// The manifest.
    pub manifest: PathBuf,
    /// What is the matter with it.
    pub why: String,
}

impl fmt::Display for NoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the manifest {} tells no version: {}", self.manifest.display(), self.why)
    }
}

/// Reads the `version` of a manifest, whatever it looks like.
pub fn read(manifest: &Path) -> Result<String, NoVersion> {
    let none = |why: String| NoVersion { manifest: manifest.to_owned(), why };
    // A path that a state names may lead to a pipe, which never ends.
    match std::fs::metadata(manifest) {
        Ok(facts) if facts.is_file() => {}
        Ok(_) => return Err(none("it is no file".into())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(none("there is no such file".into()));
        }
        Err(error) => return Err(none(error.to_string())),
    }
    let text = std::fs::read(manifest).map_err(|error| none(error.to_string()))?;
    let document = Document::parse(drop_bom(text)).map_err(|fault| none(fault.to_string()))?;
    let version = document.root().get("version").and_then(|version| version.as_str());
    version.map(String::from).ok_or_else(|| none("it has no string \"version\"".into()))
}

/// The major number of a version by semver; `None` when it is none.
///
/// ```
/// use pipestate::pipeline::version::major;
///
/// assert_eq!(major("2.1.0-beta.1+x"), Some(2));
/// assert_eq!(major("2.1"), None);
/// ```
pub fn major(version: &str) -> Option<u64> {
    let (version, build) = version.split_once('+').unwrap_or((version, "0"));
    let (core, pre_release) = version.split_once('-').unwrap_or((version, "0"));
    let numbers: Vec<&str> = core.split('.').collect();
    let is_plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_canonical = |part: &str| is_number(part) && (part == "0" || !part.starts_with('0'));
    let is_identifier = |part: &str| is_plain(part) && (!is_number(part) || is_canonical(part));
    let is_semver = numbers.len() == 3
        && numbers.iter().all(|part| is_canonical(part))
        && pre_release.split('.').all(is_identifier)
        && build.split('.').all(is_plain);
    // A number beyond all others is a version still.
    is_semver.then(|| numbers[0].parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_semver() {
        for (version, expected) in [
            ("0.0.4", Some(0)),
            ("10.20.30", Some(10)),
            ("1.1.2-prerelease+meta", Some(1)),
            ("1.0.0-alpha-a.b-c", Some(1)),
            ("1.0.0-0A.is.legal", Some(1)),
            ("1.2.3----R-S.12.9.1--.12+meta", Some(1)),
            ("2.0.0+build.1848", Some(2)),
            ("1.0.0+0.build.1-rc.10000aaa-kk-0.1", Some(1)),
            ("99999999999999999999999.0.0", Some(u64::MAX)),
            ("1", None),
            ("1.2", None),
            ("1.2.3-0123", None),
            ("1.2.3-", None),
            ("1.2.3+", None),
            ("01.1.1", None),
            ("1.2.3.4", None),
            ("v1.2.3", None),
            ("1.0.0-alpha_beta", None),
            ("1.0.0+a+b", None),
            ("-1.0.3", None),
            ("1.0.0-a..b", None),
            (" 1.0.0", None),
            ("<semver>", None),
            ("", None),
        ] {
            assert_eq!(major(version), expected, "{version}");
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods)] // a test lays out its own folder
    fn a_manifest_tells_its_version_or_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plugin.json");
        let why = || read(&file).map_err(|none| none.why);
        assert_eq!(why(), Err("there is no such file".into()));
        for (text, expected) in [
            (r#"{"name":"x","version":"1.2.3"}"#, Ok("1.2.3")),
            (r#"{"version":3}"#, Err("it has no string \"version\"")),
            ("[]", Err("it has no string \"version\"")),
            ("", Err("it is empty")),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(why(), expected.map(String::from).map_err(String::from));
        }
        assert_eq!(read(folder.path()).unwrap_err().why, "it is no file");
    }
}
