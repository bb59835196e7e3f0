//! Pipeline runs: what is particular to `pipeline-state.json` (contract P).
//!
//! * [`tiers`] — where the tiers keep their runs and their manifests (P4).
//! * [`scope`] — where a run's scope root is, told from where its document lies (P5).
//! * [`names`] — the words of the document (V4).
//! * [`rules`] — what no write may do to it (P2, P3).
//! * [`init`] — a new run (P1); [`profile`] and [`version`] are what it is stamped with.
//! * [`surroundings`] — whether scope root, plugin and preferences are still what the document says.
//! * [`resume`] — taking up a run that has stopped (P6).
//! * [`transition`] — what becomes of phases and of the run (S2, P7).

pub mod init;
pub mod names;
pub(crate) mod object;
pub mod profile;
pub mod resume;
pub mod rules;
pub mod scope;
pub mod surroundings;
pub mod tiers;
pub mod transition;
pub mod version;
