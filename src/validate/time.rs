//! Whether a text is a time, and whether it says in which zone (V3, R7).

use chrono::{DateTime, NaiveDate, NaiveDateTime};

/// The fields that tell when something happened, in both spellings (R7).
pub(super) const TIME_FIELDS: &[&str] = &[
    "started_at",
    "updated_at",
    "last_updated",
    "completed_at",
    "resumed_at",
    "startedAt",
    "updatedAt",
    "lastUpdated",
    "completedAt",
    "resumedAt",
];

/// What a time says about its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// `Z` or an offset: one instant for every reader.
    Given,
    /// None, or a date alone: each reader takes it for another instant (R7 takes UTC).
    Missing,
}

impl Zone {
    /// Reads a time of ISO 8601, with `T` or a blank before the time of day, with or without seconds, their
    /// fraction, and the colon of the offset. `None` when it is no such time, or a day that no calendar has.
    pub(super) fn of(text: &str) -> Option<Zone> {
        const TIMES: [&str; 4] =
            ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];
        let is_zoned = |time: &&str| DateTime::parse_from_str(text, &format!("{time}%#z")).is_ok();
        let is_local = |time: &&str| NaiveDateTime::parse_from_str(text, time).is_ok();
        if DateTime::parse_from_rfc3339(text).is_ok() || TIMES.iter().any(is_zoned) {
            Some(Zone::Given)
        } else if NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok() || TIMES.iter().any(is_local) {
            Some(Zone::Missing)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_zone_lacks_one_or_is_no_time() {
        for (text, zone) in [
            ("2026-07-31T13:40:00Z", Some(Zone::Given)),
            ("2026-07-31T13:40:00.000Z", Some(Zone::Given)),
            ("2026-07-31t13:40:00z", Some(Zone::Given)),
            ("2026-07-31T13:40Z", Some(Zone::Given)),
            ("2026-07-31T13:40:00+05:00", Some(Zone::Given)),
            ("2026-07-31T13:40:00+0500", Some(Zone::Given)),
            ("2026-07-31T13:40:00-05", Some(Zone::Given)),
            ("2026-07-31 13:40:00Z", Some(Zone::Given)),
            ("2026-07-31T13:40:00", Some(Zone::Missing)),
            ("2026-07-31T13:40:00.123456", Some(Zone::Missing)),
            ("2026-07-31T13:40", Some(Zone::Missing)),
            ("2026-07-31 13:40:00", Some(Zone::Missing)),
            ("2026-07-31", Some(Zone::Missing)),
            ("2026-02-30", None),
            ("2026-02-30T00:00:00Z", None),
            ("31.07.2026", None),
            ("1714000000", None),
            ("<iso8601>", None),
            ("", None),
        ] {
            assert_eq!(Zone::of(text), zone, "{text}");
        }
    }
}
