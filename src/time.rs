//! The times that stand in states: which fields hold them, how they are read, how an age is told (R7).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};

/// The fields that tell when something happened, in both spellings (R7).
pub const TIME_FIELDS: [&str; 10] = [
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// `Z` or an offset: one instant for every reader.
    Given,
    /// None, or a date alone: taken for UTC (R7), and each other reader may take it for another instant.
    Missing,
}

/// A time of a state as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The instant.
    pub at: DateTime<Utc>,
    /// Whether the text named it or it was taken for UTC.
    pub zone: Zone,
}

impl Moment {
    /// Reads a time of ISO 8601: `T` or a blank before the time of day, with or without seconds, their fraction, the
    /// zone and the colon of its offset; or a date alone, which is its first instant. `None` when it is no such time,
    /// or a day that no calendar has.
    pub fn parse(text: &str) -> Option<Moment> {
        let (date, rest) = text.split_at_checked("2026-07-31".len())?;
        let (time, offset) = match rest.strip_prefix(['T', 't', ' ']) {
            Some(rest) => rest.split_at(rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len())),
            None if rest.is_empty() => ("00:00", ""),
            None => return None,
        };
        let time = time.trim_end();
        let seconds = if time.len() == "13:40".len() { ":00" } else { "" };
        let (zone, offset) = match offset {
            "" => (Zone::Missing, "Z".to_owned()),
            "Z" | "z" => (Zone::Given, "Z".to_owned()),
            offset => (Zone::Given, spelled_out(offset)?),
        };
        let at = DateTime::parse_from_rfc3339(&format!("{date}T{time}{seconds}{offset}")).ok()?;
        Some(Moment { at: at.to_utc(), zone })
    }
}

/// `+05:30` of that, `+0530` or `+05`.
fn spelled_out(offset: &str) -> Option<String> {
    let (hours, minutes) = offset.split_at_checked("+05".len())?;
    let minutes = match minutes.strip_prefix(':').unwrap_or(minutes) {
        "" => "00",
        minutes => minutes,
    };
    Some(format!("{hours}:{minutes}"))
}

/// Date and time of day, to the second. A pattern of chrono's would bring its interpreter, 20 kB, into every program.
pub fn date_and_time(at: DateTime<Utc>) -> (String, String) {
    let text = at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let (date, time) = text.split_once('T').unwrap_or_default();
    (date.to_owned(), time.trim_end_matches('Z').to_owned())
}

/// A file's time as an instant. What lies beyond the calendar (file systems can store it) becomes its end.
pub fn instant(time: SystemTime) -> DateTime<Utc> {
    let (seconds, nanoseconds) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
        Err(before) => (-i64::try_from(before.duration().as_secs()).unwrap_or(i64::MAX), 0),
    };
    let end = if seconds < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
    DateTime::from_timestamp(seconds, nanoseconds).unwrap_or(end)
}

/// How long `later` is after `earlier`; zero when it is before.
pub fn between(earlier: DateTime<Utc>, later: DateTime<Utc>) -> Duration {
    later.signed_duration_since(earlier).to_std().unwrap_or(Duration::ZERO)
}

const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// A duration for people, in its two largest units: `3h12m`, `45s`, `2d`; below a second `0s`.
pub fn told(duration: Duration) -> String {
    let mut rest = duration.as_secs();
    let first = UNITS.iter().position(|(_, seconds)| rest >= *seconds).unwrap_or(UNITS.len() - 1);
    let mut text = String::new();
    for (unit, seconds) in &UNITS[first..UNITS.len().min(first + 2)] {
        let count = rest / seconds;
        rest %= seconds;
        if count > 0 || text.is_empty() {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    text
}

/// Reads a duration as people write it: `1h`, `90m`, `1h30m`, `45s`, `2d`. `None` when it is none; a number needs its
/// unit.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        let count: u64 = rest[..digits].parse().ok()?;
        let after = &rest[digits..];
        let unit = after.find(|character: char| character.is_ascii_digit()).unwrap_or(after.len());
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == &after[..unit])?;
        total = total.checked_add(Duration::from_secs(count.checked_mul(*seconds)?))?;
        rest = &after[unit..];
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_zone_or_as_utc() {
        use Zone::{Given, Missing};
        for (text, read) in [
            ("2026-07-31T13:40:00Z", Some(("2026-07-31T13:40:00Z", Given))),
            ("2026-07-31T13:40:00.250Z", Some(("2026-07-31T13:40:00.250Z", Given))),
            ("2026-07-31t13:40:00z", Some(("2026-07-31T13:40:00Z", Given))),
            ("2026-07-31T13:40Z", Some(("2026-07-31T13:40:00Z", Given))),
            ("2026-07-31T13:40:00+05:00", Some(("2026-07-31T08:40:00Z", Given))),
            ("2026-07-31T13:40:00+0530", Some(("2026-07-31T08:10:00Z", Given))),
            ("2026-07-31T13:40:00-05", Some(("2026-07-31T18:40:00Z", Given))),
            ("2026-07-31 13:40:00Z", Some(("2026-07-31T13:40:00Z", Given))),
            ("2026-07-31 13:40:00 +0200", Some(("2026-07-31T11:40:00Z", Given))),
            ("2026-07-31T13:40:00", Some(("2026-07-31T13:40:00Z", Missing))),
            ("2026-07-31T13:40:00.123456", Some(("2026-07-31T13:40:00.123456Z", Missing))),
            ("2026-07-31T13:40", Some(("2026-07-31T13:40:00Z", Missing))),
            ("2026-07-31 13:40", Some(("2026-07-31T13:40:00Z", Missing))),
            ("2026-07-31", Some(("2026-07-31T00:00:00Z", Missing))),
            ("2026-02-30", None),
            ("2026-02-30T00:00:00Z", None),
            ("2026-07-31T13:40:00+5", None),
            ("2026-07-31T13", None),
            ("2026-07-31x", None),
            ("31.07.2026", None),
            ("1714000000", None),
            ("<iso8601>", None),
            ("", None),
        ] {
            let expected = read.map(|(at, zone)| Moment { at: at.parse().unwrap(), zone });
            assert_eq!(Moment::parse(text), expected, "{text}");
        }
    }

    #[test]
    #[cfg(unix)] // Windows has no such times
    fn a_file_time_beyond_the_calendar_is_its_end_and_no_panic() {
        let far = UNIX_EPOCH + Duration::from_secs(1 << 60);
        assert_eq!(instant(far), DateTime::<Utc>::MAX_UTC);
        assert_eq!(instant(UNIX_EPOCH - Duration::from_secs(1)).to_rfc3339(), "1969-12-31T23:59:59+00:00");
        assert_eq!(between(instant(far), instant(UNIX_EPOCH)), Duration::ZERO);
    }

    #[test]
    fn durations_are_told_in_two_units_and_read_back() {
        for (seconds, text) in [
            (0, "0s"),
            (45, "45s"),
            (60, "1m"),
            (61, "1m1s"),
            (3_600, "1h"),
            (3_660, "1h1m"),
            (86_400, "1d"),
            (100 * 86_400 + 7_200, "100d2h"),
        ] {
            assert_eq!(told(Duration::from_secs(seconds)), text);
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(told(Duration::from_secs(3_661)), "1h1m");
        assert_eq!(told(Duration::from_secs(86_460)), "1d");
        assert_eq!(parse_duration("90m"), Some(Duration::from_secs(5_400)));
        for no in [
            "",
            "1",
            "h",
            "1x",
            "1.5h",
            "-1h",
            " 1h",
            "1h ",
            "1hh",
            "99999999999999999999h",
            "9999999999999999d",
        ] {
            assert_eq!(parse_duration(no), None, "{no}");
        }
    }
}
