//! What no write may do to a pipeline document: P2 and P3. Pure.
//!
//! 1. Of the old document and of what is written only the protected fields are looked at, copied out into small
//!    documents of their own ([`excerpt`]), so that the cost does not grow with anything else that the state holds.
//! 2. Those two are merged as the whole ones will be, and the outcome is compared with the old one. So the rules need
//!    to know nothing about the ways in which a patch can change a field.
//! 3. An old document has `metadata.tier` where later ones have `metadata.source_tier`. It counts as that, and the
//!    first changing write moves it there ([`Verdict::migration`]).
//!
//! `null` counts as absent, so that a field whose value was not known at init can be filled once.

use std::path::Path;

use crate::document::{Document, Kind, Member, Value};
use crate::error::Error;
use crate::kind::StateKind;
use crate::merge::{self, Nulls, Patch, Refusal};

/// The fields that never change once they have a value (P2).
const FIXED: [&[&str]; 8] = [
    &["pipeline_id"],
    &["pipeline_name"],
    &["run_id"],
    &["started_at"],
    &["plugin_version"],
    &["scope_root_dir"],
    &["metadata", "source_tier"],
    &["metadata", "source_scope_root"],
];
/// The list that only grows at its end (P3).
const GROWING: &[&str] = &["metadata", "tier_changes"];
/// What old documents have for `metadata.source_tier` (P3).
const OLD_TIER: &[&str] = &["metadata", "tier"];

/// What is written.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// This is merged into the old document (M1 to M3).
    Merge(&'a Patch, Nulls),
    /// This takes its place (M4).
    Replace(&'a Patch),
}

/// What the rules say to a change.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The fields that the change would treat as no write may.
    pub refusals: Vec<Refusal>,
    /// What has to be merged too, deleting by `null`, if anything changes at all: the move of `metadata.tier`.
    pub migration: Option<Patch>,
}

impl<'a> Change<'a> {
    fn root(self) -> Value<'a> {
        match self {
            Change::Merge(patch, _) => patch.root(),
            Change::Replace(patch) => patch.verbatim(),
        }
    }
}

/// Whether the name of the file says that no rule here applies, so that the document need not be looked at.
pub fn are_for_others(path: &Path) -> bool {
    StateKind::by_name(path) == Some(StateKind::Agent)
}

/// Judges a change of the document `old`, which is `None` where nothing is there or nothing that parses. About other
/// documents than a pipeline's nothing is said; a document of no kind is what the change makes of it.
///
/// # Errors
/// [`Error::Refused`] where the change cannot be merged at all (D6, M3).
pub fn judge(path: &Path, old: Option<Value<'_>>, change: Change<'_>) -> Result<Verdict, Error> {
    let kind = [old, Some(change.root())].into_iter().flatten().find_map(|root| StateKind::of(path, root));
    match kind {
        Some(StateKind::Pipeline) => judge_pipeline(path, old, change),
        _ => Ok(Verdict::default()),
    }
}

fn judge_pipeline(path: &Path, old: Option<Value<'_>>, change: Change<'_>) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    let mut old = excerpt(old)?;
    let mut migration = migration(old.root())?;
    if let Some(patch) = &migration {
        match merged(path, &old, patch, Nulls::Delete) {
            Ok(migrated) => old = migrated,
            // A key on the way stands twice (D6): which value to move would be a guess, so it stays where it is.
            Err(_) => migration = None,
        }
    }
    let new = match change {
        Change::Merge(patch, nulls) => {
            let patch = excerpt(Some(patch.root()))?;
            refuse_old_tier(patch.root(), nulls, &mut verdict.refusals);
            let patch = Patch::parse(patch.into_text(), "the patch")?;
            merged(path, &old, &patch, nulls)?
        }
        Change::Replace(patch) => {
            let new = excerpt(Some(patch.verbatim()))?;
            refuse_old_tier(new.root(), Nulls::Store, &mut verdict.refusals);
            new
        }
    };
    compare(old.root(), new.root(), &mut verdict.refusals);
    verdict.migration = migration.filter(|_| matches!(change, Change::Merge(..)));
    Ok(verdict)
}

/// The protected fields of a document or patch, as a document of their own.
fn excerpt(root: Option<Value<'_>>) -> Result<Document, Error> {
    let protected = || FIXED.into_iter().chain([GROWING, OLD_TIER]);
    let mut text = vec![b'{'];
    for member in root.into_iter().flat_map(Value::members) {
        if !protected().any(|path| member.key == *path[0]) {
            continue;
        }
        start_member(&mut text, member);
        if member.key != *"metadata" || member.value.kind() != Kind::Object {
            text.extend_from_slice(member.value.raw());
            continue;
        }
        text.push(b'{');
        for inner in member.value.members() {
            if protected().any(|path| path.len() == 2 && inner.key == *path[1]) {
                start_member(&mut text, inner);
                text.extend_from_slice(inner.value.raw());
            }
        }
        text.push(b'}');
    }
    text.push(b'}');
    Document::parse(text).map_err(|fault| Error::Bug(format!("an excerpt of JSON is none: {fault}")))
}

fn start_member(text: &mut Vec<u8>, member: Member<'_>) {
    if text.last() != Some(&b'{') {
        text.push(b',');
    }
    text.extend_from_slice(member.key.raw());
    text.push(b':');
}

/// What moves the tier of an old document to where it belongs; a later `source_tier` beside it counts more.
fn migration(old: Value<'_>) -> Result<Option<Patch>, Error> {
    let Some(tier) = old.at(OLD_TIER) else { return Ok(None) };
    let move_it = match present(old, &["metadata", "source_tier"]) {
        Some(_) => br#"{"metadata":{"tier":null}}"#.to_vec(),
        None => [br#"{"metadata":{"tier":null,"source_tier":"#, tier.raw(), b"}}"].concat(),
    };
    Patch::parse(move_it, "the move of metadata.tier").map(Some)
}

fn merged(path: &Path, document: &Document, patch: &Patch, nulls: Nulls) -> Result<Document, Error> {
    let edits = merge::merge(document, patch, nulls).map_err(|refusal| refusal.of(path))?;
    Document::parse(edits.apply(document.text()))
        .map_err(|fault| Error::Bug(format!("a merge made no JSON: {fault}")))
}

/// `metadata.tier` is never written again (P3); deleting it is what the migration does anyway.
fn refuse_old_tier(written: Value<'_>, nulls: Nulls, refusals: &mut Vec<Refusal>) {
    let deletes = |tier: Value<'_>| tier.is_null() && nulls == Nulls::Delete;
    if written.at(OLD_TIER).is_some_and(|tier| !deletes(tier)) {
        let reason =
            "this field of old documents is never written again; write source_tier (at init) or runtime_tier";
        refusals.push(Refusal { pointer: pointer(OLD_TIER), reason: reason.into() });
    }
}

fn compare(old: Value<'_>, new: Value<'_>, refusals: &mut Vec<Refusal>) {
    let mut refuse = |path: &[&str], reason| refusals.push(Refusal { pointer: pointer(path), reason });
    for path in FIXED {
        let Some(before) = present(old, path) else { continue };
        match new.at(path) {
            Some(after) if after.is_same(before) => {}
            after => refuse(path, fixed(before, after)),
        }
    }
    if let Some(before) = present(old, GROWING) {
        match new.at(GROWING) {
            Some(after) if grows_at_its_end(before, after) => {}
            _ => refuse(
                GROWING,
                "this log only grows at its end: an entry that is there neither changes nor goes".into(),
            ),
        }
    }
}

/// The value of a field that has one: `null` is none.
fn present<'a>(root: Value<'a>, path: &[&str]) -> Option<Value<'a>> {
    root.at(path).filter(|value| !value.is_null())
}

/// Whether the list has become longer at most; what is no list stays as it is.
fn grows_at_its_end(before: Value<'_>, after: Value<'_>) -> bool {
    if (before.kind(), after.kind()) != (Kind::Array, Kind::Array) {
        return after.is_same(before);
    }
    let mut after = after.elements();
    before.elements().all(|entry| after.next().is_some_and(|same| same.is_same(entry)))
}

fn fixed(before: Value<'_>, after: Option<Value<'_>>) -> String {
    let becomes = match after {
        Some(after) => format!("would make it {}", shortened(after)),
        None => "would delete it".into(),
    };
    format!("it is {} and never changes after init, and this write {becomes}", shortened(before))
}

/// A value as a message shows it.
fn shortened(value: Value<'_>) -> String {
    /// In characters.
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(value.raw());
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

fn pointer(path: &[&str]) -> String {
    path.iter().map(|token| format!("/{token}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"pipeline_id":"a","pipeline_name":"p","run_id":"r","started_at":"t","plugin_version":"1.0.0",
        "scope_root_dir":".claude","status":"running","current_phase":0,"phases":[],
        "metadata":{"source_tier":"tier_1","runtime_tier":"tier_1","source_scope_root":".claude",
        "tier_changes":[{"from":"tier_1","to":"tier_2","at":"t"}],"platform_profile":{"tier":"x"}}}"#;
    const OLD_RUN: &str = r#"{"run_id":"r","metadata":{"tier":"tier_1","x":1}}"#;

    fn judged(old: &str, change: &str, make: fn(&Patch) -> Change<'_>) -> Vec<String> {
        let old = Document::parse(old.into()).unwrap();
        let patch = Patch::parse(change.into(), "the patch").unwrap();
        let verdict = judge(Path::new("pipeline-state.json"), Some(old.root()), make(&patch)).unwrap();
        verdict.refusals.into_iter().map(|refusal| refusal.pointer).collect()
    }

    fn merge(old: &str, patch: &str) -> Vec<String> {
        judged(old, patch, |patch| Change::Merge(patch, Nulls::Store))
    }

    fn merge_patch(old: &str, patch: &str) -> Vec<String> {
        judged(old, patch, |patch| Change::Merge(patch, Nulls::Delete))
    }

    fn replace(old: &str, new: &str) -> Vec<String> {
        judged(old, new, |patch| Change::Replace(patch))
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn every_fixed_field_is_kept_from_change_and_deletion_at_every_door() {
        for path in FIXED {
            let pointer = pointer(path);
            let nested = |value: &str| match path {
                [key] => format!(r#"{{"{key}":{value}}}"#),
                path => format!(r#"{{"{}":{{"{}":{value}}}}}"#, path[0], path[1]),
            };
            for value in ["\"other\"", "null", "{}", "[]", "1"] {
                assert_eq!(merge(RUN, &nested(value)), [pointer.as_str()], "{value}");
            }
            assert_eq!(merge_patch(RUN, &nested("null")), [pointer.as_str()]);
            let document = Document::parse(RUN.into()).unwrap();
            let value = document.root().at(path).unwrap();
            assert_eq!(merge(RUN, &nested(&format!("{value:?}"))), NOTHING);

            let key = path.last().unwrap();
            let without = RUN.replacen(&format!("\"{key}\""), "\"renamed\"", 1);
            assert_eq!(replace(RUN, &without), [pointer.as_str()]);
            assert_eq!(merge(&without, &nested("\"filled\"")), NOTHING, "an absent field can be filled");
        }
    }

    #[test]
    fn the_metadata_cannot_be_removed_from_under_its_fields() {
        let all = ["/metadata/source_tier", "/metadata/source_scope_root", "/metadata/tier_changes"];
        for value in ["null", "5", "[]"] {
            assert_eq!(merge(RUN, &format!(r#"{{"metadata":{value}}}"#)), all);
        }
        assert_eq!(merge_patch(RUN, r#"{"metadata":null}"#), all);
        assert_eq!(merge(RUN, r#"{"metadata":{}}"#), NOTHING);
        assert_eq!(replace(RUN, "{}").len(), FIXED.len() + 1);
    }

    #[test]
    fn what_is_null_can_be_filled_once() {
        let run = RUN.replace("\"1.0.0\"", "null");
        assert_eq!(merge(&run, r#"{"plugin_version":"1.2.0"}"#), NOTHING);
        assert_eq!(merge(RUN, r#"{"plugin_version":"1.2.0"}"#), ["/plugin_version"]);
    }

    #[test]
    fn another_spelling_of_the_same_value_is_no_change() {
        assert_eq!(merge(RUN, r#"{"\u0072un_id":"\u0072"}"#), NOTHING);
        assert_eq!(merge(RUN, r#"{"\u0072un_id":"x"}"#), ["/run_id"]);
        assert_eq!(replace(RUN, &RUN.replace("\"tier_1\"", "\"tier\\u005f1\"")), NOTHING);
        assert_eq!(merge(RUN, r#"{"run_id":"x","run_id":"r"}"#), NOTHING, "of a key twice the last counts");
    }

    #[test]
    fn tier_changes_grow_at_their_end_and_nowhere_else() {
        let changes = |value: &str| format!(r#"{{"metadata":{{"tier_changes":{value}}}}}"#);
        let first = r#"{ "from":"tier_1", "to":"tier_2", "at":"t" }"#;
        for grown in [r#"{"1":{"to":"x"}}"#, "{}", &format!("[{first}]"), &format!("[{first},{{}}]")] {
            assert_eq!(merge(RUN, &changes(grown)), NOTHING, "{grown}");
        }
        for shrunk in [
            "[]",
            "null",
            "5",
            r#"{"0":{"to":"x"}}"#,
            r#"{"0":{"by":"x"}}"#,
            r#"{"a":1}"#,
            &format!("[{{}},{first}]"),
        ] {
            assert_eq!(merge(RUN, &changes(shrunk)), ["/metadata/tier_changes"], "{shrunk}");
        }
        assert_eq!(merge_patch(RUN, &changes("null")), ["/metadata/tier_changes"]);
        assert_eq!(merge(r#"{"run_id":"r"}"#, &changes("[{}]")), NOTHING);
    }

    #[test]
    fn metadata_tier_is_never_set() {
        for (old, patch) in [
            (RUN, r#"{"metadata":{"tier":"tier_1"}}"#),
            (OLD_RUN, r#"{"metadata":{"tier":"tier_1"}}"#),
            ("{}", r#"{"metadata":{"tier":null}}"#),
        ] {
            assert_eq!(merge(old, patch), ["/metadata/tier"]);
        }
        assert_eq!(replace("{}", OLD_RUN), ["/metadata/tier"]);
        assert_eq!(merge_patch(OLD_RUN, r#"{"metadata":{"tier":null}}"#), NOTHING);
        assert_eq!(merge(RUN, r#"{"metadata":{"platform_profile":{"tier":"tier_2"}}}"#), NOTHING);
    }

    #[test]
    fn a_tier_that_stands_twice_is_left_alone_and_hinders_no_other_write() {
        for old in [
            r#"{"metadata":{"tier":"a","tier":"b"}}"#,
            r#"{"metadata":{"tier":"a"},"metadata":{"tier":"a"}}"#,
        ] {
            let (old, patch) =
                (Document::parse(old.into()), Patch::parse(br#"{"status":"failed"}"#.to_vec(), "p"));
            let (old, patch) = (old.unwrap(), patch.unwrap());
            let verdict = judge(
                Path::new("pipeline-state.json"),
                Some(old.root()),
                Change::Merge(&patch, Nulls::Store),
            )
            .unwrap();
            assert!(verdict.refusals.is_empty() && verdict.migration.is_none());
        }
    }

    #[test]
    fn an_old_tier_counts_as_the_source_tier() {
        assert_eq!(merge(OLD_RUN, r#"{"metadata":{"source_tier":"tier_1"}}"#), NOTHING);
        assert_eq!(merge(OLD_RUN, r#"{"metadata":{"source_tier":"tier_2"}}"#), ["/metadata/source_tier"]);
        assert_eq!(
            merge_patch(OLD_RUN, r#"{"metadata":{"tier":null,"source_tier":"x"}}"#),
            ["/metadata/source_tier"]
        );
        assert_eq!(replace(OLD_RUN, r#"{"run_id":"r","metadata":{"source_tier":"tier_1"}}"#), NOTHING);
        assert_eq!(replace(OLD_RUN, r#"{"run_id":"r","metadata":{"x":1}}"#), ["/metadata/source_tier"]);
        assert_eq!(merge(OLD_RUN, r#"{"metadata":7}"#), ["/metadata/source_tier"]);
    }

    #[test]
    fn a_refusal_says_what_was_there_and_what_would_come() {
        let old = Document::parse(RUN.into()).unwrap();
        let patch = Patch::parse(br#"{"run_id":"x"}"#.to_vec(), "the patch").unwrap();
        let verdict =
            judge(Path::new("pipeline-state.json"), Some(old.root()), Change::Merge(&patch, Nulls::Store))
                .unwrap();
        assert_eq!(
            verdict.refusals[0].reason,
            "it is \"r\" and never changes after init, and this write would make it \"x\""
        );
    }

    #[test]
    fn a_document_that_is_not_there_fixes_nothing() {
        let patch = Patch::parse(RUN.into(), "the patch").unwrap();
        let verdict = judge(Path::new("pipeline-state.json"), None, Change::Replace(&patch)).unwrap();
        assert_eq!(verdict.refusals, []);
    }
}
