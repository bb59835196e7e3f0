//! A container of the document that is being walked through, and what the patch wants of it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::Refusal;
use super::edits::Edits;
use super::patch::{FEW_KEYS, Patch};
use super::surroundings::Surroundings;
use crate::document::{Cursor, Key, array_index};

/// What the patch wants of an item of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Nothing: it stays as it is.
    Keep,
    /// It goes.
    Delete,
    /// It becomes what this node of the patch says.
    Set(usize),
}

/// Why a container cannot become what the patch wants; the node is the one that stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conflict {
    /// The key of the node stands twice in the object (D6).
    KeyTwice { node: usize },
    /// The index of the node lies behind the end of the array, and not next to it (M3).
    Gap { node: usize, length: usize },
}

impl Conflict {
    /// The conflict in words.
    pub(super) fn refusal(self, patch: &Patch) -> Refusal {
        match self {
            Conflict::KeyTwice { node } => Refusal {
                pointer: patch.pointer(node),
                reason: "the key stands twice in the object, so it is open which of the two is meant; remove one of \
                         them"
                    .to_owned(),
            },
            Conflict::Gap { node, length } => Refusal {
                pointer: patch.pointer(node),
                reason: format!(
                    "the array ends before index {length}, and an append leaves no gap; go on with {length}"
                ),
            },
        }
    }
}

/// What the patch wants of a container.
pub(super) enum Target<'p> {
    /// An object is merged key by key (M1).
    Members(Members<'p>),
    /// Single elements of an array are merged (M3): index and node, in the order of the indexes.
    Elements { wanted: Vec<(usize, usize)>, reached: usize },
    /// An array becomes another one (M1).
    Whole { wanted: Vec<usize>, reached: usize },
}

impl<'p> Target<'p> {
    /// Merging an object of the patch onto an object.
    pub(super) fn members(patch: &'p Patch, object: usize, delete_nulls: bool) -> Target<'p> {
        Target::Members(Members::of(patch, object, delete_nulls))
    }

    /// Merging an object of the patch onto an array; `None` unless all of its keys are indexes (M3).
    pub(super) fn elements(patch: &Patch, object: usize) -> Option<Target<'p>> {
        let index_of = |node| Some((array_index(&patch.key(node).decoded())?, node));
        let mut wanted = patch.children(object).map(index_of).collect::<Option<Vec<_>>>()?;
        wanted.sort_unstable();
        Some(Target::Elements { wanted, reached: 0 })
    }

    /// Putting an array of the patch in the place of an array.
    pub(super) fn whole(patch: &Patch, array: usize) -> Target<'p> {
        Target::Whole { wanted: patch.children(array).collect(), reached: 0 }
    }

    /// Whether the items are replaced rather than merged: no rule for merging holds inside of an array (M1).
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Target::Whole { .. })
    }

    /// What is wanted of the item at `index` with that key; to be asked for each item in order.
    fn wish(&mut self, index: usize, key: Option<Key<'_>>) -> Result<Wish, Conflict> {
        match self {
            Target::Members(members) => key.map_or(Ok(Wish::Keep), |key| members.wish(key)),
            Target::Elements { wanted, reached } => Ok(match wanted.get(*reached) {
                Some(&(wanted_index, node)) if wanted_index == index => {
                    *reached += 1;
                    Wish::Set(node)
                }
                _ => Wish::Keep,
            }),
            Target::Whole { wanted, reached } => Ok(match wanted.get(*reached) {
                Some(&node) => {
                    *reached += 1;
                    Wish::Set(node)
                }
                None => Wish::Delete,
            }),
        }
    }

    /// The nodes that come behind the `length` items which have been asked for.
    pub(super) fn additions(&self, length: usize) -> Result<Vec<usize>, Conflict> {
        match self {
            Target::Members(members) => Ok(members.not_met()),
            Target::Whole { wanted, reached } => Ok(wanted[*reached..].to_vec()),
            Target::Elements { wanted, reached } => {
                let mut additions = Vec::new();
                for &(index, node) in &wanted[*reached..] {
                    if index != length + additions.len() {
                        return Err(Conflict::Gap { node, length });
                    }
                    additions.push(node);
                }
                Ok(additions)
            }
        }
    }
}

/// The members that the patch has for an object.
pub(super) struct Members<'p> {
    entries: Vec<Entry<'p>>,
    /// The place of each key in `entries`, where there are too many to look through.
    places: Option<HashMap<Cow<'p, [u8]>, usize>>,
}

struct Entry<'p> {
    key: Cow<'p, [u8]>,
    node: usize,
    /// The member has to go (M2).
    is_deletion: bool,
    /// The key has been seen in the document.
    met: bool,
}

impl<'p> Members<'p> {
    fn of(patch: &'p Patch, object: usize, delete_nulls: bool) -> Members<'p> {
        let entry = |node| Entry {
            key: patch.key(node).decoded(),
            node,
            is_deletion: delete_nulls && patch.value(node).is_null(),
            met: false,
        };
        let entries: Vec<Entry<'p>> = patch.children(object).map(entry).collect();
        let places = (entries.len() > FEW_KEYS)
            .then(|| entries.iter().enumerate().map(|(place, entry)| (entry.key.clone(), place)).collect());
        Members { entries, places }
    }

    fn wish(&mut self, key: Key<'_>) -> Result<Wish, Conflict> {
        let key = key.decoded();
        let place = match &self.places {
            Some(places) => places.get(&*key).copied(),
            None => self.entries.iter().position(|entry| entry.key == key),
        };
        let Some(place) = place else { return Ok(Wish::Keep) };
        let entry = &mut self.entries[place];
        if entry.met {
            return Err(Conflict::KeyTwice { node: entry.node });
        }
        entry.met = true;
        Ok(if entry.is_deletion { Wish::Delete } else { Wish::Set(entry.node) })
    }

    fn not_met(&self) -> Vec<usize> {
        self.entries.iter().filter(|entry| !entry.met && !entry.is_deletion).map(|entry| entry.node).collect()
    }
}

/// A container of the document that is being walked through. It has at least one item.
pub(super) struct Frame<'d, 'p> {
    pub(super) target: Target<'p>,
    pub(super) surroundings: Surroundings<'d>,
    is_object: bool,
    /// Behind the opening bracket.
    inside: usize,
    /// How many items have been reached.
    count: usize,
    /// Where the first item begins.
    first_start: usize,
    /// The item that has been reached: where it begins, and its value, and whether it stays.
    start: usize,
    value_start: usize,
    stays: bool,
    /// Where the item before it ends; at the end of the container, the last one.
    previous_end: usize,
    /// Where the last item ends that stays.
    kept_end: Option<usize>,
    /// Whether items behind that one have to go, and no edit says so yet.
    has_doomed: bool,
}

impl<'d, 'p> Frame<'d, 'p> {
    /// Enters the container at the cursor.
    pub(super) fn enter(
        cursor: &mut Cursor<'d>,
        target: Target<'p>,
        outer: Option<&Frame<'d, 'p>>,
    ) -> Frame<'d, 'p> {
        let open = cursor.at;
        cursor.at += 1;
        Frame {
            target,
            surroundings: Surroundings::enter(cursor.text, open, outer.map(|outer| &outer.surroundings)),
            is_object: cursor.text[open] == b'{',
            inside: cursor.at,
            count: 0,
            first_start: cursor.at,
            start: cursor.at,
            value_start: cursor.at,
            stays: false,
            previous_end: cursor.at,
            kept_end: None,
            has_doomed: false,
        }
    }

    /// Goes on to the value of the next item and tells what the patch wants of it; `None` at the end of the container,
    /// which is passed.
    pub(super) fn next_item(&mut self, cursor: &mut Cursor<'d>) -> Option<Result<Wish, Conflict>> {
        let end = cursor.at;
        if self.count > 0 {
            self.surroundings.note_value(self.value_start..end);
            self.previous_end = end;
            if self.stays {
                self.kept_end = Some(end);
            }
        }
        if !cursor.next_item() {
            return None;
        }
        self.start = cursor.at;
        if self.count > 0 {
            self.surroundings.note_separator(end..self.start);
        } else {
            self.first_start = self.start;
        }
        let key = self.is_object.then(|| {
            let key = cursor.pass_key();
            self.surroundings.note_colon(key.end..cursor.at);
            Key::new(cursor.text, key)
        });
        self.value_start = cursor.at;
        self.count += 1;
        Some(self.target.wish(self.count - 1, key))
    }

    /// The item that has been reached stays, whatever its value becomes.
    pub(super) fn keep(&mut self, edits: &mut Edits) {
        self.stays = true;
        if std::mem::take(&mut self.has_doomed) {
            // A comma goes with those before the item: the one before them, or else the one behind them.
            let span = match self.kept_end {
                Some(kept_end) => kept_end..self.previous_end,
                None => self.first_start..self.start,
            };
            edits.replace(span, |_| ());
        }
    }

    /// The item that has been reached goes.
    pub(super) fn delete(&mut self) {
        self.stays = false;
        self.has_doomed = true;
    }

    /// The nodes that are new in this container, whose end has been reached.
    pub(super) fn additions(&self) -> Result<Vec<usize>, Conflict> {
        self.target.additions(self.count)
    }

    /// Notes what happens at the end of the container, which is before `end`: the last items go, new ones come.
    ///
    /// `write` appends a new item, without what separates it from the one before.
    pub(super) fn close(
        &self,
        end: usize,
        additions: &[usize],
        edits: &mut Edits,
        mut write: impl FnMut(usize, &mut Vec<u8>),
    ) {
        let span: Range<usize> = match self.kept_end {
            Some(kept_end) => kept_end..self.previous_end,
            None if additions.is_empty() => self.inside..end - 1,
            None => self.first_start..self.previous_end,
        };
        if span.is_empty() && additions.is_empty() {
            return;
        }
        edits.replace(span, |out| {
            for (place, &node) in additions.iter().enumerate() {
                if place > 0 || self.kept_end.is_some() {
                    self.surroundings.separate(out);
                }
                write(node, out);
            }
        });
    }
}
