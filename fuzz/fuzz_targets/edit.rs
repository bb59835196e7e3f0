//! Edits (D2, M1 to M3): the input is a document and a patch, separated by a NUL. The result parses, equals a merge of
//! trees, has every byte outside of the edits where it was, and merging again changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pipestate::document::{Document, Kind};
use pipestate::merge::{Nulls, Patch, merge};
use serde_json::{Map, Value};

fuzz_target!(|input: &[u8]| {
    let Some(middle) = input.iter().position(|&byte| byte == 0) else { return };
    let (text, patch_text) = (&input[..middle], &input[middle + 1..]);
    let Ok(document) = Document::parse(text.to_vec()) else { return };
    if document.root().kind() != Kind::Object {
        return;
    }
    let Ok(patch) = Patch::parse(patch_text.to_vec(), "the patch") else { return };
    for nulls in [Nulls::Store, Nulls::Delete] {
        let Ok(edits) = merge(&document, &patch, nulls) else { continue };
        let result = edits.apply(document.text());
        // Outside of the edits the bytes are those of the document, in order.
        let mut at = 0;
        let mut rebuilt = Vec::new();
        for (span, replacement) in edits.iter() {
            assert!(span.start >= at, "edits are sorted and do not overlap");
            rebuilt.extend_from_slice(&document.text()[at..span.start]);
            rebuilt.extend_from_slice(replacement);
            at = span.end;
        }
        rebuilt.extend_from_slice(&document.text()[at..]);
        assert_eq!(rebuilt, result);
        assert_eq!(edits.slices(document.text()).concat(), result);

        let merged = Document::parse(result.clone()).expect("the result parses");
        let again = merge(&merged, &patch, nulls).expect("what was merged can be merged again");
        assert!(again.is_empty(), "merging again changes nothing");

        // serde_json refuses lone surrogates; what it does read must be the merge of the trees.
        let trees = [text, patch_text, &result].map(serde_json::from_slice::<Value>);
        if let [Ok(mut before), Ok(patch), Ok(after)] = trees {
            assert!(oracle(&mut before, patch, nulls), "a gap is refused");
            assert_eq!(before, after);
        }
    }
});

/// The merge rules on trees; `false` where an append would leave a gap.
fn oracle(target: &mut Value, patch: Value, nulls: Nulls) -> bool {
    let Value::Object(patch) = patch else {
        *target = patch;
        return true;
    };
    if let (Value::Array(array), Nulls::Store) = (&mut *target, nulls) {
        let index = |key: &str| key.parse::<usize>().ok().filter(|index| index.to_string() == key);
        if patch.keys().all(|key| index(key).is_some()) {
            let mut items: Vec<(usize, Value)> =
                patch.into_iter().map(|(key, value)| (index(&key).unwrap(), value)).collect();
            items.sort_by_key(|(index, _)| *index);
            return items.into_iter().all(|(index, value)| {
                if index == array.len() {
                    array.push(value);
                    return true;
                }
                index < array.len() && oracle(&mut array[index], value, nulls)
            });
        }
    }
    if !target.is_object() {
        if nulls == Nulls::Store {
            *target = Value::Object(patch);
            return true;
        }
        *target = Value::Object(Map::new());
    }
    let object = target.as_object_mut().expect("it is one by now");
    patch.into_iter().all(|(key, value)| {
        if nulls == Nulls::Delete && value.is_null() {
            object.remove(&key);
            return true;
        }
        match object.get_mut(&key) {
            Some(inner) => oracle(inner, value, nulls),
            None if nulls == Nulls::Delete => {
                let mut inner = Value::Null;
                let merged = oracle(&mut inner, value, nulls);
                object.insert(key, inner);
                merged
            }
            None => {
                object.insert(key, value);
                true
            }
        }
    })
}
