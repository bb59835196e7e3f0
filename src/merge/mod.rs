//! The M rules: what a patch makes of a document. Pure: text in, [`Edits`] out.
//!
//! 1. [`Patch::parse`] checks the patch and indexes it.
//! 2. [`merge`] walks through the document once, beside the patch, and notes what changes: a container is entered
//!    where both have one, every other value is passed at once. What is equal token for token is left alone.
//! 3. [`Edits`] are applied to the text by whoever writes it; every byte outside of them stays (D2).
//!
//! New members and elements go to the end of their container, in the white space of their neighbours (D2). An array
//! that replaces an array does so element by element, so that elements which stay keep their layout too: the diff
//! shows what changed and no more.
//!
//! The walk keeps its open containers on the heap and never looks at a value twice but to compare it, so time and
//! memory are linear in document and patch at any depth (D3).

mod edits;
mod frame;
mod patch;
mod surroundings;

pub use crate::layout::Nulls;
pub use edits::Edits;
pub use patch::Patch;

use std::path::Path;

use crate::document::{Cursor, Document, Kind, Value};
use crate::error::Error;
use crate::layout::{self, OWN_STYLE};
use frame::{Frame, Target, Wish};

/// Why a patch cannot be merged into a document (D6, M3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// RFC 6901 pointer of the field.
    pub pointer: String,
    /// Which rule, in words, and the way out.
    pub reason: String,
}

impl Refusal {
    /// The refusal of an edit of the state file at `path`.
    pub fn of(self, path: &Path) -> Error {
        Error::Refused { path: path.to_owned(), pointer: self.pointer, reason: self.reason }
    }
}

/// What the patch makes of a document whose root is an object (M1, M2, M3).
///
/// A patch that is merged once changes nothing when it is merged again.
///
/// # Errors
///
/// A [`Refusal`] where the patch names a key that stands twice in the object it edits (D6), or leaves a gap in an array
/// (M3).
///
/// ```
/// use pipestate::document::Document;
/// use pipestate::merge::{Nulls, Patch, merge};
///
/// let document = Document::parse(b"{\n  \"4\": { \"status\": \"running\" }\n}\n".to_vec()).unwrap();
/// let patch = Patch::parse(br#"{"4": {"status": "done"}, "5": {"status": "pending"}}"#.to_vec(), "the patch").unwrap();
/// let edits = merge(&document, &patch, Nulls::Store).unwrap();
/// assert_eq!(
///     edits.apply(document.text()),
///     b"{\n  \"4\": { \"status\": \"done\" },\n  \"5\": { \"status\": \"pending\" }\n}\n",
/// );
/// ```
pub fn merge(document: &Document, patch: &Patch, nulls: Nulls) -> Result<Edits, Refusal> {
    let cursor = document.root().cursor();
    let mut walk = Walk { patch, nulls, cursor, frames: Vec::new(), edits: Edits::default() };
    walk.visit(Patch::ROOT)?;
    while let Some(frame) = walk.frames.last_mut() {
        match frame.next_item(&mut walk.cursor) {
            Some(Ok(Wish::Keep)) => {
                frame.keep(&mut walk.edits);
                walk.cursor.pass_value();
            }
            Some(Ok(Wish::Delete)) => {
                frame.delete();
                walk.cursor.pass_value();
            }
            Some(Ok(Wish::Set(node))) => {
                frame.keep(&mut walk.edits);
                walk.visit(node)?;
            }
            Some(Err(conflict)) => return Err(conflict.refusal(patch)),
            None => walk.close()?,
        }
    }
    Ok(walk.edits)
}

/// The document that the patch is by itself (M4): its members verbatim and as often as they are there, laid out by D1.
pub fn replace(patch: &Patch) -> Vec<u8> {
    layout::document(patch.verbatim(), Nulls::Store)
}

/// The document that the patch makes of a missing file (M5), laid out by D1.
pub fn create(patch: &Patch, nulls: Nulls) -> Vec<u8> {
    layout::document(patch.root(), nulls)
}

/// The walk through a document beside a patch.
struct Walk<'d, 'p> {
    patch: &'p Patch,
    nulls: Nulls,
    cursor: Cursor<'d>,
    /// The containers that both have, from the root to the one that the cursor is in.
    frames: Vec<Frame<'d, 'p>>,
    edits: Edits,
}

impl<'d, 'p> Walk<'d, 'p> {
    /// Makes the value at the cursor what a node of the patch says: enters it, or passes it.
    fn visit(&mut self, node: usize) -> Result<(), Refusal> {
        match self.target(node) {
            Some(target) if !self.cursor.is_at_container_with_items() => self.fill(node, target),
            Some(target) => {
                let frame = Frame::enter(&mut self.cursor, target, self.frames.last());
                self.frames.push(frame);
                Ok(())
            }
            None => {
                self.replace(node);
                Ok(())
            }
        }
    }

    /// How the container at the cursor becomes what the node says, item by item; `None` when its value is replaced.
    fn target(&self, node: usize) -> Option<Target<'p>> {
        let merges = !self.frames.last().is_some_and(|frame| frame.target.is_whole());
        match (self.patch.value(node).kind(), Kind::of(self.cursor.byte())) {
            (Kind::Object, Kind::Object) if merges => {
                Some(Target::members(self.patch, node, self.nulls == Nulls::Delete))
            }
            (Kind::Object, Kind::Array) if merges && self.nulls == Nulls::Store => {
                Target::elements(self.patch, node)
            }
            (Kind::Array, Kind::Array) => Some(Target::whole(self.patch, node)),
            _ => None,
        }
    }

    /// Puts the node's value in the place of the empty container at the cursor.
    fn fill(&mut self, node: usize, target: Target<'p>) -> Result<(), Refusal> {
        let additions = target.additions(0).map_err(|conflict| conflict.refusal(self.patch))?;
        let span = self.cursor.pass_value();
        if additions.is_empty() {
            return Ok(());
        }
        // Indexes as keys stand for an array (M3).
        let array = matches!(target, Target::Elements { .. }).then(|| self.array_of(&additions));
        let value = match &array {
            Some(array) => Value::new(array, 0..array.len()),
            None => self.patch.value(node),
        };
        let style =
            self.frames.last().map_or(OWN_STYLE, |frame| frame.surroundings.style_of_new(value.kind()));
        let nulls = self.nulls_at_cursor();
        self.edits.replace(span, |out| layout::print(value, &style, nulls, out));
        Ok(())
    }

    /// The text of an array of these nodes' values.
    fn array_of(&self, nodes: &[usize]) -> Vec<u8> {
        let values: Vec<&[u8]> = nodes.iter().map(|&node| self.patch.value(node).raw()).collect();
        [b"[", values.join(&b',').as_slice(), b"]"].concat()
    }

    /// Puts the node's value in the place of the value at the cursor, unless they are the same.
    fn replace(&mut self, node: usize) {
        let wanted = self.patch.value(node);
        let nulls = self.nulls_at_cursor();
        let found = Value::new(self.cursor.text, self.cursor.pass_value());
        if wanted.is_same(found) {
            return;
        }
        let style = match self.frames.last() {
            Some(frame) => frame.surroundings.style_in_place_of(found.span(), wanted.kind()),
            None => OWN_STYLE,
        };
        self.edits.replace(found.span(), |out| layout::print(wanted, &style, nulls, out));
    }

    /// What a `null` means in what is written at the cursor: in an array it is a value.
    fn nulls_at_cursor(&self) -> Nulls {
        let in_array = self.frames.last().is_some_and(|frame| frame.target.is_whole());
        if in_array { Nulls::Store } else { self.nulls }
    }

    /// Leaves the innermost container, whose end has been passed.
    fn close(&mut self) -> Result<(), Refusal> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let additions = frame.additions().map_err(|conflict| conflict.refusal(self.patch))?;
        let (patch, nulls) = (self.patch, self.nulls_at_cursor());
        frame.close(self.cursor.at, &additions, &mut self.edits, |node, out| {
            if let Target::Members(_) = frame.target {
                out.extend_from_slice(patch.key(node).raw());
                out.extend_from_slice(frame.surroundings.colon());
            }
            let value = patch.value(node);
            layout::print(value, &frame.surroundings.style_of_new(value.kind()), nulls, out);
        });
        self.frames.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
