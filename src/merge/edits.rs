//! What an edit changes in a text: the bytes that go, and the bytes that come in their place.

use std::ops::Range;

/// Sorted replacements of parts of one text that do not overlap; every other byte stays (D2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    splices: Vec<Splice>,
    /// The text of all replacements, one after another.
    inserted: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Splice {
    /// What goes, in the old text.
    span: Range<usize>,
    /// What comes, in `inserted`.
    replacement: Range<usize>,
}

impl Edits {
    /// Whether the text stays as it is, so that there is nothing to write (A6).
    pub fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    /// The replacements in order: where in the old text, and by what.
    pub fn iter(&self) -> impl Iterator<Item = (Range<usize>, &[u8])> {
        self.splices.iter().map(|splice| (splice.span.clone(), &self.inserted[splice.replacement.clone()]))
    }

    /// The new text as slices in order, of which only the replacements are copies: for `writev` and for hashing.
    ///
    /// `text` is the text that the edits were computed for.
    pub fn slices<'a>(&'a self, text: &'a [u8]) -> Vec<&'a [u8]> {
        let mut slices = Vec::with_capacity(self.splices.len() * 2 + 1);
        let mut at = 0;
        for (span, replacement) in self.iter() {
            slices.push(&text[at..span.start]);
            slices.push(replacement);
            at = span.end;
        }
        slices.push(&text[at..]);
        slices.retain(|slice| !slice.is_empty());
        slices
    }

    /// The new text.
    pub fn apply(&self, text: &[u8]) -> Vec<u8> {
        self.slices(text).concat()
    }

    /// Replaces `span`, which lies behind all others, by what `write` appends.
    pub(super) fn replace(&mut self, span: Range<usize>, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(
            self.splices.last().is_none_or(|last| last.span.end <= span.start),
            "edits are made in order"
        );
        let start = self.inserted.len();
        write(&mut self.inserted);
        self.splices.push(Splice { span, replacement: start..self.inserted.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_outside_of_the_replacements_stays() {
        let text = b"0123456789";
        let mut edits = Edits::default();
        assert!(edits.is_empty());
        assert_eq!(edits.apply(text), text);
        assert_eq!(edits.slices(b""), Vec::<&[u8]>::new());
        edits.replace(0..1, |out| out.extend(b"ab"));
        edits.replace(3..3, |out| out.extend(b"c"));
        edits.replace(3..5, |_| ());
        edits.replace(9..10, |out| out.extend(b"d"));
        assert!(!edits.is_empty());
        assert_eq!(edits.slices(text), [&b"ab"[..], b"12", b"c", b"5678", b"d"]);
        assert_eq!(edits.apply(text), b"ab12c5678d");
    }
}
