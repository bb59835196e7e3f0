//! The scanner against serde_json (D3): the same verdict on every text, but for what serde_json is known to see
//! otherwise, which is lone surrogates in escapes; and what is accepted can be walked through and skipped alike.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pipestate::document::{Document, Kind, Value};

fuzz_target!(|text: &[u8]| {
    let ours = Document::parse(text.to_vec());
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    // Depth is memory's matter here, and the call stack's there.
    if text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() > 200 {
        return;
    }
    let theirs = serde::de::Deserialize::deserialize(&mut deserializer)
        .and_then(|value: serde_json::Value| deserializer.end().map(|()| value));
    match (&ours, &theirs) {
        (Ok(document), Ok(_)) => walk(document.root()),
        (Err(_), Err(_)) => {}
        // `"\ud83d"`: JSON.parse accepts it, serde_json says "lone leading surrogate" or "unexpected end of hex escape".
        (Ok(document), Err(_)) => {
            assert!(contains(text, b"\\u") || contains(text, b"\\U"), "accepted, refused by serde_json: {theirs:?}");
            walk(document.root());
        }
        (Err(fault), Ok(_)) => panic!("refused, accepted by serde_json: {fault}"),
    }
    if let Err(fault) = ours {
        assert!(fault.offset <= text.len());
        let _ = fault.to_string();
    }
});

/// Every value lies in its container, in order, and is read without a panic.
fn walk(root: Value<'_>) {
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        let span = value.span();
        assert!(span.start < span.end);
        let inside = |inner: std::ops::Range<usize>| assert!(inner.start > span.start && inner.end < span.end);
        match value.kind() {
            Kind::Object => value.members().for_each(|member| {
                inside(member.key.span());
                inside(member.value.span());
                let _ = member.key.decoded();
                open.push(member.value);
            }),
            Kind::Array => value.elements().for_each(|element| {
                inside(element.span());
                open.push(element);
            }),
            Kind::String => drop(value.as_str()),
            Kind::Number => drop(value.as_number_text()),
            Kind::Bool | Kind::Null => {}
        }
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
