//! The patch: parsed, free of duplicate keys, and indexed in one pass.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::ops::Range;

use crate::document::{Cursor, Document, Key, Kind, Value, drop_bom, pointer_token};
use crate::error::Error;

/// Up to this many keys it is quicker to compare them all than to hash one.
pub(super) const FEW_KEYS: usize = 8;

/// What a write is asked to change: a JSON object (M6).
#[derive(Debug)]
pub struct Patch {
    /// The text as it was handed in.
    verbatim: Document,
    /// The same with every key once, where that is another text.
    resolved: Option<Document>,
    index: Index,
}

impl Patch {
    /// Parses what was handed in; `origin` names it in errors: `stdin`, `the patch`.
    ///
    /// One byte order mark at the start is dropped (D4). Of a key that is there twice, at any depth, the last value
    /// wins and stands in the first one's place, as `JSON.parse` has it (D6).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidJson`] for what is not JSON (D3), [`Error::NotAnObject`] for JSON that is no object (M6).
    pub fn parse(text: Vec<u8>, origin: &'static str) -> Result<Patch, Error> {
        let verbatim =
            Document::parse(drop_bom(text)).map_err(|fault| Error::InvalidJson { origin, fault })?;
        let kind = verbatim.root().kind();
        if kind != Kind::Object {
            return Err(Error::NotAnObject { origin, found: kind.described() });
        }
        let (index, had_duplicates) = Index::build(verbatim.root());
        if !had_duplicates {
            return Ok(Patch { verbatim, resolved: None, index });
        }
        let resolved = Document::parse(index.minified(verbatim.text())).map_err(|fault| {
            Error::Bug(format!("a patch with duplicate keys was resolved to no JSON: {fault}"))
        })?;
        let (index, _) = Index::build(resolved.root());
        Ok(Patch { verbatim, resolved: Some(resolved), index })
    }

    /// The object as it was handed in, duplicate keys included (M4).
    pub fn verbatim(&self) -> Value<'_> {
        self.verbatim.root()
    }

    /// The object that is merged: every key once.
    pub fn root(&self) -> Value<'_> {
        self.resolved().root()
    }

    fn resolved(&self) -> &Document {
        self.resolved.as_ref().unwrap_or(&self.verbatim)
    }

    /// The node of the root object.
    pub(super) const ROOT: usize = 0;

    /// The key that leads to a node.
    pub(super) fn key(&self, node: usize) -> Key<'_> {
        Key::new(self.resolved().text(), self.index.nodes[node].key.clone())
    }

    /// The value of a node.
    pub(super) fn value(&self, node: usize) -> Value<'_> {
        Value::new(self.resolved().text(), self.index.nodes[node].value.clone())
    }

    /// The RFC 6901 pointer of a node to which only keys lead.
    pub(super) fn pointer(&self, mut node: usize) -> String {
        let mut path = Vec::new();
        while node != Self::ROOT {
            path.push(node);
            node = self.index.nodes[node].parent;
        }
        let token = |&node: &usize| format!("/{}", pointer_token(&self.key(node).to_str()));
        path.iter().rev().map(token).collect()
    }

    /// The nodes of a container's items, in their order.
    pub(super) fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        self.index.children(node)
    }
}

/// All values of a text, linked, so that no level has to be walked over to find the next.
#[derive(Debug)]
struct Index {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    /// Where the key stands that leads here; empty in arrays and for the root.
    key: Range<usize>,
    value: Range<usize>,
    /// The container that it is in; of the root the root itself.
    parent: usize,
    first_child: Option<NonZeroUsize>,
    next: Option<NonZeroUsize>,
}

/// A container that is being indexed, and its last item so far.
struct Open {
    node: usize,
    last_child: Option<usize>,
}

impl Index {
    /// Indexes a value in one walk; the flag says whether a key was there twice, in which case the nodes have been
    /// linked as if it had been there once.
    fn build(root: Value<'_>) -> (Index, bool) {
        let mut index = Index { nodes: Vec::new() };
        let mut had_duplicates = false;
        let mut cursor = root.cursor();
        let mut open = Vec::new();
        index.add(0..0, &mut cursor, &mut open);
        while let Some(parent) = open.last() {
            let node = parent.node;
            let is_object = cursor.text[index.nodes[node].value.start] == b'{';
            if cursor.next_item() {
                let key = if is_object { cursor.pass_key() } else { 0..0 };
                index.add(key, &mut cursor, &mut open);
            } else {
                index.nodes[node].value.end = cursor.at;
                had_duplicates |= is_object && index.let_the_last_win(node, cursor.text);
                open.pop();
            }
        }
        (index, had_duplicates)
    }

    /// Adds the value at the cursor as the next item of the innermost open container; a container is opened.
    fn add(&mut self, key: Range<usize>, cursor: &mut Cursor<'_>, open: &mut Vec<Open>) {
        let node = self.nodes.len();
        if let Some(parent) = open.last_mut() {
            let link = NonZeroUsize::new(node);
            match parent.last_child.replace(node) {
                Some(before) => self.nodes[before].next = link,
                None => self.nodes[parent.node].first_child = link,
            }
        }
        let is_container = matches!(cursor.byte(), b'{' | b'[');
        let value = if is_container { cursor.at..cursor.at } else { cursor.pass_value() };
        let parent = open.last().map_or(node, |parent| parent.node);
        self.nodes.push(Node { key, value, parent, first_child: None, next: None });
        if is_container {
            cursor.at += 1;
            open.push(Open { node, last_child: None });
        }
    }

    /// Unlinks later members of a key and gives the last one's value to the first; says whether there were any.
    fn let_the_last_win(&mut self, object: usize, text: &[u8]) -> bool {
        if !self.has_duplicates(object, text) {
            return false;
        }
        let mut firsts: HashMap<Cow<'_, [u8]>, usize> = HashMap::new();
        let mut before = object;
        for node in self.children(object).collect::<Vec<_>>() {
            let first = *firsts.entry(self.decoded_key(node, text)).or_insert(node);
            if first == node {
                before = node;
                continue;
            }
            self.nodes[first].value = self.nodes[node].value.clone();
            self.nodes[first].first_child = self.nodes[node].first_child;
            self.nodes[before].next = self.nodes[node].next;
        }
        true
    }

    fn has_duplicates(&self, object: usize, text: &[u8]) -> bool {
        let is_small = self.children(object).nth(FEW_KEYS).is_none();
        if is_small {
            let key = |node: usize| Key::new(text, self.nodes[node].key.clone());
            return self.children(object).any(|node| {
                self.children(object).take_while(|&other| other != node).any(|other| key(other) == key(node))
            });
        }
        let mut seen = HashSet::new();
        !self.children(object).all(|node| seen.insert(self.decoded_key(node, text)))
    }

    fn decoded_key<'t>(&self, node: usize, text: &'t [u8]) -> Cow<'t, [u8]> {
        Key::new(text, self.nodes[node].key.clone()).decoded()
    }

    fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        let number = |link: Option<NonZeroUsize>| link.map(NonZeroUsize::get);
        std::iter::successors(number(self.nodes[node].first_child), move |&child| {
            number(self.nodes[child].next)
        })
    }

    /// The indexed value without white space, made from the links, so that a hidden duplicate is not in it.
    fn minified(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        // Containers whose items are being printed, with the next item.
        let mut open: Vec<(u8, Option<NonZeroUsize>)> = Vec::new();
        let mut node = &self.nodes[Patch::ROOT];
        loop {
            let first = text[node.value.start];
            if matches!(first, b'{' | b'[') {
                out.push(first);
                open.push((first, node.first_child));
            } else {
                out.extend_from_slice(&text[node.value.clone()]);
            }
            node = loop {
                let Some((bracket, next)) = open.last_mut() else { return out };
                match *next {
                    Some(child) => {
                        if !matches!(out.last(), Some(b'{' | b'[')) {
                            out.push(b',');
                        }
                        let child = &self.nodes[child.get()];
                        *next = child.next;
                        break child;
                    }
                    None => {
                        // `{` and `}`, `[` and `]` are two apart.
                        out.push(*bracket + 2);
                        open.pop();
                    }
                }
            };
            if !node.key.is_empty() {
                out.extend_from_slice(&text[node.key.clone()]);
                out.push(b':');
            }
        }
    }
}
