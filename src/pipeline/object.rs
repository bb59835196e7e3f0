//! JSON objects made member by member, some of whose values are text that stands elsewhere and is never retyped.

use serde::Serialize;

/// An object that is being made, as text.
pub(crate) struct Object(Vec<u8>);

impl Object {
    pub(crate) fn new() -> Object {
        Object(vec![b'{'])
    }

    /// Adds a member.
    pub(crate) fn set(&mut self, key: &str, value: impl Serialize) -> &mut Object {
        self.set_text(key, &to_text(value))
    }

    /// Adds a member whose value is this JSON text.
    pub(crate) fn set_text(&mut self, key: &str, value: &[u8]) -> &mut Object {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend(to_text(key));
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    /// Adds a member whose value is another object.
    pub(crate) fn set_object(&mut self, key: &str, value: Object) -> &mut Object {
        self.set_text(key, &value.into_text())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    pub(crate) fn into_text(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

fn to_text(value: impl Serialize) -> Vec<u8> {
    serde_json::to_vec(&value).expect("strings, numbers and lists of them are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_stands_elsewhere_is_put_in_as_it_is() {
        let mut inner = Object::new();
        inner.set_text("a", b"1.0");
        let mut object = Object::new();
        assert!(object.is_empty());
        object.set("k\n", "v\"").set("n", None::<u8>).set_text("t", br#""\ud83d""#).set_object("o", inner);
        assert!(!object.is_empty());
        assert_eq!(
            String::from_utf8(object.into_text()).unwrap(),
            r#"{"k\n":"v\"","n":null,"t":"\ud83d","o":{"a":1.0}}"#
        );
        assert_eq!(Object::new().into_text(), b"{}");
    }
}
