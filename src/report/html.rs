//! A [`Run`] as a page. Everything that comes from the run goes through [`text`] on its way into it.

use std::fmt::{Display, Write};

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::Run;
use super::history::{Event, What};
use super::timeline::{Scale, class};
use crate::agent::attempt::MOST_ATTEMPTS;
use crate::agent::handoff::Latest;
use crate::kind::StateKind;
use crate::recovery::{Action, Reason};
use crate::status::{Mark, PhaseView};
use crate::text::one_line;
use crate::time::{self, date_and_time};
use crate::validate::Severity;

const STYLE: &str = include_str!("style.css");

/// So many events are shown, the latest; a log may have any number.
const MOST_EVENTS: usize = 400;

/// So many outputs of one phase are shown.
const MOST_OUTPUTS: usize = 200;

/// The page of a run.
pub fn page(run: &Run) -> String {
    let name = run.view.name.as_deref().unwrap_or("Unnamed run");
    let status = status(run);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n",
        base64(&Sha256::digest(STYLE)),
        text(name),
        text(&status),
    );
    let sections: Vec<(&str, &str, String)> = [
        ("phases", "Phases", phases(run)),
        ("retries", "Retries", loops(run)),
        ("handoffs", "Handoffs", handoffs(run)),
        ("history", "History", history(&run.events)),
        ("findings", "Findings", findings(run)),
    ]
    .into_iter()
    .filter(|(_, _, content)| !content.is_empty())
    .collect();
    page.push_str(&header(run, name, &status, &sections));
    for (id, title, content) in &sections {
        let _ = write!(
            page,
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{content}</section>\n"
        );
    }
    let rev = run
        .view
        .assessment
        .rev
        .as_deref()
        .map_or(String::new(), |rev| format!(" of revision <code>{}</code>", text(rev)));
    let _ = write!(
        page,
        "</main>\n<footer><p>What pipestate {} saw at {}{rev}. This page asks for nothing and changes nothing.</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        moment(run.clock.now),
    );
    page
}

/// Name, what to do, and the facts.
fn header(run: &Run, name: &str, status: &str, sections: &[(&str, &str, String)]) -> String {
    let assessment = &run.view.assessment;
    let decision = &assessment.decision;
    let kicker = match (assessment.kind, &run.view.run) {
        (Some(StateKind::Agent), Some(task)) => format!("Agent {}", text(task)),
        (Some(StateKind::Agent), None) => "Agent task".into(),
        (Some(StateKind::Pipeline), Some(run)) => format!("Pipeline {}", text(run)),
        (Some(StateKind::Pipeline), None) => "Pipeline run".into(),
        (None, _) => "Neither a pipeline's state nor an agent's".into(),
    };
    let (tone, head) = match decision.action {
        Action::Refuse => ("busy", "A run is at work: start no other"),
        Action::Ask => ("bad", "It has crashed: ask what to do"),
        Action::Skip => ("good", "It is done"),
        Action::Stop => ("bad", "It has stopped: a human decides"),
        Action::Escalate => ("bad", "The file is damaged: call a human"),
    };
    let age = decision.age.map_or(String::new(), |age| format!(", active {} ago", time::told(age)));
    let mut html = format!(
        "<header>\n<p class=\"kicker\">{kicker}</p>\n<h1>{}</h1>\n<p class=\"path\">{}</p>\n</header>\n\
         <section class=\"verdict {tone}\" aria-label=\"Decision\">\n<p class=\"head\"><strong>{head}</strong> <span class=\"soft\">({}{age})</span></p>\n",
        text(name),
        text(&assessment.path.to_string_lossy()),
        text(status),
    );
    if let Some(halt) = &run.halt {
        let (phase, cause) = match halt.split_once(':') {
            Some((phase, cause)) => (format!(" in phase {}", text(phase)), cause),
            None => (String::new(), halt.as_str()),
        };
        let _ = writeln!(html, "<p>Halted{phase}: <strong>{}</strong></p>", text(cause.trim()));
    }
    html.push_str("<ul>\n");
    let is_new = |reason: &&Reason| run.halt.is_none() || reason.code != "halt-reason";
    for reason in decision.reasons.iter().filter(is_new) {
        let at = reason
            .pointer
            .as_ref()
            .map_or(String::new(), |pointer| format!("<code>{}</code> ", text(pointer)));
        let _ = writeln!(html, "<li>{at}{}</li>", text(&reason.message));
    }
    html.push_str("</ul>\n");
    if !decision.choices.is_empty() {
        let choices: Vec<&str> = decision.choices.iter().map(|choice| choice.word()).collect();
        let _ = writeln!(html, "<p class=\"soft\">Choices: {}</p>", choices.join(", "));
    }
    if decision.action == Action::Escalate {
        html.push_str("<p class=\"soft\"><code>pipestate doctor</code> explains it, and proposes a repaired copy.</p>\n");
    }
    html.push_str("</section>\n");
    html.push_str(&facts(run));
    let links: String =
        sections.iter().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>")).collect();
    let _ = writeln!(html, "<nav aria-label=\"Sections\"><ul>{links}</ul></nav>");
    html
}

fn facts(run: &Run) -> String {
    let mut facts: Vec<(&str, String)> = Vec::new();
    let active = run.view.assessment.decision.last_active.as_ref().map(|activity| activity.at);
    let spans = run.spans.iter().flatten().flat_map(|span| [Some(span.start), span.end]);
    let times: Vec<_> = run.events.iter().map(|event| event.at).chain(spans).flatten().collect();
    if let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) {
        facts.push(("Started", moment(*first)));
        let (what, until) = match run.view.assessment.decision.action {
            Action::Refuse => ("Running for", run.clock.now),
            _ => ("Took", *last),
        };
        facts.push((what, time::told(time::between(*first, until))));
    }
    facts.extend(active.map(|active| ("Last active", moment(active))));
    let phases = &run.view.phases;
    if !phases.is_empty() {
        let done = phases.iter().filter(|phase| phase.mark == Mark::Done).count();
        facts.push(("Phases done", format!("{done} of {}", phases.len())));
    }
    let in_loops: u64 = run.loops.iter().map(|(_, attempts)| attempts.len().saturating_sub(1) as u64).sum();
    let retries = in_loops + run.retries.iter().flatten().sum::<u64>();
    let halts = run.events.iter().filter(|event| event.what == What::Halt).count();
    facts.extend((retries > 0).then(|| ("Retries", retries.to_string())));
    facts.extend((halts > 0).then(|| ("Halts", halts.to_string())));
    let mut html = String::from("<dl class=\"facts\">\n");
    for (name, value) in facts {
        let _ = writeln!(html, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    for (name, value) in &run.facts {
        let long = if value.len() > 18 { " class=\"long\"" } else { "" };
        let _ = writeln!(html, "<div{long}><dt>{name}</dt><dd>{}</dd></div>", text(value));
    }
    html + "</dl>\n"
}

/// The phases as rows of a timeline, or as a list where nothing tells when they were.
fn phases(run: &Run) -> String {
    let phases = &run.view.phases;
    if phases.is_empty() {
        return String::new();
    }
    let scale = Scale::over(&run.spans, &run.events, run.clock.now);
    let mut html = format!("<ol class=\"phases{}\">\n", if scale.is_some() { "" } else { " plain" });
    if let Some(scale) = &scale {
        let axis = scale.axis(&run.events);
        let _ = writeln!(
            html,
            "<li class=\"scale\" aria-hidden=\"true\"><span>Times are UTC</span><div>{axis}</div><span></span></li>"
        );
    }
    for (index, phase) in phases.iter().enumerate() {
        html.push_str(&self::phase(run, index, phase, scale.as_ref()));
    }
    html.push_str("</ol>\n");
    html.push_str(&if scale.is_some() { key(run) } else { String::new() });
    html
}

/// What the colours and signs of the timeline mean that do not say so themselves.
fn key(run: &Run) -> String {
    const DIAMOND: &str = "M0-5 5 0 0 5-5 0z";
    const SQUARE: &str = "M-5-4H5V4H-5z";
    let shown = |what| run.events.iter().any(|event| event.what == what && event.at.is_some());
    let key: String = [
        ("halt", DIAMOND, "halt", shown(What::Halt)),
        ("resume", DIAMOND, "resumed", shown(What::Resume)),
        ("tier", DIAMOND, "another tier", shown(What::Tier)),
        ("cut", SQUARE, "begun again later", run.spans.iter().any(|spans| spans.len() > 1)),
    ]
    .into_iter()
    .filter(|(_, _, _, is_shown)| *is_shown)
    .map(|(class, shape, label, _)| {
        format!("<li><svg viewBox=\"-6 -6 12 12\" aria-hidden=\"true\"><path class=\"{class}\" d=\"{shape}\"/></svg>{label}</li>")
    })
    .collect();
    if key.is_empty() { key } else { format!("<ul class=\"key\" aria-hidden=\"true\">{key}</ul>\n") }
}
fn phase(run: &Run, index: usize, phase: &PhaseView, scale: Option<&Scale>) -> String {
    let (tone, word) = look(phase.mark);
    let spans = &run.spans[index];
    let named = phase.name.as_deref().or_else(|| name_in_handoffs(run, &phase.key));
    let is_number = phase.key.bytes().all(|byte| byte.is_ascii_digit());
    let name = match named {
        Some(name) => format!("{} {}", text(&phase.key), text(name)),
        None if is_number => format!("Phase {}", phase.key),
        None => text(&phase.key),
    };
    let mut under = vec![format!("<b>{}</b>", phase.status.as_deref().map_or_else(|| word.to_owned(), text))];
    under.extend(phase.agent.as_deref().map(text));
    under.extend(phase.sub_step.as_deref().map(|step| format!("at {}", text(step))));
    if let Some(count) = run.retries[index] {
        under.push(format!("{count} {}", if count == 1 { "retry" } else { "retries" }));
    }
    if phase.is_current {
        under.push("current".into());
    }
    let open = |end: Option<DateTime<Utc>>| end.or((phase.mark == Mark::Running).then_some(run.clock.now));
    let worked =
        spans.iter().filter_map(|span| Some(time::between(span.start, open(span.end)?))).reduce(|a, b| a + b);
    let took = phase.duration.or(worked).map_or(String::new(), time::told);
    let current = if phase.is_current { " class=\"current\" aria-current=\"step\"" } else { "" };
    let mut html = format!(
        "<li{current}><div class=\"{tone}\"><h3><span class=\"mark\" aria-hidden=\"true\">{}</span>{name}</h3><p class=\"under\">{}</p></div>",
        phase.mark.sign().replace('.', "·"),
        under.join(" · "),
    );
    if let Some(scale) = scale {
        let end = |end: Option<_>| end.map_or_else(|| "now".to_owned(), |end| Plain(end).to_string());
        let said: Vec<String> =
            spans.iter().map(|span| format!("{} to {}", Plain(span.start), end(span.end))).collect();
        let said = said.join(", then ");
        let said = if said.is_empty() {
            said
        } else {
            format!(" role=\"img\" aria-label=\"{said}\" title=\"{said}\"")
        };
        let _ = write!(html, "<div{said}>{}</div>", scale.row(spans, phase.mark, run.clock.now));
    }
    let _ = write!(html, "<p class=\"took\">{took}</p>");
    if phase.error.is_some() || !phase.outputs.is_empty() {
        html.push_str("<div class=\"more\">");
        if let Some(error) = &phase.error {
            let _ = write!(html, "<p class=\"wrong\">{}</p>", text(error));
        }
        html.push_str(&outputs(&phase.outputs));
        html.push_str("</div>");
    }
    html + "</li>\n"
}

/// What a handoff calls a phase that has only a number in the document.
fn name_in_handoffs<'a>(run: &'a Run, key: &str) -> Option<&'a str> {
    run.handoffs.iter().find_map(|handoff| match handoff {
        Latest::Handoff { phase: Some(phase), name, .. } if phase.to_string() == key => name.as_deref(),
        _ => None,
    })
}

fn outputs(outputs: &[String]) -> String {
    if outputs.is_empty() {
        return String::new();
    }
    let items: String = outputs
        .iter()
        .take(MOST_OUTPUTS)
        .map(|output| format!("<li><code>{}</code></li>", text(output)))
        .collect();
    let left = outputs.len().saturating_sub(MOST_OUTPUTS);
    let more = if left > 0 { format!("<li>and {left} more</li>") } else { String::new() };
    format!("<ul class=\"files\" aria-label=\"Outputs\">{items}{more}</ul>")
}

fn loops(run: &Run) -> String {
    if run.loops.is_empty() {
        return String::new();
    }
    let mut html = String::from("<div class=\"cards\">\n");
    for (name, attempts) in &run.loops {
        let made = attempts.len();
        let tone = if made >= MOST_ATTEMPTS { "bad" } else { "none" };
        let _ = write!(
            html,
            "<article class=\"card\"><h3>{} <span class=\"tag {tone}\">{made} of {MOST_ATTEMPTS} attempts</span></h3><ol class=\"tries\">",
            text(name)
        );
        for (index, reflection) in attempts.iter().enumerate() {
            let why = reflection.as_deref().map_or_else(|| "the first try".into(), text);
            let _ = write!(html, "<li><span class=\"soft\">{}.</span> {why}</li>", index + 1);
        }
        html.push_str("</ol></article>\n");
    }
    html + "</div>\n"
}

fn handoffs(run: &Run) -> String {
    if run.handoffs.is_empty() {
        return String::new();
    }
    let mut html = String::from("<div class=\"cards\">\n");
    for (index, handoff) in run.handoffs.iter().enumerate() {
        let Latest::Handoff { phase, name, at, done, remaining, decisions, open_findings, next, .. } =
            handoff
        else {
            continue;
        };
        let phase = phase.map_or_else(|| "End of a phase".into(), |phase| format!("End of phase {phase}"));
        let name = name.as_deref().map_or(String::new(), |name| format!(" ({})", text(name)));
        let latest = if index == 0 { " <span class=\"tag calm\">latest</span>" } else { "" };
        let at = at.as_deref().map_or(String::new(), |at| {
            let at = crate::time::Moment::parse(at).map_or_else(|| text(at), |read| moment(read.at));
            format!("<p class=\"soft\">{at}</p>")
        });
        let _ = write!(html, "<article class=\"card\"><h3>{phase}{name}{latest}</h3>{at}<dl>");
        let next: Vec<String> = next.iter().cloned().collect();
        let lists = [
            ("Done", done),
            ("Remaining", remaining),
            ("Decisions", decisions),
            ("Open findings", open_findings),
            ("Next", &next),
        ];
        for (label, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            let items: String = list.iter().map(|item| format!("<li>{}</li>", text(item))).collect();
            let _ = write!(html, "<dt>{label}</dt><dd><ul>{items}</ul></dd>");
        }
        html.push_str("</dl></article>\n");
    }
    html + "</div>\n"
}

fn history(events: &[Event]) -> String {
    if events.is_empty() {
        return String::new();
    }
    let left_out = events.len().saturating_sub(MOST_EVENTS);
    let mut html = String::new();
    if left_out > 0 {
        let _ = writeln!(html, "<p class=\"soft\">The first {left_out} events are left out.</p>");
    }
    html.push_str("<ol class=\"rows\">\n");
    for event in &events[left_out..] {
        let tone = match event.what {
            What::Halt => "bad",
            What::Retry => "busy",
            What::Resume | What::End => "good",
            What::Tier | What::Start => "calm",
            What::Phase | What::Note => "none",
        };
        let at = event.at.map_or(String::new(), moment);
        let _ = writeln!(
            html,
            "<li><span>{at}</span><span><span class=\"tag {tone}\">{}</span></span><span>{}</span></li>",
            event.what.word(),
            text(&event.text)
        );
    }
    html + "</ol>\n"
}

fn findings(run: &Run) -> String {
    if run.findings.is_empty() {
        return "<p>The validator has nothing to say: the state is safe to resume from.</p>\n".into();
    }
    let mut html = String::from("<ul class=\"rows findings\">\n");
    for finding in &run.findings {
        let tone = match finding.severity {
            Severity::Error => "bad",
            Severity::Warning => "busy",
            Severity::Advice => "calm",
            Severity::Info => "none",
        };
        let at = if finding.pointer.is_empty() {
            String::new()
        } else {
            format!("<code>{}</code> ", text(&finding.pointer))
        };
        let _ = writeln!(
            html,
            "<li><span><span class=\"tag {tone}\">{}</span></span><span>{at}{}</span></li>",
            finding.severity.word(),
            text(&finding.message)
        );
    }
    html + "</ul>\n"
}

fn status(run: &Run) -> String {
    match &run.view.assessment.decision.status {
        Some(status) => status.clone(),
        None if run.view.assessment.decision.action == Action::Escalate => "damaged".into(),
        None => "no status".into(),
    }
}

/// The tone of a mark, and its word.
fn look(mark: Mark) -> (&'static str, &'static str) {
    let tone = match mark {
        Mark::Done => "good",
        Mark::Running => "busy",
        Mark::Failed => "bad",
        Mark::Pending | Mark::Skipped | Mark::Unknown => "none",
    };
    (tone, class(mark))
}

/// An instant for people and for programs.
fn moment(at: DateTime<Utc>) -> String {
    let (date, time) = date_and_time(at);
    format!("<time datetime=\"{date}T{time}Z\">{}</time>", Plain(at))
}

struct Plain(DateTime<Utc>);

impl Display for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (date, time) = date_and_time(self.0);
        write!(f, "{date} {}", &time[..5])
    }
}

/// Text of the run as it may stand in the page, in an element or in a quoted attribute: on one line, turning nothing, and
/// nothing of it markup.
fn text(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = (group >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[value]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_run_is_no_markup() {
        assert_eq!(
            text("<b>\"it's\"</b> & \u{202e}x\n"),
            "&lt;b&gt;&quot;it&#39;s&quot;&lt;/b&gt; &amp; \\u{202e}x\\n"
        );
    }

    #[test]
    fn the_hash_of_the_style_sheet_is_written_as_policies_have_it() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
