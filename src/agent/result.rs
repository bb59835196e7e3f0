//! What a sub-agent gives back (S7): `{"status", "findings", "files_changed", "blocking"}`, and the ways in which models
//! get that wrong, each named.

use serde::Serialize;

use crate::document::{Document, Kind, Value, drop_bom};
use crate::inside;
use crate::text::quoted;
use crate::validate::Finding;

/// The words that a result's status can be; 003… has the first.
pub const STATUS_WORDS: [&str; 4] = ["complete", "partial", "blocked", "failed"];

/// In prose so many places are tried where a document could begin.
const MOST_BEGINNINGS: usize = 1000;

/// What a check came to.
#[derive(Debug)]
pub struct Checked {
    /// The JSON of the result as it stood there; `None` when there was none.
    pub text: Option<Vec<u8>>,
    /// How it was handed over: prose around it, a code fence, nothing at all.
    pub wrapping: Vec<Finding>,
    /// What is wrong with the result itself.
    pub findings: Vec<Finding>,
    /// The values, where they are what they should be.
    pub result: Read,
}

/// A result as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Read {
    /// `status`.
    pub status: Option<String>,
    /// How many `findings`.
    pub findings: Option<usize>,
    /// `files_changed`.
    pub files_changed: Option<Vec<String>>,
    /// `blocking`.
    pub blocking: Option<bool>,
}

impl Checked {
    /// Whether the result is as it should be, and nothing but it was handed over.
    pub fn is_ok(&self) -> bool {
        self.wrapping.is_empty() && self.is_good_inside()
    }

    /// Whether the result is as it should be, whatever stood around it.
    pub fn is_good_inside(&self) -> bool {
        self.text.is_some() && self.findings.iter().all(|finding| finding.severity.word() != "error")
    }

    /// Everything that was found.
    pub fn all_findings(&self) -> Vec<Finding> {
        self.wrapping.iter().chain(&self.findings).cloned().collect()
    }
}

/// Checks what a sub-agent gave back.
pub fn check(text: Vec<u8>) -> Checked {
    let text = drop_bom(text);
    if text.iter().all(u8::is_ascii_whitespace) {
        let nothing = Finding::error("result-empty", "", "the sub-agent gave nothing back");
        return Checked {
            text: None,
            wrapping: vec![nothing],
            findings: Vec::new(),
            result: Read::default(),
        };
    }
    match Document::parse(text.clone()) {
        Ok(document) => judged(&document, Vec::new()),
        Err(fault) => match inside_prose(&text) {
            Some((document, wrapping)) => judged(&document, wrapping),
            None => {
                let message = format!("it is no JSON, and has none in it: {fault}");
                let none = Finding::error("result-not-json", "", message);
                Checked { text: None, wrapping: vec![none], findings: Vec::new(), result: Read::default() }
            }
        },
    }
}

fn judged(document: &Document, wrapping: Vec<Finding>) -> Checked {
    let mut findings = Vec::new();
    let root = document.root();
    let result = if root.kind() == Kind::Object {
        read(root, &mut findings)
    } else {
        let message = format!("it is {}, and a result is an object", root.kind().described());
        findings.push(Finding::error("result-not-an-object", "", message));
        Read::default()
    };
    Checked { text: Some(root.raw().to_vec()), wrapping, findings, result }
}

/// The four values; each that is not what it should be is a finding.
fn read(root: Value<'_>, findings: &mut Vec<Finding>) -> Read {
    let mut wrong =
        |code, pointer: &str, message: String| findings.push(Finding::error(code, pointer, message));
    let mut get = |key: &str, kind: Kind| {
        let pointer = format!("/{key}");
        match root.get(key) {
            None => wrong("result-key-missing", &pointer, format!("{key} is missing")),
            Some(value) if value.kind() != kind => wrong(
                "result-wrong-type",
                &pointer,
                format!("{key} is {}, and not {}", value.kind().described(), kind.described()),
            ),
            Some(value) => return Some(value),
        }
        None
    };
    let status = get("status", Kind::String).and_then(Value::as_str).map(String::from);
    let list = get("findings", Kind::Array);
    let files = get("files_changed", Kind::Array);
    let blocking = get("blocking", Kind::Bool).and_then(Value::as_bool);
    if let Some(word) = status.as_deref().filter(|word| !STATUS_WORDS.contains(word)) {
        let message = format!("status is {}, and none of {}", quoted(word), STATUS_WORDS.join(", "));
        wrong("result-status-unknown", "/status", message);
    }
    for (index, file) in files.into_iter().flat_map(Value::elements).enumerate() {
        let pointer = format!("/files_changed/{index}");
        match file.as_str() {
            None => wrong(
                "result-wrong-type",
                &pointer,
                format!("a changed file is {}, and not a string", file.kind().described()),
            ),
            Some(path) => {
                if let Err(why) = inside::relative(&path) {
                    wrong(
                        "result-path",
                        &pointer,
                        format!("{} is no file of the worktree: {why}", quoted(&path)),
                    );
                }
            }
        }
    }
    let texts = |list: Value<'_>| list.elements().filter_map(Value::as_str).map(String::from).collect();
    Read {
        status,
        findings: list.map(|list| list.elements().count()),
        files_changed: files.map(texts),
        blocking,
    }
}

/// The result in prose: the last object with a status, because a model ends with its answer; else the longest object.
fn inside_prose(text: &[u8]) -> Option<(Document, Vec<Finding>)> {
    let objects = objects_in(text);
    let has_status = |object: &&(usize, Document)| object.1.root().get("status").is_some();
    let best = objects
        .iter()
        .rev()
        .find(has_status)
        .or_else(|| objects.iter().max_by_key(|(_, document)| document.text().len()))?;
    let (start, document) = best;
    let before = text[..*start].trim_ascii();
    let after = text[start + document.text().len()..].trim_ascii();
    let mut wrapping = Vec::new();
    let fence = ["```json", "```JSON", "```"].iter().find_map(|fence| before.strip_suffix(fence.as_bytes()));
    let (before, after) = match fence {
        Some(before) => {
            let message = "the JSON stands in a code fence; give it bare";
            wrapping.push(Finding::error("result-code-fence", "", message));
            (before.trim_ascii(), after.strip_prefix(b"```").unwrap_or(after).trim_ascii())
        }
        None => (before, after),
    };
    let what = match (before.is_empty(), after.is_empty()) {
        (true, true) => None,
        (false, true) => Some("before"),
        (true, false) => Some("after"),
        (false, false) => Some("before and after"),
    };
    let prose = what.map(|place| format!("prose stands {place} the JSON; give the JSON alone"));
    wrapping.extend(prose.map(|message| Finding::error("result-prose", "", message)));
    if objects.len() > 1 {
        let message = format!("{} objects stand there; the last with a status was taken", objects.len());
        wrapping.push(Finding::warning("result-several", "", message));
    }
    Some((document.clone(), wrapping))
}

/// The JSON objects in prose, with the places where they begin, none within another.
fn objects_in(text: &[u8]) -> Vec<(usize, Document)> {
    let mut objects = Vec::new();
    let mut at = 0;
    for _ in 0..MOST_BEGINNINGS {
        let Some(start) = text[at..].iter().position(|&byte| byte == b'{').map(|place| at + place) else {
            break;
        };
        let document = end_of_object(&text[start..])
            .and_then(|length| Document::parse(text[start..start + length].to_vec()).ok());
        at = match document {
            Some(document) => {
                let end = start + document.text().len();
                objects.push((start, document));
                end
            }
            None => start + 1,
        };
    }
    objects
}

/// Where the object that begins the text would end, by its brackets.
fn end_of_object(text: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (place, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(place + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        r#"{"status": "complete", "findings": [], "files_changed": ["a/b.rs"], "blocking": false}"#;

    fn lines(text: &str) -> Vec<String> {
        check(text.into()).all_findings().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_result_has_no_findings() {
        let checked = check(format!("{GOOD}\n").into());
        assert!(checked.is_ok());
        assert_eq!(
            checked.result,
            Read {
                status: Some("complete".into()),
                findings: Some(0),
                files_changed: Some(vec!["a/b.rs".into()]),
                blocking: Some(false)
            }
        );
    }

    #[test]
    fn the_common_slips_are_named() {
        let all = |text: &str| lines(text).join("\n");
        assert_eq!(all(""), "error: the sub-agent gave nothing back [result-empty]");
        assert_eq!(all("[]"), "error: it is an array, and a result is an object [result-not-an-object]");
        assert_eq!(
            all(&format!("Here it is:\n```json\n{GOOD}\n```\n")),
            "error: the JSON stands in a code fence; give it bare [result-code-fence]\n\
             error: prose stands before the JSON; give the JSON alone [result-prose]"
        );
        assert_eq!(
            all(&format!("```\n{GOOD}\n```")),
            "error: the JSON stands in a code fence; give it bare [result-code-fence]"
        );
        assert_eq!(
            all(&format!("All {{done}}! {GOOD} Bye.")),
            "error: prose stands before and after the JSON; give the JSON alone [result-prose]"
        );
        assert_eq!(
            all(r#"{"status":"success","findings":"none","files_changed":[1,"../x"],"blocking":"false"}"#),
            "error /findings: findings is a string, and not an array [result-wrong-type]\n\
             error /blocking: blocking is a string, and not a boolean [result-wrong-type]\n\
             error /status: status is \"success\", and none of complete, partial, blocked, failed [result-status-unknown]\n\
             error /files_changed/0: a changed file is a number, and not a string [result-wrong-type]\n\
             error /files_changed/1: \"../x\" is no file of the worktree: it has `..` in it, which may lead out [result-path]"
        );
        assert_eq!(
            all("{}"),
            "error /status: status is missing [result-key-missing]\n\
             error /findings: findings is missing [result-key-missing]\n\
             error /files_changed: files_changed is missing [result-key-missing]\n\
             error /blocking: blocking is missing [result-key-missing]"
        );
        assert!(all("I am done.").starts_with("error: it is no JSON, and has none in it: "));
    }

    #[test]
    fn of_several_objects_the_last_with_a_status_is_the_result() {
        let text = format!(r#"I read {{"a": {{"status": 1}}}} and found "}}" odd. {GOOD} As in {{"b":2}}."#);
        let checked = check(text.into());
        assert_eq!(checked.text.as_deref(), Some(GOOD.as_bytes()));
        assert!(checked.is_good_inside() && !checked.is_ok());
    }
}
