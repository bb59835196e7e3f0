//! The members of an object, collected in one walk over its text, together with those of the objects in it that the
//! rules look into. So a document is walked over once after it was parsed, however many questions are asked of it.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use crate::document::{Cursor, Key, Kind as JsonKind, Member, Value};

/// Which objects in an object are looked into; all else is passed over.
pub(super) enum Shape {
    /// None.
    Flat,
    /// Those that are the values of these keys.
    Named(&'static [(&'static str, Shape)]),
    /// All of them.
    Each(&'static Shape),
}

impl Shape {
    /// How the object at this key is looked into, if it is.
    fn inside(&self, key: Key<'_>) -> Option<&Shape> {
        match self {
            Shape::Flat => None,
            Shape::Named(shapes) => shapes.iter().find(|(name, _)| key == **name).map(|(_, shape)| shape),
            Shape::Each(shape) => Some(shape),
        }
    }
}

/// The members of an object. Of a key that stands twice the last one counts, as `JSON.parse` has it.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    /// All of them, in their order.
    members: Vec<Member<'a>>,
    /// The objects that were looked into, by the place of their member, ascending.
    entered: Vec<(usize, Fields<'a>)>,
    /// The places of the members, ordered by the hash of their decoded key and then by place.
    by_key: Vec<(u64, usize)>,
    /// The places of members whose key comes again, ascending.
    hidden: Vec<usize>,
    /// The places of members whose key came before, ascending.
    twice: Vec<usize>,
}

impl<'a> Fields<'a> {
    /// Collects the members of an object; of any other value there are none.
    pub(super) fn of(value: Value<'a>, shape: &Shape) -> Fields<'a> {
        match value.kind() {
            JsonKind::Object => Fields::read(&mut value.cursor(), shape),
            _ => Fields::default(),
        }
    }

    /// Collects the members of the object that begins at the cursor and passes it. Goes as deep as the shape, whatever
    /// the depth of the document.
    fn read(cursor: &mut Cursor<'a>, shape: &Shape) -> Fields<'a> {
        let mut fields = Fields::default();
        // The opening bracket.
        cursor.at += 1;
        while cursor.next_item() {
            let place = fields.members.len();
            let key = Key::new(cursor.text, cursor.pass_key());
            let start = cursor.at;
            match shape.inside(key) {
                Some(shape) if cursor.byte() == b'{' => {
                    fields.entered.push((place, Fields::read(cursor, shape)))
                }
                _ => drop(cursor.pass_value()),
            }
            fields.members.push(Member { key, value: Value::new(cursor.text, start..cursor.at) });
            fields.by_key.push((xxh3_64(&key.decoded()), place));
        }
        fields.by_key.sort_unstable();
        fields.find_repeated();
        fields
    }

    /// Finds the keys that stand more than once.
    fn find_repeated(&mut self) {
        let key = |place: usize| self.members[place].key;
        let (mut hidden, mut twice) = (Vec::new(), Vec::new());
        for same_hash in self.by_key.chunk_by(|one, other| one.0 == other.0) {
            for (at, &(_, place)) in same_hash.iter().enumerate() {
                let mut later = same_hash[at + 1..].iter().rev().map(|&(_, later)| later);
                if let Some(last) = later.find(|&later| key(later) == key(place)) {
                    hidden.push(place);
                    twice.push(last);
                }
            }
        }
        hidden.sort_unstable();
        twice.sort_unstable();
        twice.dedup();
        (self.hidden, self.twice) = (hidden, twice);
    }

    fn place(&self, key: &str) -> Option<usize> {
        let hash = xxh3_64(key.as_bytes());
        let end = self.by_key.partition_point(|&(other, _)| other <= hash);
        let same_hash = self.by_key[..end].iter().rev().take_while(|&&(other, _)| other == hash);
        same_hash.map(|&(_, place)| place).find(|&place| self.members[place].key == *key)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.place(key).map(|place| self.members[place].value)
    }

    /// Takes out the members of the object that is the value of a key, if the shape looks into it.
    pub(super) fn take_inside(&mut self, key: &str) -> Option<Fields<'a>> {
        let place = self.place(key)?;
        let at = self.entered.binary_search_by_key(&place, |&(place, _)| place).ok()?;
        Some(self.entered.remove(at).1)
    }

    /// The members, each key once.
    pub(super) fn iter(&self) -> impl Iterator<Item = Member<'a>> {
        let members = self.members.iter().enumerate();
        members.filter(|(place, _)| self.hidden.binary_search(place).is_err()).map(|(_, &member)| member)
    }

    /// The keys that stand more than once, each once.
    pub(super) fn twice(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.twice.iter().map(|&place| self.members[place].key.to_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn values(fields: &Fields<'_>) -> Vec<String> {
        fields.iter().map(|member| format!("{:?}", member.value)).collect()
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_repeated_ones_are_named_once() {
        let text = r#"{"b":1,"a":2,"\u0061":3,"c":4,"b":5,"a":6,"\ud83d":7,"\ud83e":8}"#;
        let document = Document::parse(text.into()).unwrap();
        let fields = Fields::of(document.root(), &Shape::Flat);
        assert_eq!(fields.get("a").and_then(Value::as_i64), Some(6));
        assert_eq!(fields.get("c").and_then(Value::as_i64), Some(4));
        assert!(fields.get("d").is_none());
        assert_eq!(fields.twice().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(values(&fields), ["4", "5", "6", "7", "8"]);
    }

    #[test]
    fn only_what_the_shape_names_is_looked_into() {
        const SHAPE: Shape = Shape::Named(&[("a", Shape::Each(&Shape::Flat)), ("b", Shape::Flat)]);
        let text = r#" {"a":{"x":{"y":[{}]},"z":1}, "b":{"c":{}}, "d":{"e":2}, "a" : {"x" : {"w" : 3 }} }"#;
        let document = Document::parse(text.into()).unwrap();
        let mut fields = Fields::of(document.root(), &SHAPE);
        assert_eq!(values(&fields), [r#"{"c":{}}"#, r#"{"e":2}"#, r#"{"x" : {"w" : 3 }}"#]);
        let mut a = fields.take_inside("a").unwrap();
        assert_eq!(values(&a), [r#"{"w" : 3 }"#]);
        assert_eq!(values(&a.take_inside("x").unwrap()), ["3"]);
        let mut b = fields.take_inside("b").unwrap();
        assert_eq!(values(&b), ["{}"]);
        assert!(b.take_inside("c").is_none());
        assert!(fields.take_inside("d").is_none());
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for text in ["[1]", "1", "null", "\"a\"", "{}"] {
            let document = Document::parse(text.into()).unwrap();
            assert_eq!(Fields::of(document.root(), &Shape::Flat).iter().count(), 0);
        }
    }
}
