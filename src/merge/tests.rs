//! The M rules and the layout of what they write, by whole outputs.

use super::*;

fn document(text: &str) -> Document {
    Document::parse(text.into()).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn patch(text: &str) -> Patch {
    Patch::parse(text.into(), "the patch").unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The merged text; merging again has to change nothing.
fn merged_with(text: &str, patch_text: &str, nulls: Nulls) -> String {
    let before = document(text);
    let patch = patch(patch_text);
    let edits =
        merge(&before, &patch, nulls).unwrap_or_else(|refusal| panic!("{text} + {patch_text}: {refusal:?}"));
    let after = String::from_utf8(edits.apply(before.text())).unwrap();
    assert_eq!(edits.is_empty(), after == text, "{text} + {patch_text}");
    let again = merge(&document(&after), &patch, nulls).unwrap();
    assert!(again.is_empty(), "{text} + {patch_text} = {after}, and then {again:?}");
    after
}

fn merged(text: &str, patch: &str) -> String {
    merged_with(text, patch, Nulls::Store)
}

fn refused(text: &str, patch_text: &str) -> (String, String) {
    let refusal = merge(&document(text), &patch(patch_text), Nulls::Store).unwrap_err();
    (refusal.pointer, refusal.reason)
}

#[track_caller]
fn assert_table(nulls: Nulls, table: &[(&str, &str, &str)]) {
    for (text, patch, expected) in table {
        assert_eq!(merged_with(text, patch, nulls), *expected, "{text} + {patch}");
    }
}

#[test]
fn objects_merge_and_everything_else_replaces() {
    assert_table(
        Nulls::Store,
        &[
            (
                r#"{"a":1,"b":{"c":2,"d":{"e":3}}}"#,
                r#"{"b":{"d":{"e":4}}}"#,
                r#"{"a":1,"b":{"c":2,"d":{"e":4}}}"#,
            ),
            (r#"{"a":1}"#, r#"{"a":"x"}"#, r#"{"a":"x"}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":[1,2]}"#, r#"{"a":[3]}"#, r#"{"a":[3]}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"a":1}"#, r#"{"a":{}}"#, r#"{"a":{}}"#),
            (r#"{"a":null}"#, r#"{"a":{}}"#, r#"{"a":{}}"#),
            (r#"{"a":1}"#, r#"{"a":{"b":{"c":2}}}"#, r#"{"a":{"b":{"c":2}}}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, r#"{"a":{"b":1}}"#),
            (r#"{"a":1}"#, "{}", r#"{"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":null,"b":null}"#, r#"{"a":null,"b":null}"#),
            (r#"{"a":[{"b":1}]}"#, r#"{"a":[{"c":2}]}"#, r#"{"a":[{"c":2}]}"#),
        ],
    );
}

#[test]
fn what_the_patch_does_not_set_keeps_its_bytes() {
    assert_table(
        Nulls::Store,
        &[
            (
                "\u{20}{\"n\":12345678901234567890123,\"f\":1.0,\"e\":1e400,\"s\":\"\\ud83d\\u0041\\/\",\"2\":1,\"1\":1,\"s\":0, \"x\":1}\r\n\n",
                r#"{"x":2}"#,
                "\u{20}{\"n\":12345678901234567890123,\"f\":1.0,\"e\":1e400,\"s\":\"\\ud83d\\u0041\\/\",\"2\":1,\"1\":1,\"s\":0, \"x\":2}\r\n\n",
            ),
            // And what it does set comes as it is written there.
            (
                r#"{"a":1}"#,
                r#"{"a":12345678901234567890123,"b":1.0,"c":"\ud83d\u0041\/","\u0064":1E400}"#,
                r#"{"a":12345678901234567890123,"b":1.0,"c":"\ud83d\u0041\/","\u0064":1E400}"#,
            ),
            (
                r#"{"__proto__":{"a":1},"constructor":1}"#,
                r#"{"__proto__":{"b":2},"constructor":{"prototype":{"p":1}},"toString":3}"#,
                r#"{"__proto__":{"a":1,"b":2},"constructor":{"prototype":{"p":1}},"toString":3}"#,
            ),
        ],
    );
}

#[test]
fn an_equal_value_leaves_the_bytes_alone() {
    let text = "{\n  \"a\": [ 1,\n    {\"b\" :\"\\u0041\"} ],\n  \"s\": \"\\u00e9\\/\",\n  \"\\u006b\": {\"x\": true}\n}";
    let repeated = r#"{"a":[1,{"\u0062":"A"}],"s":"é/","k":{"x":true}}"#;
    assert_eq!(merged(text, repeated), text);
    assert_table(
        Nulls::Store,
        &[
            // Numbers are their text, and members have an order where an array is replaced.
            (r#"{"a":1.0}"#, r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":[1.0]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"a":[{"b":1,"c":2}]}"#, r#"{"a":[{"c":2,"b":1}]}"#, r#"{"a":[{"c":2,"b":1}]}"#),
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\ud83e"}"#, r#"{"a":"\ud83e"}"#),
            (r#"{"a":"1"}"#, r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":[[1],[2]]}"#, r#"{"a":[[1],[2,3]]}"#, r#"{"a":[[1],[2,3]]}"#),
        ],
    );
}

#[test]
fn an_object_with_indexes_for_keys_merges_into_an_array() {
    assert_table(
        Nulls::Store,
        &[
            (
                r#"{"p":[{"s":1},{"s":2,"t":3}]}"#,
                r#"{"p":{"1":{"s":9}}}"#,
                r#"{"p":[{"s":1},{"s":9,"t":3}]}"#,
            ),
            (r#"{"p":[1,2,3]}"#, r#"{"p":{"2":30,"0":10}}"#, r#"{"p":[10,2,30]}"#),
            (r#"{"p":[1]}"#, r#"{"p":{"1":2}}"#, r#"{"p":[1,2]}"#),
            (r#"{"p":[1]}"#, r#"{"p":{"3":4,"1":2,"2":3}}"#, r#"{"p":[1,2,3,4]}"#),
            (r#"{"p":[]}"#, r#"{"p":{"1":[2],"0":null}}"#, r#"{"p":[null,[2]]}"#),
            (r#"{"p":[1]}"#, r#"{"p":{}}"#, r#"{"p":[1]}"#),
            (r#"{"p":[]}"#, r#"{"p":{}}"#, r#"{"p":[]}"#),
            (r#"{"p":[[1,2],3]}"#, r#"{"p":{"0":{"1":5},"1":{"0":6}}}"#, r#"{"p":[[1,5],{"0":6}]}"#),
            (r#"{"p":[1]}"#, r#"{"p":{"\u0030":2}}"#, r#"{"p":[2]}"#),
            // Any other key makes it an object that replaces the array.
            (r#"{"p":[1]}"#, r#"{"p":{"01":2}}"#, r#"{"p":{"01":2}}"#),
            (r#"{"p":[1]}"#, r#"{"p":{"0":2,"-1":3}}"#, r#"{"p":{"0":2,"-1":3}}"#),
            (r#"{"p":[1]}"#, r#"{"p":{"0":2,"":3}}"#, r#"{"p":{"0":2,"":3}}"#),
            (r#"{"p":[1]}"#, r#"{"p":{"1.0":2}}"#, r#"{"p":{"1.0":2}}"#),
            // Onto an object they are keys.
            (r#"{"p":{"0":1}}"#, r#"{"p":{"7":2}}"#, r#"{"p":{"0":1,"7":2}}"#),
            // And in an array nothing merges.
            (r#"{"p":[[1,2]]}"#, r#"{"p":[{"0":5}]}"#, r#"{"p":[{"0":5}]}"#),
        ],
    );
}

#[test]
fn a_gap_in_an_array_is_refused() {
    for (text, patch, pointer) in [
        (r#"{"p":[1]}"#, r#"{"p":{"2":2}}"#, "/p/2"),
        (r#"{"p":[]}"#, r#"{"p":{"1":2}}"#, "/p/1"),
        (r#"{"p":[1]}"#, r#"{"p":{"3":2,"1":2}}"#, "/p/3"),
        (r#"{"a/b":{"~":[[]]}}"#, r#"{"a/b":{"~":{"0":{"1":1}}}}"#, "/a~1b/~0/0/1"),
        (r#"{"p":[1]}"#, r#"{"p":{"99999999999999999999999":2}}"#, "/p/99999999999999999999999"),
    ] {
        assert_eq!(refused(text, patch).0, pointer, "{text} + {patch}");
    }
    assert_eq!(
        refused(r#"{"p":[1,2]}"#, r#"{"p":{"7":1}}"#).1,
        "the array ends before index 2, and an append leaves no gap; go on with 2"
    );
}

#[test]
fn a_key_that_stands_twice_where_the_patch_edits_is_refused() {
    for (text, patch, pointer) in [
        (r#"{"a":1,"a":2}"#, r#"{"a":3}"#, "/a"),
        (r#"{"a":1,"\u0061":2}"#, r#"{"a":1}"#, "/a"),
        (r#"{"x":{"b/":{},"b/":{}}}"#, r#"{"x":{"b/":{"c":1}}}"#, "/x/b~1"),
        (r#"{"x":[{"a":1,"a":2}]}"#, r#"{"x":{"0":{"a":1}}}"#, "/x/0/a"),
    ] {
        assert_eq!(refused(text, patch).0, pointer, "{text} + {patch}");
    }
    assert_eq!(
        refused(r#"{"a":1,"a":2}"#, r#"{"a":3}"#).1,
        "the key stands twice in the object, so it is open which of the two is meant; remove one of them"
    );
    assert_table(
        Nulls::Store,
        &[
            (r#"{"a":1,"a":2,"b":3}"#, r#"{"b":4}"#, r#"{"a":1,"a":2,"b":4}"#),
            (r#"{"a":{"b":1,"b":2},"c":3}"#, r#"{"a":{"c":1}}"#, r#"{"a":{"b":1,"b":2,"c":1},"c":3}"#),
            (r#"{"\ud83d":1,"\ud83e":2}"#, r#"{"\ud83d":3}"#, r#"{"\ud83d":3,"\ud83e":2}"#),
        ],
    );
}

#[test]
fn of_a_key_twice_in_the_patch_the_last_wins_in_the_place_of_the_first() {
    let many: String = (0..20).map(|number| format!("\"k{number}\":{number},")).collect();
    let many = format!("{{{many}\"k3\":\"last\"}}");
    let expected = merged("{}", &many).replace("3,", "\"last\",").replace("1\"last\",", "13,");
    assert_eq!(merged("{}", &many), expected);
    assert_table(
        Nulls::Store,
        &[
            (r#"{"x":0}"#, r#"{"a":1,"b":2,"a":3}"#, r#"{"x":0,"a":3,"b":2}"#),
            (
                r#"{"x":0}"#,
                r#"{"a":1,"\u0061":2,"a":{"c":1,"c":[{"d":1,"d":2}]}}"#,
                r#"{"x":0,"a":{"c":[{"d":2}]}}"#,
            ),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"b":2},"a":{"c":3}}"#, r#"{"a":{"b":1,"c":3}}"#),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"b":2},"a":[],"z":0,"z":0,"z":1}"#, r#"{"a":[],"z":1}"#),
        ],
    );
}

#[test]
fn new_members_come_last_in_the_style_of_their_neighbours() {
    assert_table(
        Nulls::Store,
        &[
            // On one line.
            (r#"{"a":1}"#, r#"{"b":2,"c":3}"#, r#"{"a":1,"b":2,"c":3}"#),
            (r#"{"a": 1}"#, r#"{"b":2,"c":3}"#, r#"{"a": 1, "b": 2, "c": 3}"#),
            (r#"{ "a": 1 }"#, r#"{"b":2}"#, r#"{ "a": 1, "b": 2 }"#),
            (r#"{ "a":1 }"#, r#"{"b":2}"#, r#"{ "a":1, "b":2 }"#),
            (r#"{"a" : 1,"b" : 2}"#, r#"{"c":3}"#, r#"{"a" : 1,"b" : 2,"c" : 3}"#),
            (r#"{"a":1 , "b":2}"#, r#"{"c":3}"#, r#"{"a":1 , "b":2 , "c":3}"#),
            // On lines of their own.
            ("{\n  \"a\": 1\n}\n", r#"{"b":2,"c":3}"#, "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n"),
            ("{\r\n\t\"a\": 1\r\n}", r#"{"b":2}"#, "{\r\n\t\"a\": 1,\r\n\t\"b\": 2\r\n}"),
            ("{\n    \"a\":1,\n    \"b\":2}", r#"{"c":3}"#, "{\n    \"a\":1,\n    \"b\":2,\n    \"c\":3}"),
            ("{\n\n  \"a\": 1\n\n}", r#"{"b":2}"#, "{\n\n  \"a\": 1,\n  \"b\": 2\n\n}"),
            ("{ \"a\": 1\n, \"b\": 2\n}", r#"{"c":3}"#, "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}"),
            ("{\n\"a\": 1\n}", r#"{"b":{"c":2}}"#, "{\n\"a\": 1,\n\"b\": {\n\"c\": 2\n}\n}"),
            ("{\r  \"a\": 1\r}", r#"{"b":2}"#, "{\r  \"a\": 1,\r  \"b\": 2\r}"),
            // Deeper down.
            (
                "{\n  \"p\": {\n    \"0\": {\"s\": \"x\"}\n  }\n}",
                r#"{"p":{"0":{"t":1},"1":{"s":"y"}}}"#,
                "{\n  \"p\": {\n    \"0\": {\"s\": \"x\", \"t\": 1},\n    \"1\": {\"s\": \"y\"}\n  }\n}",
            ),
        ],
    );
}

#[test]
fn new_containers_look_like_the_last_one_beside_them() {
    assert_table(
        Nulls::Store,
        &[
            (
                "{\n  \"1\": {\"status\": \"done\"}\n}",
                r#"{"2":{"status":"running","files":["a","b"]}}"#,
                "{\n  \"1\": {\"status\": \"done\"},\n  \"2\": {\"status\": \"running\", \"files\": [\"a\", \"b\"]}\n}",
            ),
            (
                "{\n  \"1\": { \"s\": 1 }\n}",
                r#"{"2":{"s":1,"t":2}}"#,
                "{\n  \"1\": { \"s\": 1 },\n  \"2\": { \"s\": 1, \"t\": 2 }\n}",
            ),
            (
                "{\n  \"1\": {\"s\":1,\"t\":2}\n}",
                r#"{"2":{"s":1,"t":[1,2]}}"#,
                "{\n  \"1\": {\"s\":1,\"t\":2},\n  \"2\": {\"s\":1,\"t\":[1,2]}\n}",
            ),
            (
                "{\n  \"1\": {\n    \"s\": 1\n  }\n}",
                r#"{"2":{"s":{"t":[]}}}"#,
                "{\n  \"1\": {\n    \"s\": 1\n  },\n  \"2\": {\n    \"s\": {\n      \"t\": []\n    }\n  }\n}",
            ),
            // An array rather like an array, an object rather like an object.
            (
                "{\n  \"a\": [\"x\"],\n  \"o\": {\n    \"b\": 1\n  }\n}",
                r#"{"c":["y","z"],"d":{"e":2}}"#,
                "{\n  \"a\": [\"x\"],\n  \"o\": {\n    \"b\": 1\n  },\n  \"c\": [\"y\", \"z\"],\n  \"d\": {\n    \"e\": 2\n  }\n}",
            ),
            // What lies in them, too.
            (
                "{\n  \"1\": {\n    \"s\": 1,\n    \"e\": [],\n    \"f\": [ \"a\", \"b\" ]\n  }\n}",
                r#"{"2":{"f":["c",{"d":1}],"s":2}}"#,
                "{\n  \"1\": {\n    \"s\": 1,\n    \"e\": [],\n    \"f\": [ \"a\", \"b\" ]\n  },\n  \"2\": {\n    \"f\": [ \"c\", { \"d\": 1 } ],\n    \"s\": 2\n  }\n}",
            ),
            // Empty ones show nothing.
            (
                "{\n  \"1\": {\"s\": 1},\n  \"2\": {},\n  \"3\": [ ]\n}",
                r#"{"4":{"s":1}}"#,
                "{\n  \"1\": {\"s\": 1},\n  \"2\": {},\n  \"3\": [ ],\n  \"4\": {\"s\": 1}\n}",
            ),
            // Without one beside them they are spread as their parent is.
            (
                "{\r\n\t\"a\": 1\r\n}",
                r#"{"b":{"c":[1]}}"#,
                "{\r\n\t\"a\": 1,\r\n\t\"b\": {\r\n\t\t\"c\": [\r\n\t\t\t1\r\n\t\t]\r\n\t}\r\n}",
            ),
            (
                "{\n    \"a\": {\n        \"b\": 1\n    }\n}",
                r#"{"a":{"c":{"d":1}}}"#,
                "{\n    \"a\": {\n        \"b\": 1,\n        \"c\": {\n            \"d\": 1\n        }\n    }\n}",
            ),
            (r#"{"a": 1}"#, r#"{"b":{"c":1,"d":[1,2]}}"#, r#"{"a": 1, "b": {"c": 1, "d": [1, 2]}}"#),
            (r#"{ "a": 1 }"#, r#"{"b":{"c":1}}"#, r#"{ "a": 1, "b": { "c": 1 } }"#),
            (r#"{"a":1}"#, r#"{"b":{"c":[1,2]}}"#, r#"{"a":1,"b":{"c":[1,2]}}"#),
            // A container on lines of its own inside of one on a single line.
            (
                "{\"a\": {\n  \"b\": 1\n}}",
                r#"{"c":{"d":1}}"#,
                "{\"a\": {\n  \"b\": 1\n}, \"c\": {\n  \"d\": 1\n}}",
            ),
        ],
    );
}

#[test]
fn an_empty_container_is_filled_as_a_new_one_is_laid_out() {
    assert_table(
        Nulls::Store,
        &[
            ("{}", r#"{"a":{"b":[1]}}"#, "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}"),
            ("{ \n }\n", r#"{"a":1}"#, "{\n  \"a\": 1\n}\n"),
            ("{\n  \"a\": {}\n}", r#"{"a":{"b":1}}"#, "{\n  \"a\": {\n    \"b\": 1\n  }\n}"),
            ("{\n  \"a\": [],\n  \"b\": 1\n}", r#"{"a":[1]}"#, "{\n  \"a\": [\n    1\n  ],\n  \"b\": 1\n}"),
            (
                "{\n  \"a\": []\n}",
                r#"{"a":{"0":{"x":1}}}"#,
                "{\n  \"a\": [\n    {\n      \"x\": 1\n    }\n  ]\n}",
            ),
            (
                "{\n  \"0\": {\"s\": 1},\n  \"1\": {}\n}",
                r#"{"1":{"s":2}}"#,
                "{\n  \"0\": {\"s\": 1},\n  \"1\": {\"s\": 2}\n}",
            ),
            (r#"{"a":{ }}"#, r#"{"a":{}}"#, r#"{"a":{ }}"#),
            (r#"{"a":[ ]}"#, r#"{"a":[]}"#, r#"{"a":[ ]}"#),
            ("{ }", "{}", "{ }"),
        ],
    );
}

#[test]
fn a_container_that_is_replaced_keeps_its_style() {
    assert_table(
        Nulls::Store,
        &[
            // One line stays one line.
            (
                "{\n  \"a\": {\"x\": 1},\n  \"b\": 0\n}",
                r#"{"a":[1,2]}"#,
                "{\n  \"a\": [1, 2],\n  \"b\": 0\n}",
            ),
            ("{\n  \"a\": [ 1, 2 ]\n}", r#"{"a":{"x":1}}"#, "{\n  \"a\": { \"x\": 1 }\n}"),
            // Many stay many.
            (
                "{\"a\": {\n    \"x\": 1\n}}",
                r#"{"a":[1,[2]]}"#,
                "{\"a\": [\n    1,\n    [\n        2\n    ]\n]}",
            ),
            // A scalar had no style, so its neighbours count.
            (
                "{\n  \"a\": {\"x\": 1},\n  \"b\": 0\n}",
                r#"{"b":{"y":2}}"#,
                "{\n  \"a\": {\"x\": 1},\n  \"b\": {\"y\": 2}\n}",
            ),
            ("{\n  \"a\": 0\n}", r#"{"a":{"y":2}}"#, "{\n  \"a\": {\n    \"y\": 2\n  }\n}"),
            // A container becomes a scalar.
            ("{\n  \"a\": [\n    1\n  ]\n}", r#"{"a":null}"#, "{\n  \"a\": null\n}"),
        ],
    );
}

#[test]
fn an_array_that_replaces_an_array_leaves_equal_elements_as_they_are() {
    let lines = "{\n  \"t\": [\n    { \"from\": \"a\" },\n    { \"from\": \"b\" }\n  ]\n}";
    assert_table(
        Nulls::Store,
        &[
            (
                lines,
                r#"{"t":[{"from":"a"},{"from":"b"},{"from":"c"}]}"#,
                "{\n  \"t\": [\n    { \"from\": \"a\" },\n    { \"from\": \"b\" },\n    { \"from\": \"c\" }\n  ]\n}",
            ),
            (
                lines,
                r#"{"t":[{"from":"a"},{"from":"x"}]}"#,
                "{\n  \"t\": [\n    { \"from\": \"a\" },\n    { \"from\": \"x\" }\n  ]\n}",
            ),
            (lines, r#"{"t":[{"from":"a"}]}"#, "{\n  \"t\": [\n    { \"from\": \"a\" }\n  ]\n}"),
            (lines, r#"{"t":[]}"#, "{\n  \"t\": []\n}"),
            ("{\"a\": [1, 2,\n 3, 4]}", r#"{"a":[1,2,3,4,5]}"#, "{\"a\": [1, 2,\n 3, 4, 5]}"),
            (r#"{"a": [1]}"#, r#"{"a":[1,2,3]}"#, r#"{"a": [1, 2, 3]}"#),
            (r#"{"a":[ 1 ]}"#, r#"{"a":[1,2]}"#, r#"{"a":[ 1, 2 ]}"#),
            (r#"{"a":[[1, 2],3]}"#, r#"{"a":[[1,9],null]}"#, r#"{"a":[[1, 9],null]}"#),
            (
                "{\n  \"a\": [\n    \"x\"\n  ]\n}",
                r#"{"a":["x","y"]}"#,
                "{\n  \"a\": [\n    \"x\",\n    \"y\"\n  ]\n}",
            ),
        ],
    );
}

/// RFC 7396, appendix A, as far as both sides are objects; the other rows are wrapped below.
const RFC_7396: &[(&str, &str, &str)] = &[
    (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
    (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
    (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
    (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
    (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
    (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
    (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
    (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
    (r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
    (r#"{}"#, r#"{"a":{"bb":{"ccc":null}}}"#, "{\n  \"a\": {\n    \"bb\": {}\n  }\n}"),
];

/// The rows whose patch is a scalar: it replaces the document, and `null` deletes a wrapped one.
const RFC_7396_SCALARS: &[(&str, &str, &str)] = &[
    (r#"{"v":{"a":"foo"}}"#, r#"{"v":null}"#, r#"{}"#),
    (r#"{"v":{"a":"foo"}}"#, r#"{"v":"bar"}"#, r#"{"v":"bar"}"#),
];

#[test]
fn merge_patch_is_rfc_7396_to_the_letter() {
    for (text, patch, expected) in RFC_7396 {
        if text.starts_with('{') && patch.starts_with('{') {
            assert_eq!(merged_with(text, patch, Nulls::Delete), *expected, "{text} + {patch}");
        }
        let wrapped = |inner: &str| format!("{{\"v\":{}}}", inner.replace([' ', '\n'], ""));
        assert_eq!(
            merged_with(&wrapped(text), &wrapped(patch), Nulls::Delete),
            wrapped(expected),
            "{text} + {patch}"
        );
    }
    assert_table(Nulls::Delete, RFC_7396_SCALARS);
    assert_table(
        Nulls::Delete,
        &[
            // M3 does not hold.
            (r#"{"p":[1,2]}"#, r#"{"p":{"0":3}}"#, r#"{"p":{"0":3}}"#),
            (r#"{"p":[1,2]}"#, r#"{"p":{}}"#, r#"{"p":{}}"#),
            (r#"{"p":[1,2]}"#, r#"{"p":{"0":null}}"#, r#"{"p":{}}"#),
            // Null is a value in arrays.
            (r#"{"p":1}"#, r#"{"p":[null,{"a":null}]}"#, r#"{"p":[null,{"a":null}]}"#),
            (r#"{"p":[1]}"#, r#"{"p":[null,{"a":null}]}"#, r#"{"p":[null,{"a":null}]}"#),
        ],
    );
}

#[test]
fn rfc_7396_holds_without_deleting_too_but_for_null() {
    assert_table(
        Nulls::Store,
        &[
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{"a":null}"#),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"a":null,"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d","c":null}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"v":["a","b"]}"#, r#"{"v":["c","d"]}"#, r#"{"v":["c","d"]}"#),
            (r#"{"v":{"a":"b"}}"#, r#"{"v":["c"]}"#, r#"{"v":["c"]}"#),
            (r#"{"v":{"a":"foo"}}"#, r#"{"v":null}"#, r#"{"v":null}"#),
            (r#"{"v":{"a":"foo"}}"#, r#"{"v":"bar"}"#, r#"{"v":"bar"}"#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            (r#"{"v":[1,2]}"#, r#"{"v":{"a":"b","c":null}}"#, r#"{"v":{"a":"b","c":null}}"#),
            (r#"{"v":{}}"#, r#"{"v":{"a":{"bb":{"ccc":null}}}}"#, r#"{"v":{"a":{"bb":{"ccc":null}}}}"#),
        ],
    );
}

#[test]
fn deletion_takes_the_comma_along_and_nothing_else() {
    let lines = "{\n  \"a\": 1,\n  \"b\": {\"x\": 2},\n  \"c\": 3,\n  \"d\": 4\n}\n";
    assert_table(
        Nulls::Delete,
        &[
            (lines, r#"{"a":null}"#, "{\n  \"b\": {\"x\": 2},\n  \"c\": 3,\n  \"d\": 4\n}\n"),
            (lines, r#"{"b":null}"#, "{\n  \"a\": 1,\n  \"c\": 3,\n  \"d\": 4\n}\n"),
            (lines, r#"{"d":null}"#, "{\n  \"a\": 1,\n  \"b\": {\"x\": 2},\n  \"c\": 3\n}\n"),
            (lines, r#"{"a":null,"b":null}"#, "{\n  \"c\": 3,\n  \"d\": 4\n}\n"),
            (lines, r#"{"b":null,"c":null}"#, "{\n  \"a\": 1,\n  \"d\": 4\n}\n"),
            (lines, r#"{"c":null,"d":null}"#, "{\n  \"a\": 1,\n  \"b\": {\"x\": 2}\n}\n"),
            (lines, r#"{"a":null,"c":null}"#, "{\n  \"b\": {\"x\": 2},\n  \"d\": 4\n}\n"),
            (lines, r#"{"a":null,"d":null,"b":{"x":5}}"#, "{\n  \"b\": {\"x\": 5},\n  \"c\": 3\n}\n"),
            (lines, r#"{"a":null,"b":null,"c":null,"d":null}"#, "{}\n"),
            (lines, r#"{"b":{"x":null}}"#, "{\n  \"a\": 1,\n  \"b\": {},\n  \"c\": 3,\n  \"d\": 4\n}\n"),
            (lines, r#"{"e":null,"b":{"y":null}}"#, lines),
            (r#"{"a":1,"b":2}"#, r#"{"a":null}"#, r#"{"b":2}"#),
            (r#"{ "a":1 , "b":2 }"#, r#"{"a":null}"#, r#"{ "b":2 }"#),
            (r#"{ "a":1 , "b":2 }"#, r#"{"b":null}"#, r#"{ "a":1 }"#),
            (r#"{ "a":1 , "b":2 , "c":3 }"#, r#"{"b":null}"#, r#"{ "a":1 , "c":3 }"#),
            (r#"{ "a":1 }"#, r#"{"a":null}"#, "{}"),
            // Together with insertions.
            (
                lines,
                r#"{"d":null,"e":5}"#,
                "{\n  \"a\": 1,\n  \"b\": {\"x\": 2},\n  \"c\": 3,\n  \"e\": 5\n}\n",
            ),
            (
                lines,
                r#"{"a":null,"b":null,"c":null,"d":null,"e":5,"f":{"g":6}}"#,
                "{\n  \"e\": 5,\n  \"f\": {\"g\": 6}\n}\n",
            ),
            (lines, r#"{"b":null,"c":null,"e":5}"#, "{\n  \"a\": 1,\n  \"d\": 4,\n  \"e\": 5\n}\n"),
            (r#"{"a":{"x":1}}"#, r#"{"a":{"x":null,"y":{"z":null}}}"#, r#"{"a":{"y":{}}}"#),
        ],
    );
    let twice = merge(&document(r#"{"a":1,"a":2}"#), &patch(r#"{"a":null}"#), Nulls::Delete);
    assert_eq!(twice.unwrap_err().pointer, "/a");
}

#[test]
fn an_object_on_something_else_starts_empty_and_without_nulls() {
    assert_table(
        Nulls::Delete,
        &[
            (r#"{"a":1}"#, r#"{"a":{"b":null,"c":{"d":null,"e":1}}}"#, r#"{"a":{"c":{"e":1}}}"#),
            (r#"{"x":0}"#, r#"{"a":{"b":null}}"#, r#"{"x":0,"a":{}}"#),
            (r#"{"x":0}"#, r#"{"a":null}"#, r#"{"x":0}"#),
            (r#"{"x":{}}"#, r#"{"x":{"a":null}}"#, r#"{"x":{}}"#),
        ],
    );
}

#[test]
fn replacing_keeps_the_patch_as_it_is_but_for_white_space() {
    let patch = patch("\u{feff}{\"b\":[1.0,{}],\r\n\"a\":null,\"b\":{\"\\u0063\":1e400}}");
    assert_eq!(
        String::from_utf8(replace(&patch)).unwrap(),
        "{\n  \"b\": [\n    1.0,\n    {}\n  ],\n  \"a\": null,\n  \"b\": {\n    \"\\u0063\": 1e400\n  }\n}\n"
    );
    assert_eq!(
        String::from_utf8(create(&patch, Nulls::Store)).unwrap(),
        "{\n  \"b\": {\n    \"\\u0063\": 1e400\n  },\n  \"a\": null\n}\n"
    );
    assert_eq!(
        String::from_utf8(create(&patch, Nulls::Delete)).unwrap(),
        "{\n  \"b\": {\n    \"\\u0063\": 1e400\n  }\n}\n"
    );
}

#[test]
fn a_patch_that_is_no_object_is_refused_by_name() {
    for (text, message) in [
        ("[1]", "stdin is an array, and a state document is a JSON object; nothing was written"),
        ("null", "stdin is null, and a state document is a JSON object; nothing was written"),
        ("", "stdin is not valid JSON: it is empty; nothing was written"),
        (
            "{\"a\": 1,}",
            "stdin is not valid JSON: a trailing comma at line 1, column 8 (byte 7); nothing was written",
        ),
        (
            "\u{feff}\u{feff}{}",
            "stdin is not valid JSON: a byte order mark at the start (byte 0); nothing was written",
        ),
    ] {
        assert_eq!(Patch::parse(text.into(), "stdin").unwrap_err().to_string(), message);
    }
}

#[test]
fn objects_with_many_keys_are_merged_like_small_ones() {
    let members = |step: usize, value: &str| -> String {
        let list: Vec<String> = (0..300).step_by(step).map(|key| format!("\"k{key}\":{value}")).collect();
        format!("{{{}}}", list.join(","))
    };
    let expected: Vec<String> =
        (0..300).map(|key| format!("\"k{key}\":{}", if key % 3 == 0 { "2" } else { "1" })).collect();
    assert_eq!(merged(&members(1, "1"), &members(3, "2")), format!("{{{}}}", expected.join(",")));
    assert_eq!(merged(r#"{"k0":0}"#, &members(1, "2")), members(1, "2"));
    assert_eq!(merged_with(&members(1, "1"), &members(1, "null"), Nulls::Delete), "{}");
}

#[test]
fn a_patch_nested_100_000_deep_is_one_walk() {
    let depth = 100_000;
    let nested = |inner: &str| format!("{}{inner}{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(merged(&nested("1"), &nested("2")), nested("2"));
    assert_eq!(merged(&nested("{\"b\":1}"), &nested("{\"c\":[]}")), nested("{\"b\":1,\"c\":[]}"));
    assert_eq!(merged_with(&nested("{\"b\":1}"), &nested("{\"b\":null}"), Nulls::Delete), nested("{}"));

    // An insertion with a container beside it on every level.
    let document = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let patch = format!("{}1{}", "{\"a\":".repeat(depth), ",\"b\":[2]}".repeat(depth));
    assert_eq!(merged(&document, &patch), patch);

    // Arrays, whose innermost elements differ.
    let arrays = |inner: &str| format!("{{\"a\":{}{inner}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(merged(&arrays("1"), &arrays("2")), arrays("2"));

    // Duplicate keys on every level of the patch.
    let twice = format!("{}1{}", "{\"b\":0,\"a\":".repeat(depth), ",\"b\":2}".repeat(depth));
    let once = format!("{}1{}", "{\"b\":2,\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(merged("{\"x\":1}", &twice), format!("{{\"x\":1,{}", &once[1..]));
}
