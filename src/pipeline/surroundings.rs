//! What lies around a run, and whether it is still what the document says: its scope root (P5), the version of the
//! plugin in its tier's manifest, and the preference files that its models were resolved from.
//!
//! Only reads, and only ordinary files, whatever a document names. Nothing here stops anybody: each [`Notice`] is for
//! who decides about the run.

use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::profile::manifest;
use super::scope::{self, Mismatch};
use super::tiers::Tier;
use super::version;
use crate::document::Value;
use crate::text::quoted;

/// How much a notice weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Document and disk contradict each other.
    Mismatch,
    /// Somebody should look at it before the run goes on.
    Advice,
    /// It could not be checked, and why.
    Note,
}

/// One thing about the surroundings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much it weighs.
    pub weight: Weight,
    /// What it is, in kebab case; stable, for programs.
    pub code: &'static str,
    /// RFC 6901 pointer of the field that it is about.
    pub pointer: String,
    /// The same for people; says on its own what it is about.
    pub message: String,
}

/// Looks at the surroundings of the run whose document `root` is in the file at `path`. `home` is what `~` stands for.
pub fn notices(path: &Path, root: Value<'_>, home: Option<&Path>) -> Vec<Notice> {
    let recorded = root.get("scope_root_dir").and_then(Value::as_str);
    let scope = scope::of_file(path, recorded.as_deref());
    let mut notices: Vec<Notice> = scope.mismatch.iter().map(scope_root).collect();
    if let Some(base) = &scope.base {
        notices.extend(plugin_version(root, base));
    }
    notices.extend(preferences(root, scope.base.as_deref(), home));
    notices
}

fn scope_root(mismatch: &Mismatch) -> Notice {
    let (weight, code) = match mismatch {
        Mismatch::NotRecorded => (Weight::Note, "scope-root-unchecked"),
        Mismatch::NotInTemp { .. } | Mismatch::NotAName { .. } | Mismatch::OtherRoot { .. } => {
            (Weight::Mismatch, "scope-root-mismatch")
        }
    };
    Notice { weight, code, pointer: "/scope_root_dir".into(), message: mismatch.to_string() }
}

/// Compares the version that the run was stamped with to the one that the manifest of its tier has now.
fn plugin_version(root: Value<'_>, base: &Path) -> Option<Notice> {
    let notice =
        |weight, code, message| Some(Notice { weight, code, pointer: "/plugin_version".into(), message });
    let unchecked = |why: &str| {
        notice(Weight::Note, "plugin-version-unchecked", format!("plugin_version cannot be compared: {why}"))
    };
    let Some(stamped) = root.get("plugin_version").and_then(Value::as_str) else {
        return unchecked("it is not recorded");
    };
    let Some(before) = version::major(&stamped) else { return unchecked("it is no semantic version") };
    let tier =
        ["runtime_tier", "source_tier", "tier"].iter().find_map(|key| root.at(&["metadata", key])?.as_str());
    let Some(tier) = tier.and_then(|id| Tier::parse(&id)) else {
        return unchecked("the tier, and with it the manifest, is not known");
    };
    let manifest = base.join(manifest(tier, root.at(&["metadata", "platform_profile"])));
    let now = match version::read(&manifest) {
        Ok(now) => now,
        Err(none) => return unchecked(&none.to_string()),
    };
    match version::major(&now) {
        Some(major) if major == before => None,
        Some(_) => {
            let message = format!(
                "plugin_version is {}, and the plugin is {} now: another major version may read the run differently",
                quoted(&stamped),
                quoted(&now)
            );
            notice(Weight::Advice, "plugin-version-differs", message)
        }
        None => unchecked(&format!("the manifest has {}, which is no semantic version", quoted(&now))),
    }
}

/// Compares the preference files that were consulted with what they were.
fn preferences(root: Value<'_>, base: Option<&Path>, home: Option<&Path>) -> Vec<Notice> {
    let Some(consulted) = root.at(&["metadata", "preference_files_consulted"]) else { return Vec::new() };
    let compare = |whose: &str| {
        let named = consulted.get(&format!("{whose}_path"))?.as_str()?;
        let hash = consulted.get(&format!("{whose}_hash")).filter(|hash| !hash.is_null());
        let (weight, code, message) = match place(&named, base, home) {
            None => unchecked(whose, &named, "where it lies is not known"),
            Some(file) => drift(whose, &named, &file, hash)?,
        };
        let pointer = format!("/metadata/preference_files_consulted/{whose}_hash");
        Some(Notice { weight, code, pointer, message })
    };
    ["user", "workspace"].iter().filter_map(|whose| compare(whose)).collect()
}

/// Where a named file lies: `~` is the home folder, and other paths are relative to the workspace.
fn place(named: &str, base: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    if let Some(below) = named.strip_prefix("~/") {
        return Some(home?.join(below));
    }
    let path = Path::new(named);
    if path.is_absolute() { Some(path.to_owned()) } else { Some(base?.join(path)) }
}

type Told = (Weight, &'static str, String);

fn unchecked(whose: &str, named: &str, why: &str) -> Told {
    let message = format!("the {whose} preferences in {} cannot be compared: {why}", quoted(named));
    (Weight::Note, "preferences-unchecked", message)
}

/// What has become of a file since it was hashed; `None` when it is the same.
fn drift(whose: &str, named: &str, file: &Path, recorded: Option<Value<'_>>) -> Option<Told> {
    let changed = |how: &str| {
        let message =
            format!("the {whose} preferences in {} {how} since the models were resolved", quoted(named));
        Some((Weight::Advice, "preferences-drifted", message))
    };
    let recorded = match recorded.map(|hash| hash.as_str().and_then(|hash| digest_in(&hash))) {
        Some(None) => return Some(unchecked(whose, named, "the recorded hash is no SHA-256")),
        Some(Some(digest)) => Some(digest),
        None => None,
    };
    match (recorded, digest_of(file)) {
        (_, Err(why)) => Some(unchecked(whose, named, &why)),
        (None, Ok(None)) => None,
        (None, Ok(Some(_))) => changed("have been made"),
        (Some(_), Ok(None)) => changed("have gone"),
        (Some(recorded), Ok(Some(now))) if recorded == now => None,
        (Some(_), Ok(Some(_))) => changed("have changed"),
    }
}

/// The digest in a recorded hash: `sha256:` and 64 hexadecimal digits, or those alone.
fn digest_in(hash: &str) -> Option<String> {
    let digits = hash.strip_prefix("sha256:").unwrap_or(hash);
    let is_digest = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| digits.to_ascii_lowercase())
}

/// The digest of a file; `None` when there is none. What is no ordinary file is not read: a pipe never ends.
fn digest_of(file: &Path) -> Result<Option<String>, String> {
    match std::fs::metadata(file) {
        Ok(facts) if facts.is_file() => {}
        Ok(_) => return Err("it is no file".into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut file = std::fs::File::open(file).map_err(|error| error.to_string())?;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)] // a test lays out its own folder
mod tests {
    use std::fs;

    use super::*;
    use crate::document::Document;

    /// A workspace with a data run in it, beside a home folder.
    struct Around(tempfile::TempDir);

    impl Around {
        fn new() -> Around {
            Around(tempfile::tempdir().unwrap())
        }

        fn file(&self, name: &str, content: &str) -> PathBuf {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            path
        }

        fn notices(&self, document: &str) -> Vec<(Weight, &'static str, String)> {
            let path = self.file("work/.superpipelines/temp/docs/run-1/pipeline-state.json", document);
            let document = Document::parse(document.into()).unwrap();
            let notices = notices(&path, document.root(), Some(&self.0.path().join("home")));
            notices.into_iter().map(|notice| (notice.weight, notice.code, notice.message)).collect()
        }
    }

    fn run(version: &str, metadata: &str) -> String {
        format!(
            r#"{{"scope_root_dir":".superpipelines","plugin_version":{version},"metadata":{{{metadata}}}}}"#
        )
    }

    #[test]
    fn another_major_version_is_advice_and_a_missing_one_a_note() {
        let around = Around::new();
        let manifest = |text: &str| drop(around.file("work/.codex-plugin/plugin.json", text));
        let codes = |version: &str, metadata: &str| {
            let notices = around.notices(&run(version, metadata));
            notices.into_iter().map(|(weight, code, _)| (weight, code)).collect::<Vec<_>>()
        };
        const TIER: &str = r#""source_tier":"tier_1","runtime_tier":"tier_1d""#;
        let note = [(Weight::Note, "plugin-version-unchecked")];
        assert_eq!(codes("\"1.2.3\"", TIER), note, "no manifest");
        manifest(r#"{"version":"1.9.0"}"#);
        assert_eq!(codes("\"1.2.3\"", TIER), []);
        assert_eq!(codes("null", TIER), note);
        assert_eq!(codes("\"1.2\"", TIER), note);
        assert_eq!(codes("\"1.2.3\"", r#""runtime_tier":"tier_9""#), note);
        manifest(r#"{"version":"two"}"#);
        assert_eq!(codes("\"1.2.3\"", TIER), note);
        manifest(r#"{"version":"2.0.0"}"#);
        let told = around.notices(&run("\"1.2.3\"", TIER));
        let message = "plugin_version is \"1.2.3\", and the plugin is \"2.0.0\" now: another major version may read the run \
                       differently";
        assert_eq!(told, [(Weight::Advice, "plugin-version-differs", message.into())]);
        // A profile names its own manifest.
        around.file("work/own.json", r#"{"version":"1.0.0"}"#);
        let own =
            format!(r#"{TIER},"platform_profile":{{"extensions":{{"version_manifest_path":"own.json"}}}}"#);
        assert_eq!(codes("\"1.2.3\"", &own), []);
    }

    #[test]
    fn preferences_that_drifted_are_advice_that_names_which() {
        let around = Around::new();
        around.file("work/.claude-plugin/plugin.json", r#"{"version":"1.0.0"}"#);
        let user = around.file("home/prefs.json", "user");
        let workspace = around.file("work/prefs.json", "");
        // echo -n user | sha256sum, and of nothing
        let user_hash = "04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb";
        let empty_hash =
            "SHA256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855".to_lowercase();
        let drift = |user_hash: &str, workspace_hash: &str| {
            let consulted = format!(
                r#""runtime_tier":"tier_1","preference_files_consulted":{{"user_path":"~/prefs.json","user_hash":{user_hash},
                "workspace_path":"prefs.json","workspace_hash":{workspace_hash}}}"#
            );
            let notices = around.notices(&run("\"1.0.0\"", &consulted));
            notices.into_iter().map(|(weight, _, message)| (weight, message)).collect::<Vec<_>>()
        };
        let advice = |whose: &str, path: &str, how: &str| {
            let message =
                format!("the {whose} preferences in \"{path}\" {how} since the models were resolved");
            (Weight::Advice, message)
        };
        let (user_hash, empty_hash) = (format!("\"{user_hash}\""), format!("\"{empty_hash}\""));
        assert_eq!(drift(&user_hash, &empty_hash), []);
        assert_eq!(drift(&empty_hash, &empty_hash), [advice("user", "~/prefs.json", "have changed")]);
        assert_eq!(drift(&user_hash, "null"), [advice("workspace", "prefs.json", "have been made")]);
        fs::remove_file(&workspace).unwrap();
        assert_eq!(drift(&user_hash, &empty_hash), [advice("workspace", "prefs.json", "have gone")]);
        assert_eq!(drift(&user_hash, "null"), []);
        fs::remove_file(&user).unwrap();
        fs::create_dir(&user).unwrap();
        let note = |why: &str| {
            (Weight::Note, format!("the user preferences in \"~/prefs.json\" cannot be compared: {why}"))
        };
        assert_eq!(drift(&user_hash, "null"), [note("it is no file")]);
        assert_eq!(drift("\"md5:1\"", "null"), [note("the recorded hash is no SHA-256")]);
    }

    #[test]
    fn a_run_that_lies_elsewhere_is_a_mismatch_and_its_manifest_is_not_looked_for() {
        let around = Around::new();
        let codes = |scope: &str| {
            let notices = around.notices(&format!(r#"{{{scope}"plugin_version":"1.0.0"}}"#));
            notices.into_iter().map(|(weight, code, _)| (weight, code)).collect::<Vec<_>>()
        };
        assert_eq!(codes(r#""scope_root_dir":".claude","#), [(Weight::Mismatch, "scope-root-mismatch")]);
        assert_eq!(codes(""), [(Weight::Note, "scope-root-unchecked")]);
    }
}
