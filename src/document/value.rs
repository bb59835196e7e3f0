//! A value as a place in a validated text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::cursor::Cursor;
use super::string::{decode, decode_lossily};

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number of any size and precision.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl Kind {
    /// The kind with its article, for messages: `an array`; nothing for `null`.
    pub fn described(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
        }
    }

    /// The kind of the value whose first byte this is.
    #[inline(always)]
    pub(crate) fn of(first: u8) -> Kind {
        match first {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }
}

/// A value: where it stands in the text of a [`super::Document`].
#[derive(Clone, Copy)]
pub struct Value<'a> {
    text: &'a [u8],
    start: usize,
    end: usize,
    /// The long ones among the items of the root, if it is the root.
    long: &'a [Range<usize>],
}

impl<'a> Value<'a> {
    pub(crate) fn new(text: &'a [u8], span: Range<usize>) -> Value<'a> {
        Value { text, start: span.start, end: span.end, long: &[] }
    }

    pub(super) fn root(text: &'a [u8], span: Range<usize>, long: &'a [Range<usize>]) -> Value<'a> {
        Value { text, start: span.start, end: span.end, long }
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        Kind::of(self.text[self.start])
    }

    /// Its bytes as they stand in the text (D2).
    pub fn raw(self) -> &'a [u8] {
        &self.text[self.start..self.end]
    }

    /// Where it stands in the text, in bytes.
    pub fn span(self) -> Range<usize> {
        self.start..self.end
    }

    /// The members of an object in their order, a key twice if it is there twice; of any other value none.
    pub fn members(self) -> Members<'a> {
        Members { cursor: self.inside(Kind::Object) }
    }

    /// The elements of an array; of any other value none.
    pub fn elements(self) -> Elements<'a> {
        Elements { cursor: self.inside(Kind::Array) }
    }

    /// The value of a key of an object; of a key that stands there twice the last one, as `JSON.parse` has it.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.members().filter(|member| member.key == *key).last().map(|member| member.value)
    }

    /// A string, decoded. A lone surrogate, which no Rust string can hold, becomes U+FFFD.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        if self.kind() != Kind::String {
            return None;
        }
        Some(decode_lossily(&self.text[self.start + 1..self.end - 1]))
    }

    /// A number as it is written: `1.0`, `1e400`, `9007199254740993`.
    pub fn as_number_text(self) -> Option<&'a str> {
        if self.kind() == Kind::Number { std::str::from_utf8(self.raw()).ok() } else { None }
    }

    /// A number that is written as an integer and fits; `4.0` and `1e3` are not.
    pub fn as_i64(self) -> Option<i64> {
        self.as_number_text()?.parse().ok()
    }

    /// `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        match self.raw() {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether two values are the same token for token: white space does not count, strings and keys are compared
    /// decoded, numbers by their text (`1.0` is not `1`), members in their order.
    pub fn is_same(self, other: Value<'_>) -> bool {
        let (mut ours, mut theirs) = (self.cursor(), other.cursor());
        let mut depth = 0_usize;
        loop {
            match (ours.byte(), theirs.byte()) {
                (b'"', b'"') => {
                    let (our_key, their_key) = (ours.pass_string(), theirs.pass_string());
                    if Key::new(self.text, our_key) != Key::new(other.text, their_key) {
                        return false;
                    }
                }
                (byte, same) if byte != same => return false,
                (b'{' | b'[' | b'}' | b']' | b',' | b':', _) => {
                    depth += usize::from(matches!(ours.byte(), b'{' | b'['));
                    depth -= usize::from(matches!(ours.byte(), b'}' | b']'));
                    ours.at += 1;
                    theirs.at += 1;
                }
                _ => {
                    if self.text[ours.pass_bare()] != other.text[theirs.pass_bare()] {
                        return false;
                    }
                }
            }
            if depth == 0 {
                return true;
            }
            ours.pass_whitespace();
            theirs.pass_whitespace();
        }
    }

    /// A cursor behind the opening bracket of a container of that kind.
    fn inside(self, kind: Kind) -> Option<Cursor<'a>> {
        (self.kind() == kind).then_some(Cursor { text: self.text, at: self.start + 1, long: self.long })
    }

    pub(crate) fn cursor(self) -> Cursor<'a> {
        Cursor { text: self.text, at: self.start, long: self.long }
    }
}

/// Prints the value's own text.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.raw()))
    }
}

/// A key and its value.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The key.
    pub key: Key<'a>,
    /// The value.
    pub value: Value<'a>,
}

/// The key of a member: where it stands in the text.
///
/// Equal to another key, or to a `str`, when both decode to the same characters, however they are escaped.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    text: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> Key<'a> {
    pub(crate) fn new(text: &'a [u8], span: Range<usize>) -> Key<'a> {
        Key { text, start: span.start, end: span.end }
    }

    /// The token as it stands in the text, quotes and escapes included.
    pub fn raw(self) -> &'a [u8] {
        &self.text[self.start..self.end]
    }

    /// Where the token stands in the text, in bytes.
    pub fn span(self) -> Range<usize> {
        self.start..self.end
    }

    /// The decoded key in UTF-8, or in WTF-8 where it has lone surrogates, so that different keys stay different.
    pub fn decoded(self) -> Cow<'a, [u8]> {
        decode(&self.text[self.start + 1..self.end - 1])
    }

    /// The decoded key for messages; a lone surrogate becomes U+FFFD.
    pub fn to_str(self) -> Cow<'a, str> {
        decode_lossily(&self.text[self.start + 1..self.end - 1])
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Key<'_>) -> bool {
        let (ours, theirs) = (self.raw(), other.raw());
        ours == theirs
            || (ours.contains(&b'\\') || theirs.contains(&b'\\')) && self.decoded() == other.decoded()
    }
}

impl Eq for Key<'_> {}

impl PartialEq<str> for Key<'_> {
    fn eq(&self, other: &str) -> bool {
        *self.decoded() == *other.as_bytes()
    }
}

/// Prints the token.
impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.raw()))
    }
}

/// The members of an object; see [`Value::members`].
#[derive(Clone)]
pub struct Members<'a> {
    cursor: Option<Cursor<'a>>,
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let cursor = self.cursor.as_mut()?;
        if !cursor.next_item() {
            self.cursor = None;
            return None;
        }
        let key = Key::new(cursor.text, cursor.pass_key());
        Some(Member { key, value: Value::new(cursor.text, cursor.pass_value()) })
    }
}

/// The elements of an array; see [`Value::elements`].
#[derive(Clone)]
pub struct Elements<'a> {
    cursor: Option<Cursor<'a>>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let cursor = self.cursor.as_mut()?;
        if !cursor.next_item() {
            self.cursor = None;
            return None;
        }
        Some(Value::new(cursor.text, cursor.pass_value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn document(text: &str) -> Document {
        Document::parse(text.into()).unwrap_or_else(|fault| panic!("{text}: {fault}"))
    }

    #[test]
    fn a_value_gives_its_own_bytes_back() {
        let document = document("  {\"a\" : 1.0 ,\r\n\"b\\\"\":[ {} , \"]}\" , null ]}\n");
        let root = document.root();
        assert!(document.has_leading_whitespace());
        assert_eq!(format!("{root:?}"), "{\"a\" : 1.0 ,\r\n\"b\\\"\":[ {} , \"]}\" , null ]}");
        let members: Vec<String> = root.members().map(|member| format!("{member:?}")).collect();
        assert_eq!(
            members,
            ["Member { key: \"a\", value: 1.0 }", "Member { key: \"b\\\"\", value: [ {} , \"]}\" , null ] }"]
        );
        let b = root.get("b\"").unwrap();
        let elements: Vec<String> = b.elements().map(|element| format!("{element:?}")).collect();
        assert_eq!(elements, ["{}", "\"]}\"", "null"]);
        assert_eq!(b.span(), 22..42);
        assert_eq!(b.members().count() + root.elements().count(), 0);
    }

    #[test]
    fn scalars_are_read_as_they_are_written() {
        let number = |text: &str| {
            let document = document(text);
            (document.root().as_i64(), document.root().as_number_text().map(str::to_owned))
        };
        for (text, integer) in [
            ("4", Some(4)),
            ("-0", Some(0)),
            ("-12", Some(-12)),
            ("4.0", None),
            ("1e3", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
        ] {
            assert_eq!(number(text), (integer, Some(text.to_owned())));
        }
        assert_eq!(number("\"4\""), (None, None));
        assert_eq!(document("true").root().as_bool(), Some(true));
        assert_eq!(document("false").root().as_bool(), Some(false));
        assert_eq!(document("null").root().as_bool(), None);
        assert!(document("null").root().is_null());
        assert_eq!(document(r#""\ud83dx\n""#).root().as_str().as_deref(), Some("\u{fffd}x\n"));
        assert_eq!(document("\"é\"").root().as_str(), Some(Cow::Borrowed("é")));
        assert_eq!(document("1").root().as_str(), None);
    }

    #[test]
    fn every_kind_is_known_by_its_first_byte_and_described_with_its_article() {
        for (text, kind, described) in [
            ("{}", Kind::Object, "an object"),
            ("[]", Kind::Array, "an array"),
            ("\"\"", Kind::String, "a string"),
            ("-1", Kind::Number, "a number"),
            ("1", Kind::Number, "a number"),
            ("true", Kind::Bool, "a boolean"),
            ("false", Kind::Bool, "a boolean"),
            ("null", Kind::Null, "null"),
        ] {
            assert_eq!((document(text).root().kind(), kind.described()), (kind, described));
        }
    }

    #[test]
    fn keys_are_compared_decoded_and_the_last_of_a_name_counts() {
        let document = document(r#"{"a":1,"\u0061":2,"\ud83d":3,"\ud83e":4,"__proto__":5,"😀":6}"#);
        let root = document.root();
        let integer = |key: &str| root.get(key).and_then(Value::as_i64);
        assert_eq!(integer("a"), Some(2));
        assert_eq!(integer("__proto__"), Some(5));
        assert_eq!(integer("\u{1f600}"), Some(6));
        assert_eq!((integer("b"), integer("\u{fffd}")), (None, None));
        let keys: Vec<Key<'_>> = root.members().map(|member| member.key).collect();
        assert!(keys[0] == keys[1] && keys[2] != keys[3]);
        assert_eq!(keys[2].decoded().as_ref(), b"\xed\xa0\xbd");
        assert_eq!(keys[2].to_str(), "\u{fffd}");
    }
}
