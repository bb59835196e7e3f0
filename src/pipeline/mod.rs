//! Pipeline runs: what is particular to `pipeline-state.json` (contract P).
//!
//! * [`tiers`] — where the tiers keep their runs and their manifests (P4).

pub mod tiers;
