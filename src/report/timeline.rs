//! The time that a run took, as a scale with marks on it. Positions are per cent, in SVG attributes: a style attribute would
//! be against the page's own policy.

use std::fmt::Write;

use chrono::{DateTime, Datelike, Utc};

use super::history::{Event, Span, What};
use crate::status::Mark;
use crate::time::date_and_time;

/// From when to when, and where the scale has its marks.
pub struct Scale {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    step: i64,
}

/// Steps between marks, in seconds: minutes, hours, days.
const STEPS: [i64; 20] = [
    1, 5, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800,
    604_800, 2_419_200, 7_257_600,
];
/// As many marks at most.
const MOST_MARKS: i64 = 6;

impl Scale {
    /// The scale over these spans and events; `None` when they take no time. What is open goes on until `now`.
    pub fn over(spans: &[Vec<Span>], events: &[Event], now: DateTime<Utc>) -> Option<Scale> {
        let spans = spans.iter().flatten();
        let times = spans.clone().flat_map(|span| [span.start, span.end.unwrap_or(now)]);
        spans.clone().next()?;
        let times: Vec<_> =
            times.chain(events.iter().filter_map(|event| event.at)).filter(|at| *at <= now).collect();
        let (start, end) = (*times.iter().min()?, *times.iter().max()?);
        let seconds = (end - start).num_seconds();
        let step =
            STEPS.into_iter().find(|step| seconds / step < MOST_MARKS).unwrap_or(seconds / MOST_MARKS + 1);
        (seconds > 0).then_some(Scale { start, end, step })
    }

    fn per_cent(&self, at: DateTime<Utc>) -> f64 {
        let part =
            (at - self.start).num_milliseconds() as f64 / (self.end - self.start).num_milliseconds() as f64;
        (part * 100.0).clamp(0.0, 100.0)
    }

    /// The instants that have a mark.
    fn marks(&self) -> impl Iterator<Item = DateTime<Utc>> {
        let first = self.start.timestamp().div_euclid(self.step) * self.step + self.step;
        let marks = (0..).map(move |index| first + index * self.step);
        marks.take_while(|at| *at < self.end.timestamp()).filter_map(|at| DateTime::from_timestamp(at, 0))
    }

    fn grid(&self, svg: &mut String) {
        for at in self.marks() {
            let x = self.per_cent(at);
            let _ = write!(svg, r#"<line class="grid" x1="{x:.2}%" x2="{x:.2}%" y1="0" y2="100%"/>"#);
        }
    }

    /// The scale with its times, and with what stopped the run or took it up again. Decoration: the page says it in words too.
    pub fn axis(&self, events: &[Event]) -> String {
        let mut svg = String::from(r#"<svg class="axis" aria-hidden="true" focusable="false">"#);
        for at in self.marks() {
            let x = self.per_cent(at);
            let anchor = match x {
                _ if x < 2.0 => "start",
                _ if x > 98.0 => "end",
                _ => "middle",
            };
            let label = self.label(at);
            let _ = write!(svg, r#"<text x="{x:.2}%" y="11" text-anchor="{anchor}">{label}</text>"#);
        }
        let (tiers, others): (Vec<_>, Vec<_>) = events.iter().partition(|event| event.what == What::Tier);
        for event in tiers.into_iter().chain(others) {
            let (What::Halt | What::Resume | What::Tier, Some(at)) = (event.what, event.at) else { continue };
            let x = self.per_cent(at);
            let class = event.what.word();
            // A resume on another tier is both at once.
            let size = if event.what == What::Tier { 8 } else { 5 };
            let _ = write!(
                svg,
                r#"<svg x="{x:.2}%" y="21" overflow="visible"><path class="{class}" d="M0-{size} {size} 0 0 {size}-{size} 0z"/></svg>"#
            );
        }
        svg + "</svg>"
    }

    /// A time of the scale: of the day, with the date where a day begins or nothing is finer.
    fn label(&self, at: DateTime<Utc>) -> String {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (_, time) = date_and_time(at);
        match () {
            () if self.step >= 86_400 || time == "00:00:00" => {
                format!("{} {}", at.day(), MONTHS[at.month0() as usize])
            }
            () if self.step < 60 => time,
            () => time[..5].to_owned(),
        }
    }

    /// The row of one phase. Decoration, as well.
    pub fn row(&self, spans: &[Span], mark: Mark, now: DateTime<Utc>) -> String {
        let mut svg = String::from(r#"<svg class="track" aria-hidden="true" focusable="false">"#);
        self.grid(&mut svg);
        let last = spans.len().saturating_sub(1);
        for (index, span) in spans.iter().enumerate() {
            // What ended before the phase was taken up again was cut short.
            let class = if index < last { "cut" } else { class(mark) };
            let from = self.per_cent(span.start);
            let width = (self.per_cent(span.end.unwrap_or(now)) - from).max(0.0);
            let _ = write!(
                svg,
                r#"<svg x="{from:.2}%" overflow="visible" width="{width:.2}%" height="100%"><rect class="{class}" width="3" y="25%" height="50%" rx="1.5"/><rect class="{class}" width="100%" y="25%" height="50%" rx="3"/></svg>"#
            );
        }
        svg + "</svg>"
    }
}

/// The name of a mark in the style sheet.
pub fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Done => "done",
        Mark::Running => "running",
        Mark::Pending => "pending",
        Mark::Failed => "failed",
        Mark::Skipped => "skipped",
        Mark::Unknown => "unknown",
    }
}
