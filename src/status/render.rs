//! A [`View`] in lines of at most 80 columns.
//!
//! ```text
//! checkout-flow                                   running, active 12m ago: refuse
//! pipeline, run 2f9c1a7e-1c1f-4b7e-9c55-0d5c4c1e7b10
//! .superpipelines/temp/checkout-flow/2f9c1a7e/pipeline-state.json
//!   active 12m ago by mtime: a run is at work, start no other
//!
//!   ✓ 0 plan       planner       3m  docs/plan.md, docs/tasks.md
//! > ▸ 1 implement  implementer  12m
//!   . 2 review     reviewer
//! ```

use super::{Mark, PhaseView, View};
use crate::recovery::{Action, Decision};
use crate::text::{cut_end, cut_start, one_line, pad, width, wrap};
use crate::time;

/// How wide a view may be.
pub const COLUMNS: usize = 80;

/// The widest that a phase's name and its agent may be, so that there is room for what it made.
const NAME_COLUMNS: usize = 22;
const AGENT_COLUMNS: usize = 16;
const KEY_COLUMNS: usize = 6;

/// How a piece of a line is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As it is.
    Plain,
    /// What a reader looks for first.
    Strong,
    /// What matters least.
    Faint,
    /// It went well.
    Good,
    /// It is going on.
    Busy,
    /// It went wrong.
    Bad,
}

impl Style {
    /// The terminal's code for it.
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "0",
            Style::Strong => "1",
            Style::Faint => "2",
            Style::Good => "32",
            Style::Busy => "33",
            Style::Bad => "31",
        }
    }

    fn of_mark(mark: Mark) -> Style {
        match mark {
            Mark::Done => Style::Good,
            Mark::Running => Style::Busy,
            Mark::Pending | Mark::Skipped => Style::Faint,
            Mark::Failed => Style::Bad,
            Mark::Unknown => Style::Plain,
        }
    }

    fn of_action(action: Action) -> Style {
        match action {
            Action::Skip => Style::Good,
            Action::Refuse => Style::Busy,
            Action::Ask | Action::Stop | Action::Escalate => Style::Bad,
        }
    }
}

/// One line: pieces with their looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(Vec<(Style, String)>);

impl Line {
    fn of(style: Style, text: impl Into<String>) -> Line {
        Line::default().and(style, text)
    }

    fn and(mut self, style: Style, text: impl Into<String>) -> Line {
        self.0.push((style, text.into()));
        self
    }

    /// The line as text, with the terminal's codes where `colour` is wanted. No blanks at its end.
    pub fn text(&self, colour: bool) -> String {
        let mut text = String::new();
        for (style, piece) in &self.0 {
            if colour && *style != Style::Plain && !piece.trim().is_empty() {
                text.push_str(&format!("\u{1b}[{}m{piece}\u{1b}[0m", style.code()));
            } else {
                text.push_str(piece);
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// The whole view.
pub fn lines(view: &View) -> Vec<Line> {
    let mut lines = vec![summary(view)];
    let kind = match (view.assessment.kind, view.assessment.decision.action) {
        (Some(kind), _) => kind.word(),
        (None, Action::Escalate) => "not to be read",
        (None, _) => "neither a pipeline's state nor an agent's",
    };
    let run = view.run.as_ref().map_or(String::new(), |run| format!(", {}", one_line(run)));
    lines.push(Line::of(Style::Plain, cut_end(&format!("{kind}{run}"), COLUMNS)));
    let path = one_line(&view.assessment.path.to_string_lossy());
    lines.push(Line::of(Style::Faint, cut_start(&path, COLUMNS)));
    lines.extend(reasons(&view.assessment.decision));
    if !view.phases.is_empty() {
        lines.push(Line::default());
        lines.extend(phases(&view.phases));
    }
    lines
}

/// The view's first line: name, status, age and decision.
pub fn summary(view: &View) -> Line {
    let decision = &view.assessment.decision;
    let age = decision.age.map_or(String::new(), |age| format!(", active {} ago", time::told(age)));
    let status = match &decision.status {
        Some(status) => cut_end(&one_line(status), AGENT_COLUMNS),
        None => "no status".to_owned(),
    };
    let action = decision.action.word();
    let about = format!("{status}{age}: ");
    let room = COLUMNS - 2 - width(&about) - width(action);
    let name = view.name.as_deref().unwrap_or("(no name)");
    let name = pad(&cut_end(&one_line(name), room), room);
    Line::of(Style::Strong, name)
        .and(Style::Plain, format!("  {about}"))
        .and(Style::of_action(decision.action), action)
}

/// Why, and what there is to choose.
fn reasons(decision: &Decision) -> Vec<Line> {
    let mut texts: Vec<String> = Vec::new();
    for reason in &decision.reasons {
        let about = reason.pointer.as_ref().map_or(String::new(), |pointer| format!("{pointer}: "));
        texts.push(format!("{about}{}", reason.message));
    }
    if !decision.choices.is_empty() {
        let choices: Vec<&str> = decision.choices.iter().map(|choice| choice.word()).collect();
        texts.push(format!("choices: {}", choices.join(", ")));
    }
    let indented = |text: String| {
        let lines = wrap(&one_line(&text), COLUMNS - 4).into_iter().enumerate();
        lines.map(|(index, line)| {
            Line::of(Style::Plain, format!("{}{line}", if index == 0 { "  " } else { "    " }))
        })
    };
    texts.into_iter().flat_map(indented).collect()
}

/// A line a phase: cursor, mark, key, name, agent, duration, and what there is to tell. Columns that no phase fills are
/// left out.
fn phases(phases: &[PhaseView]) -> Vec<Line> {
    // A phase that is known by its key alone is called by it.
    let is_keyed = phases.iter().any(|phase| phase.name.is_some());
    let keys: Vec<String> = phases.iter().map(|phase| one_line(&phase.key)).collect();
    let (keys, names): (Vec<String>, Vec<String>) = if is_keyed {
        (keys, phases.iter().map(|phase| one_line(phase.name.as_deref().unwrap_or(""))).collect())
    } else {
        (vec![String::new(); phases.len()], keys)
    };
    let agents: Vec<String> =
        phases.iter().map(|phase| one_line(phase.agent.as_deref().unwrap_or(""))).collect();
    let durations: Vec<String> =
        phases.iter().map(|phase| phase.duration.map_or(String::new(), time::told)).collect();
    let keys = column(&keys, KEY_COLUMNS, " ");
    let names = column(&names, NAME_COLUMNS, "  ");
    let agents = column(&agents, AGENT_COLUMNS, "  ");
    let durations = column(&durations, KEY_COLUMNS, "  ");
    let line = |(index, phase): (usize, &PhaseView)| {
        let head = if phase.is_current { "> " } else { "  " };
        let left = [&names[index], &agents[index], &durations[index]].map(String::as_str).concat();
        let room = COLUMNS - width(head) - 2 - width(&keys[index]) - width(&left);
        let style = Style::of_mark(phase.mark);
        let (rest, rest_style) = rest(phase, room);
        Line::of(Style::Strong, head)
            .and(style, phase.mark.sign())
            .and(Style::Plain, format!(" {}{left}", keys[index]))
            .and(rest_style, rest)
    };
    phases.iter().enumerate().map(line).collect()
}

/// A column of a table: every cell as wide as the widest, but for what is cut, and the gap behind it; nothing where
/// all cells are empty.
fn column(cells: &[String], most: usize, gap: &str) -> Vec<String> {
    let columns = cells.iter().map(|cell| width(cell)).max().unwrap_or(0).min(most);
    let gap = if columns == 0 { "" } else { gap };
    cells.iter().map(|cell| pad(&cut_end(cell, columns), columns) + gap).collect()
}

/// What else there is to tell of a phase in so many columns: an unknown status, what went wrong, how far it is, what
/// it made.
fn rest(phase: &PhaseView, room: usize) -> (String, Style) {
    let unknown = phase.status.as_deref().filter(|_| phase.mark == Mark::Unknown).map(one_line);
    let error = phase.error.as_deref().map(one_line);
    let sub_step = phase.sub_step.as_deref().map(|step| format!("at {}", one_line(step)));
    let style = if error.is_some() { Style::Bad } else { Style::Plain };
    let said: Vec<String> = [unknown, error, sub_step].into_iter().flatten().collect();
    if said.is_empty() {
        return (files(&phase.outputs, room), style);
    }
    let said = said.join("; ");
    let left = room.saturating_sub(width(&said) + 2);
    let files = files(&phase.outputs, left);
    if files.is_empty() { (cut_end(&said, room), style) } else { (format!("{said}; {files}"), style) }
}

/// As many of the files as there is room for, and how many more there are; of one that is too long its end.
fn files(files: &[String], room: usize) -> String {
    let more = |count: usize| if count == 0 { String::new() } else { format!(" +{count}") };
    let Some(first) = files.first() else { return String::new() };
    let first = one_line(first);
    let rest = more(files.len() - 1);
    if width(&first) + width(&rest) > room {
        // Less than this says nothing.
        const FEWEST: usize = 8;
        let columns = room.saturating_sub(width(&rest));
        return if columns < FEWEST { String::new() } else { cut_start(&first, columns) + &rest };
    }
    let mut shown = first;
    for (index, file) in files.iter().enumerate().skip(1) {
        let longer = format!("{shown}, {}", one_line(file));
        if width(&longer) + width(&more(files.len() - index - 1)) > room {
            return shown + &more(files.len() - index);
        }
        shown = longer;
    }
    shown
}
