//! Laws of merging, on random documents in random layouts, against an oracle that knows nothing of text.

use pipestate::document::{Document, Kind, Value as Place, pointer_token};
use pipestate::layout::{self, ALL_LEVELS, Lines, OWN_STYLE, Style};
use pipestate::merge::{Nulls, Patch, create, merge, replace};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Few keys, so that documents and patches meet; among them indexes, almost-indexes and names with a meaning in
/// JavaScript.
const KEYS: [&str; 12] =
    ["0", "1", "2", "01", "a", "b", "phases", "é/~", "", "__proto__", "constructor", "\u{1f600}\"\\\n"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        2 => (-3_i64..4).prop_map(Value::from),
        1 => prop::sample::select(vec![1.0, 0.5, -2e300]).prop_map(Value::from),
        2 => prop::sample::select(vec!["", "done", "é\u{2028}", "]}\"\\", "\u{1f600}"]).prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => object_of(inner),
        ]
    })
}

fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((prop::sample::select(&KEYS[..]), inner), 0..5).prop_map(|members| {
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
    })
}

fn object() -> impl Strategy<Value = Value> {
    object_of(value())
}

fn nulls() -> impl Strategy<Value = Nulls> {
    prop::sample::select(vec![Nulls::Store, Nulls::Delete])
}

/// An endless supply of choices for a printer, from a finite random one.
struct Choices {
    list: Vec<u8>,
    next: usize,
}

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.next = (self.next + 1) % self.list.len();
        usize::from(self.list[self.next]) % bound
    }
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..60)
}

/// Prints values with white space wherever it may be, and characters escaped that need not be.
struct Chaos {
    choices: Choices,
    /// Whether a member is sometimes there twice, with the same value.
    repeats_members: bool,
    text: String,
}

impl Chaos {
    fn print(value: &Value, choices: Vec<u8>, repeats_members: bool) -> String {
        let choices = Choices { list: choices, next: 0 };
        let mut chaos = Chaos { choices, repeats_members, text: String::new() };
        chaos.value(value);
        chaos.text
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(elements) => self.container("[]", elements, Chaos::value),
            Value::Object(members) => {
                let mut list: Vec<_> = members.iter().collect();
                let first = self.choices.below(list.len().max(1));
                list.rotate_left(first);
                if self.repeats_members && self.choices.below(4) == 0 {
                    list.extend(list.first().copied());
                }
                self.container("{}", list, |chaos, (key, value)| {
                    chaos.string(key);
                    chaos.gap();
                    chaos.text.push(':');
                    chaos.gap();
                    chaos.value(value);
                });
            }
            Value::String(string) => self.string(string),
            scalar => self.text.push_str(&scalar.to_string()),
        }
    }

    fn container<T>(
        &mut self,
        brackets: &str,
        items: impl IntoIterator<Item = T>,
        item: impl Fn(&mut Chaos, T),
    ) {
        self.text.push_str(&brackets[..1]);
        for (place, value) in items.into_iter().enumerate() {
            self.text.push_str(if place > 0 { "," } else { "" });
            self.gap();
            item(self, value);
            self.gap();
        }
        self.gap();
        self.text.push_str(&brackets[1..]);
    }

    fn string(&mut self, string: &str) {
        self.text.push('"');
        for character in string.chars() {
            if self.choices.below(3) == 0 || matches!(character, '"' | '\\' | '\0'..' ') {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    self.text.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                self.text.push(character);
            }
        }
        self.text.push('"');
    }

    fn gap(&mut self) {
        const GAPS: [&str; 8] = ["", "", "", " ", "\n", "\r\n\t", "\n    ", "  "];
        self.text.push_str(GAPS[self.choices.below(GAPS.len())]);
    }
}

/// The M rules on values; the error is the pointer of an index that leaves a gap.
fn oracle(target: Option<&Value>, patch: &Value, nulls: Nulls, pointer: &str) -> Result<Value, String> {
    let Value::Object(patch) = patch else { return Ok(patch.clone()) };
    let below = |key: &str| format!("{pointer}/{}", pointer_token(key));
    if let Some(Value::Array(elements)) = target
        && nulls == Nulls::Store
        && let Some(mut indexes) = patch.keys().map(|key| index(key)).collect::<Option<Vec<_>>>()
    {
        indexes.sort_unstable();
        let mut elements = elements.clone();
        for index in indexes {
            let key = index.to_string();
            if index > elements.len() {
                return Err(below(&key));
            }
            let merged = oracle(elements.get(index), &patch[&key], nulls, &below(&key))?;
            elements.splice(index..elements.len().min(index + 1), [merged]);
        }
        return Ok(elements.into());
    }
    let mut members = match target {
        Some(Value::Object(members)) => members.clone(),
        _ => Map::new(),
    };
    for (key, value) in patch {
        if nulls == Nulls::Delete && value.is_null() {
            members.remove(key);
        } else {
            let merged = oracle(members.get(key), value, nulls, &below(key))?;
            members.insert(key.clone(), merged);
        }
    }
    Ok(members.into())
}

fn index(key: &str) -> Option<usize> {
    key.parse::<usize>().ok().filter(|index| index.to_string() == key)
}

fn expected(document: &Value, patch: &Value, nulls: Nulls) -> Result<Value, String> {
    oracle(Some(document), patch, nulls, "")
}

fn parse(text: &str) -> Document {
    Document::parse(text.into()).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn parse_patch(text: &str) -> Patch {
    Patch::parse(text.into(), "the patch").unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn values(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(text)))
}

/// What the patch does not name has its old bytes and its old place, and new members come behind it.
fn assert_untouched(before: Place<'_>, after: Place<'_>, patch: &Value, nulls: Nulls) {
    let Value::Object(patch) = patch else { return };
    match (before.kind(), after.kind()) {
        (Kind::Object, Kind::Object) => {
            let mut rest = after.members();
            for old in before.members() {
                let wanted = patch.get(&*old.key.to_str());
                if nulls == Nulls::Delete && wanted.is_some_and(Value::is_null) {
                    continue;
                }
                let new = rest.next().expect("a member that stays");
                assert_eq!(old.key.raw(), new.key.raw());
                match wanted {
                    None => assert_eq!(old.value.raw(), new.value.raw()),
                    Some(wanted) => assert_untouched(old.value, new.value, wanted, nulls),
                }
            }
            assert!(rest.all(|new| patch.contains_key(&*new.key.to_str())));
        }
        (Kind::Array, Kind::Array) => {
            for (index, (old, new)) in before.elements().zip(after.elements()).enumerate() {
                match patch.get(&index.to_string()) {
                    None => assert_eq!(old.raw(), new.raw()),
                    Some(wanted) => assert_untouched(old, new, wanted, nulls),
                }
            }
        }
        _ => {}
    }
}

/// Styles that whole documents are written in.
fn styles() -> Vec<Style<'static>> {
    let lines = |line_break, unit| Some(Lines { line_break, indent: b"", unit, levels: ALL_LEVELS });
    let one_line = |colon, space, padding| Style { colon, space, padding, lines: None };
    vec![
        MINIFIED,
        OWN_STYLE,
        Style { lines: lines(b"\r\n", b"\t"), ..OWN_STYLE },
        Style { lines: lines(b"\n", b"    "), ..MINIFIED },
        Style { lines: lines(b"\n", b""), ..OWN_STYLE },
        one_line(b": ", b" ", b""),
        one_line(b": ", b" ", b" "),
        one_line(b" : ", b" ", b" "),
    ]
}

/// An object and a style; an empty object shows none, and gets pipestate's own.
fn styled_object() -> impl Strategy<Value = (Value, Style<'static>)> {
    let style = prop::sample::select(styles());
    (object(), style)
        .prop_map(|(object, style)| if object == json!({}) { (object, OWN_STYLE) } else { (object, style) })
}

const MINIFIED: Style<'static> = Style { colon: b":", space: b"", padding: b"", lines: None };

fn styled(text: &[u8], style: &Style<'_>) -> String {
    let document = Document::parse(text.to_vec()).unwrap();
    let mut printed = Vec::new();
    layout::print(document.root(), style, Nulls::Store, &mut printed);
    String::from_utf8(printed).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_is_what_the_rules_say_and_touches_nothing_else(
        before in object(), patch in object(), nulls in nulls(), layout in choices(), patch_layout in choices(),
    ) {
        let document = parse(&format!("{}\n", Chaos::print(&before, layout, false)));
        let parsed_patch = parse_patch(&Chaos::print(&patch, patch_layout, true));
        match (merge(&document, &parsed_patch, nulls), expected(&before, &patch, nulls)) {
            (Ok(edits), Ok(expected)) => {
                let after = edits.apply(document.text());
                prop_assert_eq!(values(&after), expected);
                prop_assert_eq!(edits.is_empty(), after == document.text());
                prop_assert_eq!(after.last(), Some(&b'\n'));
                let after = Document::parse(after).unwrap();
                prop_assert!(merge(&after, &parsed_patch, nulls).unwrap().is_empty(), "idempotent");
                assert_untouched(document.root(), after.root(), &patch, nulls);
            }
            (Err(refusal), Err(pointer)) => prop_assert_eq!(refusal.pointer, pointer),
            (found, wanted) => prop_assert!(false, "{:?} instead of {:?}", found, wanted),
        }
    }

    #[test]
    fn a_document_of_one_style_stays_of_that_style(
        (before, style) in styled_object(), patch in object(), nulls in nulls(),
    ) {
        let document = parse(&styled(before.to_string().as_bytes(), &style));
        if let Ok(edits) = merge(&document, &parse_patch(&patch.to_string()), nulls) {
            let after = edits.apply(document.text());
            prop_assert_eq!(String::from_utf8_lossy(&after), styled(&after, &style));
        }
    }

    #[test]
    fn a_patch_that_says_what_is_there_changes_nothing(value in object(), layout in choices()) {
        let text = Chaos::print(&value, layout, false);
        let patch = parse_patch(&styled(text.as_bytes(), &MINIFIED));
        prop_assert!(merge(&parse(&text), &patch, Nulls::Store).unwrap().is_empty());
    }

    #[test]
    fn an_ambiguous_key_is_refused_and_any_other_duplicate_is_kept(
        before in object(), patch in object(), nulls in nulls(), layout in choices(),
    ) {
        let document = parse(&Chaos::print(&before, layout, true));
        match merge(&document, &parse_patch(&patch.to_string()), nulls) {
            Ok(edits) => {
                let after = Document::parse(edits.apply(document.text())).unwrap();
                prop_assert_eq!(Ok(values(after.text())), expected(&before, &patch, nulls));
                assert_untouched(document.root(), after.root(), &patch, nulls);
            }
            Err(refusal) => {
                let is_gap = expected(&before, &patch, nulls) == Err(refusal.pointer.clone());
                prop_assert!(is_gap || is_ambiguous(document.root(), &refusal.pointer), "{:?}", refusal);
            }
        }
    }

    #[test]
    fn creating_is_merging_onto_nothing(patch in object(), nulls in nulls(), layout in choices()) {
        let parsed = parse_patch(&Chaos::print(&patch, layout, true));
        let created = create(&parsed, nulls);
        prop_assert_eq!(values(&created), expected(&json!({}), &patch, nulls).unwrap());
        let empty = parse("{}\n");
        let merged = merge(&empty, &parsed, nulls).unwrap().apply(empty.text());
        prop_assert_eq!(created, merged);
    }

    #[test]
    fn replacing_changes_white_space_alone(patch in object(), layout in choices()) {
        let text = Chaos::print(&patch, layout, true);
        let replaced = replace(&parse_patch(&text));
        prop_assert_eq!(styled(&replaced, &MINIFIED), styled(text.as_bytes(), &MINIFIED));
        prop_assert_eq!(String::from_utf8_lossy(&replaced), styled(&replaced, &OWN_STYLE) + "\n");
    }

    #[test]
    fn every_value_is_found_where_serde_json_has_it(value in value(), layout in choices()) {
        let document = parse(&Chaos::print(&value, layout, false));
        prop_assert_eq!(values(document.root().raw()), value.clone());
        assert_found(document.root(), &value);
    }

    #[test]
    fn a_damaged_text_is_taken_exactly_when_serde_json_takes_it(
        value in value(), layout in choices(), place in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut text = Chaos::print(&value, layout, false).into_bytes();
        let place = place.index(text.len());
        text[place] = byte;
        prop_assert_eq!(Document::parse(text.clone()).is_ok(), serde_json_takes(&text));
        text.truncate(place);
        prop_assert_eq!(Document::parse(text.clone()).is_ok(), serde_json_takes(&text));
    }
}

/// Whether a key on the way to a pointer's value stands twice in its object.
fn is_ambiguous(root: Place<'_>, pointer: &str) -> bool {
    pointer.match_indices('/').any(|(slash, _)| {
        let token = pointer[slash + 1..].split('/').next().unwrap();
        let parent = root.pointer(&pointer[..slash]).unwrap();
        parent.members().filter(|member| pointer_token(&member.key.to_str()) == token).count() > 1
    })
}

/// serde_json does not look at the bytes of strings that it ignores.
fn serde_json_takes(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok() && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

/// Looks every value up, by members, elements and pointers.
fn assert_found(place: Place<'_>, value: &Value) {
    match value {
        Value::Object(members) => {
            assert_eq!(place.members().count(), members.len());
            for (key, value) in members {
                let found = place.get(key).unwrap();
                assert_eq!(found.span(), place.pointer(&format!("/{}", pointer_token(key))).unwrap().span());
                assert_found(found, value);
            }
        }
        Value::Array(elements) => {
            assert_eq!(place.elements().count(), elements.len());
            for (index, (element, found)) in elements.iter().zip(place.elements()).enumerate() {
                assert_eq!(found.span(), place.pointer(&format!("/{index}")).unwrap().span());
                assert_found(found, element);
            }
        }
        Value::String(string) => assert_eq!(place.as_str().unwrap(), *string),
        Value::Number(number) => assert_eq!(place.as_number_text().unwrap(), number.to_string()),
        Value::Bool(bool) => assert_eq!(place.as_bool(), Some(*bool)),
        Value::Null => assert!(place.is_null()),
    }
}
