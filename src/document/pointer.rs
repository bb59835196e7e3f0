//! Finding a value by its RFC 6901 pointer.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::value::{Key, Value};

/// Escapes a key for use in a pointer: `~` becomes `~0` and `/` becomes `~1`.
pub fn pointer_token(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(key)
    }
}

/// Reads an array index as RFC 6901 and M3 write it: decimal, no sign, no leading zeros.
///
/// An index beyond all memory is still one, so it counts as the largest.
pub(crate) fn array_index(token: &[u8]) -> Option<usize> {
    let canonical = token == b"0" || token.first().is_some_and(|&first| first != b'0');
    if !canonical || !token.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(std::str::from_utf8(token).ok()?.parse().unwrap_or(usize::MAX))
}

impl<'a> Value<'a> {
    /// The value that an RFC 6901 pointer leads to; the empty pointer is the value itself.
    ///
    /// `None` where nothing is, for `-`, and for what is no pointer (no `/` at the start, a `~` that is neither `~0`
    /// nor `~1`). Of a key that stands twice the last one counts, as `JSON.parse` has it.
    pub fn pointer(self, pointer: &str) -> Option<Value<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        let tokens: Option<Vec<Cow<'_, str>>> =
            pointer.strip_prefix('/')?.split('/').map(unescaped).collect();
        self.at(&tokens?)
    }

    /// The value that a path of keys and array indexes leads to; of a key that stands twice the last one.
    ///
    /// One walk over the text, however long the path is.
    pub fn at(self, path: &[impl AsRef<str>]) -> Option<Value<'a>> {
        let mut found;
        let mut cursor = self.cursor();
        // The containers that are open; the path leads through all of them. The value under the cursor is what the
        // first `open.len()` tokens lead to.
        let mut open: Vec<Level<'_>> = Vec::new();
        loop {
            match path.get(open.len()) {
                None => found = Some(Value::new(cursor.text, cursor.pass_value())),
                Some(token) => {
                    // A later member of the same name hides what was found in an earlier one.
                    found = None;
                    match Level::of(cursor.byte(), token.as_ref()) {
                        Some(level) => {
                            cursor.at += 1;
                            open.push(level);
                        }
                        None => {
                            cursor.pass_value();
                        }
                    }
                }
            }
            loop {
                let Some(level) = open.last_mut() else { return found };
                if level.find(&mut cursor) {
                    break;
                }
                open.pop();
            }
        }
    }
}

/// A container on the path, what is searched in it, and how far the search has come.
enum Level<'p> {
    Object { wanted: &'p str },
    Array { next: usize, wanted: Option<usize> },
}

impl<'p> Level<'p> {
    /// The level that a container opens whose first byte this is; `None` for a scalar, into which no path leads.
    fn of(first: u8, token: &'p str) -> Option<Level<'p>> {
        match first {
            b'{' => Some(Level::Object { wanted: token }),
            b'[' => Some(Level::Array { next: 0, wanted: array_index(token.as_bytes()) }),
            _ => None,
        }
    }

    /// Moves to the next item that the token names, or behind the container.
    fn find(&mut self, cursor: &mut Cursor<'_>) -> bool {
        while cursor.next_item() {
            let is_wanted = match self {
                Level::Object { wanted } => Key::new(cursor.text, cursor.pass_key()) == **wanted,
                Level::Array { next, wanted } => {
                    *next += 1;
                    *wanted == Some(*next - 1)
                }
            };
            if is_wanted {
                return true;
            }
            cursor.pass_value();
        }
        false
    }
}

/// A pointer's token as the key it stands for; `None` when it is none.
fn unescaped(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('~') {
        return Some(Cow::Borrowed(token));
    }
    let mut parts = token.split('~');
    let mut key = parts.next()?.to_owned();
    for part in parts {
        let (character, rest) = match part.as_bytes().first()? {
            b'0' => ('~', &part[1..]),
            b'1' => ('/', &part[1..]),
            _ => return None,
        };
        key.push(character);
        key.push_str(rest);
    }
    Some(Cow::Owned(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn pointers_lead_where_rfc_6901_says() {
        // The document of RFC 6901, section 5.
        let text =
            r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#;
        let document = Document::parse(text.into()).unwrap();
        for (pointer, value) in [
            ("", text),
            ("/foo", r#"["bar","baz"]"#),
            ("/foo/0", r#""bar""#),
            ("/", "0"),
            ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/e^f", "3"),
            ("/g|h", "4"),
            ("/i\\j", "5"),
            ("/k\"l", "6"),
            ("/ ", "7"),
            ("/m~0n", "8"),
        ] {
            let found = document.root().pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
            assert_eq!(found.raw(), value.as_bytes());
        }
        for nowhere in [
            "foo", "/foo/2", "/foo/-", "/foo/01", "/foo/+1", "/foo/", "/foo/0/x", "/x", "/m~n", "/m~2n",
            "/m~",
        ] {
            assert!(document.root().pointer(nowhere).is_none(), "{nowhere}");
        }
        assert!(document.root().pointer("/foo/99999999999999999999999").is_none());
    }

    #[test]
    fn the_last_of_equal_keys_counts_on_every_level() {
        let document =
            Document::parse(br#"{"a":{"b":1,"b":2},"c":0,"a":{"b":3,"x":9,"b":{"d":4}}}"#.to_vec()).unwrap();
        let at = |pointer: &str| document.root().pointer(pointer).map(|value| value.raw().to_vec());
        assert_eq!(at("/a/b/d").unwrap(), b"4");
        assert_eq!(at("/a/b").unwrap(), br#"{"d":4}"#);
        let document = Document::parse(br#"{"a":{"b":1},"a":{"c":2}}"#.to_vec()).unwrap();
        assert!(document.root().pointer("/a/b").is_none());
        let document = Document::parse(br#"{"a":{"b":1},"a":5}"#.to_vec()).unwrap();
        assert!(document.root().pointer("/a/b").is_none());
    }

    #[test]
    fn a_pointer_of_100_000_tokens_is_one_walk() {
        let depth = 100_000;
        let text = format!("{}1{}", "{\"a\":[0,".repeat(depth), "]}".repeat(depth));
        let document = Document::parse(text.into_bytes()).unwrap();
        assert_eq!(document.root().pointer(&"/a/1".repeat(depth)).and_then(Value::as_i64), Some(1));
    }

    #[test]
    fn a_key_is_escaped_for_a_pointer_and_back() {
        for (key, token) in [("plain", "plain"), ("a/b", "a~1b"), ("~1", "~01"), ("~/~", "~0~1~0"), ("", "")]
        {
            assert_eq!(pointer_token(key), token);
            assert_eq!(unescaped(token).as_deref(), Some(key));
        }
    }
}
