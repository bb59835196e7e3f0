//! Pipeline runs: what is particular to `pipeline-state.json` (contract P).
//!
//! * [`tiers`] — where the tiers keep their runs and their manifests (P4).
//! * [`scope`] — where a run's scope root is, told from where its document lies (P5).
//! * [`rules`] — what no write may do to its document (P2, P3).

pub mod rules;
pub mod scope;
pub mod tiers;
