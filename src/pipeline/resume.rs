//! Taking up a run that has stopped (P6, R4).
//!
//! 1. Under the lock, what the recovery rules say of the run ([`recovery::decide`]): who is at work keeps it (R1), a
//!    crashed run and one that a human stopped are resumed when that is confirmed (R2, R4), others never (R3, R5, R6).
//! 2. In the same write a [`Claim`]: who resumes it, when, and whether that was confirmed. It makes the run active by
//!    R7, so of several that would resume it one does, and the others find a run at work.
//! 3. On another tier than before, that write also says so: an entry in `tier_changes`, the new `runtime_tier`, the
//!    new tier's profile and its warnings. On the same tier those stay.

use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};

use super::object::Object;
use super::profile::Profile;
use super::scope;
use super::tiers::Tier;
use crate::document::{Kind, Value};
use crate::error::Error;
use crate::kind::StateKind;
use crate::lock;
use crate::merge::{Patch, Refusal};
use crate::recovery::{self, Clock, Decision, Rule};
use crate::time::Moment;
use crate::update::{self, Caller, Current, Steps, WriteOptions, Written};

/// What a resume is asked with.
pub struct Request<'a> {
    /// The tier that the run goes on under.
    pub tier: Tier,
    /// The platform profile of that tier.
    pub profile: Option<&'a Profile>,
    /// Whether a human has said yes: the flag of R4 and the answer to the question of R2.
    pub confirmed: bool,
    /// When it was asked for: what has been claimed since then was claimed by another.
    pub since: DateTime<Utc>,
    /// Asked for the clock once the lock is held: what another resumer has written lies before that.
    pub clock: &'a dyn Fn() -> Clock,
}

/// What a resume has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The rule that the run was stopped by.
    pub rule: Rule,
    /// When it was resumed, as the document has it.
    pub resumed_at: String,
    /// Who resumed it: program, process and host.
    pub resumed_by: String,
    /// The tier that it ran under before; `None` when that is not recorded.
    pub from: Option<String>,
    /// Whether that was another tier.
    pub crossed: bool,
    /// `current_phase` as the document has it.
    pub current_phase: Option<String>,
    /// What whoever resumes the run should know.
    pub warnings: Vec<String>,
}

impl Claim {
    /// What is told of it, as `--json` and JavaScript have it.
    pub fn told(&self, request: &Request) -> serde_json::Value {
        serde_json::json!({
            "rule": self.rule,
            "tier": request.tier.id(),
            "previousTier": self.from,
            "tierChanged": self.crossed,
            "confirmed": request.confirmed,
            "resumedAt": self.resumed_at,
            "resumedBy": self.resumed_by,
            "currentPhase": self.current_phase,
        })
    }
}

/// Resumes the run of the document at `path`.
///
/// # Errors
/// [`Error::Refused`] where the rules say no, naming why; those of [`update::edit`].
pub fn resume(
    path: &Path,
    request: &Request,
    options: &WriteOptions,
    caller: Caller,
) -> Result<(Claim, Written), Error> {
    let (claim, mut written) =
        update::edit(path, options, caller, &mut |current| decide(current, request, caller.program))?;
    written.warnings.extend(claim.warnings.iter().cloned());
    Ok((claim, written))
}

/// Decides about the run whose lock is held: what is claimed, and the patches that claim it. `program` is who resumes.
///
/// # Errors
/// [`Error::Refused`] where the rules say no.
pub fn decide(current: &Current, request: &Request, program: &str) -> Result<(Claim, Steps), Error> {
    let path = &current.place.path;
    let root = current.document.root();
    let kind = StateKind::of(path, root);
    let refused = |refusal: Refusal| refusal.of(path);
    if kind != Some(StateKind::Pipeline) {
        let reason = "this is no pipeline's document, and its runs are not resumed so".into();
        return Err(refused(Refusal { pointer: String::new(), reason }));
    }
    let clock = (request.clock)();
    let decision = recovery::decide(root, kind, current.facts.modified, &clock);
    permit(&decision, request.confirmed).and_then(|()| not_claimed_since(root, request)).map_err(refused)?;
    let from = previous_tier(root);
    let mut claim = Claim {
        rule: decision.rule,
        resumed_at: clock.now.to_rfc3339_opts(SecondsFormat::Millis, true),
        resumed_by: format!("{program}, process {} on {}", std::process::id(), lock::host()),
        crossed: from.as_deref().is_some_and(|from| from != request.tier.id()),
        from,
        current_phase: root.get("current_phase").map(|cursor| String::from_utf8_lossy(cursor.raw()).into()),
        warnings: Vec::new(),
    };
    claim.warnings = warnings(path, root, &decision, &claim, request);
    let patches = patches(root, &claim, request).map_err(refused)?;
    let steps =
        patches.into_iter().map(|patch| Patch::parse(patch, "the claim")).collect::<Result<_, _>>()?;
    Ok((claim, steps))
}

/// Whether the run may be resumed.
fn permit(decision: &Decision, confirmed: bool) -> Result<(), Refusal> {
    let because = decision.reasons.first();
    let pointer = because.and_then(|reason| reason.pointer.clone()).unwrap_or_default();
    let why = because.map_or("it cannot be resumed", |reason| &reason.message);
    let refuse = |way_out: &str| Err(Refusal { pointer: pointer.clone(), reason: format!("{why}{way_out}") });
    match decision.rule {
        Rule::R1 => refuse(""),
        Rule::R2 if !confirmed => {
            refuse("; ask whether to resume, restart or abort, and to resume add --confirm")
        }
        Rule::R4 if !confirmed => refuse("; to resume add --confirm"),
        Rule::R2 | Rule::R4 => Ok(()),
        Rule::R3 => refuse("; it is not resumed"),
        Rule::R5 | Rule::R6 => refuse("; it is never resumed: mend the document first"),
    }
}

/// Another claim that is no older than this request counts also where the recovery rules find the run crashed again.
fn not_claimed_since(root: Value<'_>, request: &Request) -> Result<(), Refusal> {
    let claimed = root.at(&["metadata", "resumed_at"]).and_then(Value::as_str);
    match claimed.as_deref().and_then(Moment::parse) {
        // Claims are written in milliseconds.
        Some(Moment { at, .. }) if at.timestamp_millis() >= request.since.timestamp_millis() => {
            Err(Refusal {
                pointer: "/metadata/resumed_at".into(),
                reason: "somebody else has just resumed it".into(),
            })
        }
        _ => Ok(()),
    }
}

/// The patches that claim the run: merged one after another, in one write.
fn patches(root: Value<'_>, claim: &Claim, request: &Request) -> Result<Vec<Vec<u8>>, Refusal> {
    refuse_other_shape(root, &["metadata"], Kind::Object)?;
    let mut patches = Vec::new();
    let mut metadata = Object::new();
    metadata
        .set("resumed_at", &claim.resumed_at)
        .set("resumed_by", &claim.resumed_by)
        .set("resume_confirmed", request.confirmed)
        .set("runtime_tier", request.tier.id());
    if claim.crossed {
        patches.extend(forget_profile(root));
        metadata
            .set_text("platform_profile", request.profile.map_or(b"null", |profile| profile.root().raw()))
            .set("isolation_warning", request.profile.and_then(Profile::isolation_warning))
            .set_text("tier_changes", &one_more_change(root, claim, request)?);
    }
    let mut patch = Object::new();
    patch.set("status", "running").set_object("metadata", metadata);
    patches.push(patch.into_text());
    Ok(patches)
}

/// The tier that the run ran under last (P6); of a document that records none, the one it was made under.
fn previous_tier(root: Value<'_>) -> Option<String> {
    let tier = |key: &str| root.at(&["metadata", key])?.as_str().map(String::from);
    tier("runtime_tier").or_else(|| tier("tier")).or_else(|| tier("source_tier"))
}

/// What takes the old tier's profile away, so that the new one takes its place and is not merged into it.
fn forget_profile(root: Value<'_>) -> Option<Vec<u8>> {
    let has_one =
        root.at(&["metadata", "platform_profile"]).is_some_and(|profile| profile.kind() == Kind::Object);
    has_one.then(|| br#"{"metadata":{"platform_profile":null}}"#.to_vec())
}

/// What appends a change to the log of them, whose entries stay as they are (P3).
fn one_more_change(root: Value<'_>, claim: &Claim, request: &Request) -> Result<Vec<u8>, Refusal> {
    const PATH: [&str; 2] = ["metadata", "tier_changes"];
    let mut change = Object::new();
    change.set("from", &claim.from).set("to", request.tier.id()).set("at", &claim.resumed_at);
    let change = change.into_text();
    refuse_other_shape(root, &PATH, Kind::Array)?;
    match root.at(&PATH).filter(|log| !log.is_null()) {
        Some(log) => {
            let mut append = Object::new();
            append.set_text(&log.elements().count().to_string(), &change);
            Ok(append.into_text())
        }
        None => Ok([b"[", change.as_slice(), b"]"].concat()),
    }
}

/// Refuses to write over what somebody has put into a field in another shape.
fn refuse_other_shape(root: Value<'_>, path: &[&str], shape: Kind) -> Result<(), Refusal> {
    match root.at(path).filter(|value| !value.is_null() && value.kind() != shape) {
        Some(value) => Err(Refusal {
            pointer: path.iter().map(|token| format!("/{token}")).collect(),
            reason: format!(
                "it is {} and not {}: mend it first",
                value.kind().described(),
                shape.described()
            ),
        }),
        None => Ok(()),
    }
}

/// What whoever resumes the run should know, though it does not hinder them.
fn warnings(
    path: &Path,
    root: Value<'_>,
    decision: &Decision,
    claim: &Claim,
    request: &Request,
) -> Vec<String> {
    let recorded = root.get("scope_root_dir").and_then(Value::as_str);
    let mismatch = scope::of_file(path, recorded.as_deref()).mismatch.map(|mismatch| mismatch.to_string());
    let other_reasons = decision.reasons.iter().skip(1).map(ToString::to_string);
    let profile = match (claim.crossed, request.profile) {
        (true, None) => Some("no profile of the new tier is given, so platform_profile is null".to_owned()),
        (false, Some(_)) => Some("the tier stays, and so does the recorded platform_profile".to_owned()),
        _ => None,
    };
    other_reasons.chain(mismatch).chain(profile).collect()
}
