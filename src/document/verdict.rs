//! Whether a text is JSON, found out 64 bytes at a time: twice as fast as [`super::scan`] walks over it.
//!
//! It says yes or nothing. Where a text breaks the grammar and how is the scanner's to say, which then runs as well: bad
//! text may take its time. What is refused here is refused there; the tests below and the fuzz target hold the two to it.
//! Left to the scanner as well is a root that is no container, which no state has, and everything on processors without AVX2:
//! on sixteen bytes at once this is no faster.
//!
//! The idea, after simdjson ("Parsing gigabytes of JSON per second", Langdale and Lemire, 2019), is to turn a block of 64
//! bytes into words of 64 bits, one for each sort of byte, the first byte's bit lowest ([`super::block`]), and to do what is to be
//! done for 64 bytes by a few operations on these words. simdjson goes on to visit one token after the other. Here the
//! grammar is checked on the words too, so that keys, colons, commas, strings and indentation are never visited at all;
//! only brackets and what stands bare (numbers, `true`, `false`, `null`) are, one by one.
//!
//! A piece of [`ROWS`] blocks goes through these steps, each over all of its blocks, while it lies in the first cache:
//!
//! 1. UTF-8 is checked.
//! 2. **Strings.** Quotes that are escaped are dropped; of the others every first opens and every second closes, so that the parity of
//!    the quotes up to a byte tells whether it lies in a string ([`super::strings`]). Everything else that was marked inside of
//!    strings is dropped; control characters there are wrong. Each escape is looked at.
//! 3. **Nesting.** The brackets are matched, a bit for each open one, and every byte learns whether the container around it is an object.
//! 4. **Grammar.** What may follow a token depends on the token and, for a comma, on the container. To find the token behind a
//!    token, add the word of white space to the word of tokens, moved up by one bit: a bit that falls on white space carries
//!    through to the end of the run and comes to lie on the next token, one that falls on a token stays there. With spaces as dots:
//!
//!    ```text
//!    text                {...."a":.1}        the lowest bit is the leftmost
//!    tokens of a sort    1                   here: what wants a key
//!    moved by one         1
//!    white space          1111    1
//!    sum                      1   1
//!    without white space      1              a key has to begin here
//!    ```
//!
//!    The same addition over the bytes of strings leads from a key's first quote to the colon behind it. All tokens that follow
//!    nothing of this are behind a value, and only a comma or a closing bracket may be. (Behind the first wrong token the words may
//!    be wrong themselves. It is found all the same: carries only go up, to what comes later in the text.)
//! 5. **Bare values** are read by the scanner's own functions, and have to end where their run of bytes ends.
//!
//! What a block has to know of those before is a bit or a word for each of these ([`Strings`], [`Brackets`], [`Grammar`]). There is
//! no index of the document: memory is what [`Row`]s take, a bit for each open bracket, and a few bytes for each [`LONG`] value.

use std::ops::Range;

use super::block::{self, BLOCK, Lanes, Pass, block_at};
use super::scan::{ARRAY, Nesting, OBJECT, bare_end, escape_end};
use super::skip::LONG;
use super::strings::Strings;
use super::words::whitespace_end;

/// A container that is the root of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) span: Range<usize>,
    /// Those of its items that are containers of at least [`LONG`] bytes, in order.
    pub(super) long_items: Vec<Range<usize>>,
}

/// The root of a text, if that is UTF-8 and one JSON value (D3) that is a container.
pub(super) fn root(text: &[u8]) -> Option<Root> {
    let start = root_start(text)?;
    let mut heap = Heap::default();
    let end = block::run_if_wide(RootEnd { text, start, heap: &mut heap }).ok()?;
    let root = end.map(|end| Root { span: start..end, long_items: heap.long_items });
    #[cfg(debug_assertions)]
    assert_eq!(root.as_ref().map(|root| root.span.clone()), scanned(text), "the scanner says otherwise");
    root
}

/// What the scanner says.
#[cfg(any(test, debug_assertions))]
fn scanned(text: &[u8]) -> Option<Range<usize>> {
    super::scan::scan(text).ok().filter(|_| std::str::from_utf8(text).is_ok())
}

/// Where a root begins that is a container.
fn root_start(text: &[u8]) -> Option<usize> {
    let start = whitespace_end(text, 0);
    matches!(text.get(start), Some(b'{' | b'[')).then_some(start)
}

/// How many blocks a piece has: what is noted of them and the text itself fit into the first cache together.
const ROWS: usize = 8;
const PIECE: usize = ROWS * BLOCK;

/// What is noted of a block, a bit for each byte. But for `strings` it is all about bytes outside of strings.
#[derive(Default, Clone, Copy)]
struct Row {
    /// Strings, with both of their quotes.
    strings: u64,
    /// Their opening quotes.
    string_starts: u64,
    /// What a backslash escapes.
    escaped: u64,
    whitespace: u64,
    opening: u64,
    closing: u64,
    commas: u64,
    colons: u64,
    /// The bytes whose innermost container is an object; a bracket belongs to what is open behind it.
    in_object: u64,
    /// Where numbers and literals begin.
    bare_starts: u64,
}

/// What grows with the text.
#[derive(Default)]
struct Heap {
    /// The part of [`Nesting`] that is not the innermost levels.
    full: Vec<u64>,
    long_items: Vec<Range<usize>>,
}

impl Heap {
    #[cold]
    fn remember(&mut self, item: Range<usize>) {
        self.long_items.push(item);
    }
}

/// The search for the end of the root that begins at `start`.
///
/// The heap is lent, so that what is compiled several times frees no memory.
struct RootEnd<'t, 'h> {
    text: &'t [u8],
    start: usize,
    heap: &'h mut Heap,
}

impl Pass for RootEnd<'_, '_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self, lanes: impl Lanes) -> Option<usize> {
        let RootEnd { text, start, heap } = self;
        let mut rows = [Row::default(); ROWS];
        let (mut strings, mut brackets, mut grammar) =
            (Strings::default(), Brackets::default(), Grammar::new());
        let mut decoded = start;
        for at in (start..text.len()).step_by(PIECE) {
            let end = text.len().min(at + PIECE);
            let whole = whole_characters(text, end);
            let is_utf8 = simdutf8::basic::from_utf8(&text[decoded..whole]).is_ok();
            decoded = whole;

            let rows = &mut rows[..(end - at).div_ceil(BLOCK)];
            let is_good = is_utf8
                && note_bytes(lanes, text, at, rows, &mut strings)
                && brackets.pass(text, at, rows, heap)
                && grammar.pass(rows)
                && bare_values_are_good(text, at, rows);
            if !is_good {
                return None;
            }
        }
        brackets.root_end
    }
}

/// The end of the last character that ends at `end` or before. At the end of the text that is the end, so that a character
/// which is cut in two there is found.
#[inline(always)]
fn whole_characters(text: &[u8], end: usize) -> usize {
    let is_continuation = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    // A character has at most three bytes behind its first.
    end - (end.saturating_sub(2)..=end).rev().take_while(is_continuation).count()
}

/// Notes what stands where in each block, and checks what is in strings.
#[inline(always)]
fn note_bytes(lanes: impl Lanes, text: &[u8], at: usize, rows: &mut [Row], strings: &mut Strings) -> bool {
    let (mut controls, mut escaped) = (0, 0);
    for (number, row) in rows.iter_mut().enumerate() {
        let marks = lanes.marks(&block_at(text, at + number * BLOCK));
        let strung = strings.pass(lanes, &marks);
        let inside = strung.inside;
        row.strings = inside | strung.quotes;
        row.string_starts = inside & strung.quotes;
        row.escaped = strung.escaped;
        row.whitespace = marks.whitespace & !inside;
        row.opening = marks.opening & !inside;
        row.closing = marks.closing & !inside;
        row.commas = marks.commas & !inside;
        row.colons = marks.colons & !inside;
        controls |= marks.controls & inside;
        escaped |= strung.escaped;
    }
    controls == 0 && (escaped == 0 || escapes_are_good(text, at, rows))
}

/// Whether what each backslash escapes can be escaped.
fn escapes_are_good(text: &[u8], at: usize, rows: &[Row]) -> bool {
    for (number, row) in rows.iter().enumerate() {
        let mut escaped = row.escaped;
        while let Some(place) = take_lowest(&mut escaped) {
            if escape_end(text, at + number * BLOCK + place).is_err() {
                return false;
            }
        }
    }
    true
}

/// Whether a number or a literal stands at each of the `bare_starts`.
#[inline(always)]
fn bare_values_are_good(text: &[u8], at: usize, rows: &[Row]) -> bool {
    for (number, row) in rows.iter().enumerate() {
        let mut bare_starts = row.bare_starts;
        while let Some(place) = take_lowest(&mut bare_starts) {
            if !is_bare_value(text, at + number * BLOCK + place) {
                return false;
            }
        }
    }
    true
}

/// Whether a number or a literal stands here, and behind it what ends it in a container.
#[inline(always)]
fn is_bare_value(text: &[u8], at: usize) -> bool {
    let is_end = |end| matches!(text.get(end), Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'));
    bare_end(text, at).is_ok_and(is_end)
}

/// Takes the lowest bit away and says where it was.
#[inline(always)]
fn take_lowest(bits: &mut u64) -> Option<usize> {
    let place = bits.trailing_zeros() as usize;
    let is_there = *bits != 0;
    *bits &= bits.wrapping_sub(1);
    is_there.then_some(place)
}

/// The open brackets.
#[derive(Default)]
struct Brackets {
    nesting: Nesting,
    root_end: Option<usize>,
    /// Where the root's last item that is a container begins.
    item_start: usize,
}

impl Brackets {
    /// Matches the brackets of a piece and notes what is in objects. Behind the root there is only white space.
    #[inline(always)]
    fn pass(&mut self, text: &[u8], at: usize, rows: &mut [Row], heap: &mut Heap) -> bool {
        let nesting = &mut self.nesting;
        for (number, row) in rows.iter_mut().enumerate() {
            row.in_object = nesting.innermost().wrapping_neg();
            let mut brackets = row.opening | row.closing;
            while let Some(place) = take_lowest(&mut brackets) {
                let at = at + number * BLOCK + place;
                let bracket = text[at];
                if row.opening >> place & 1 == 1 {
                    nesting.push(if bracket == b'{' { OBJECT } else { ARRAY }, &mut heap.full);
                    if nesting.depth == 2 {
                        self.item_start = at;
                    }
                } else {
                    if nesting.depth == 0 || (bracket == b'}') != (nesting.innermost() == OBJECT) {
                        return false;
                    }
                    nesting.pop(&mut heap.full);
                    if nesting.depth == 1 && at - self.item_start >= LONG {
                        heap.remember(self.item_start..at + 1);
                    }
                    if nesting.depth == 0 {
                        if whitespace_end(text, at + 1) != text.len() {
                            return false;
                        }
                        self.root_end = Some(at + 1);
                    }
                }
                let from_here = u64::MAX << place;
                row.in_object ^= (row.in_object ^ nesting.innermost().wrapping_neg()) & from_here;
            }
        }
        true
    }
}

/// What is wanted of the first bytes of the next block: each is 0 or 1, as the lowest bit of what `pass` makes of it.
struct Grammar {
    key: u64,
    value: u64,
    item: u64,
    colon: u64,
    /// One when the byte before is part of a number or a literal.
    in_bare: u64,
}

impl Grammar {
    /// At the start of the text.
    fn new() -> Grammar {
        Grammar { value: 1, key: 0, item: 0, colon: 0, in_bare: 0 }
    }

    /// Checks which tokens follow which, and notes where bare values begin.
    #[inline(always)]
    fn pass(&mut self, rows: &mut [Row]) -> bool {
        let mut wrong = 0;
        for row in rows {
            wrong |= self.pass_row(row);
        }
        wrong == 0
    }

    /// The tokens of a block that cannot follow what is before them.
    #[inline(always)]
    fn pass_row(&mut self, row: &mut Row) -> u64 {
        let Row { strings, string_starts, whitespace, opening, closing, commas, colons, in_object, .. } =
            *row;
        let bare = !(strings | whitespace | opening | closing | commas | colons);
        row.bare_starts = bare & !(bare << 1 | self.in_bare);
        self.in_bare = bare >> 63;
        let values = string_starts | opening | row.bare_starts;

        // A container may also be closed at once; that a comma or a colon is followed by a value is `items`.
        let keys = following((opening | commas) & in_object, whitespace, &mut self.key);
        let first_values = (opening | commas) & !in_object;
        let others = following(first_values | colons, whitespace, &mut self.value);
        let items = following(commas | colons, whitespace, &mut self.item);

        let passed = strings | whitespace;
        let sum = (keys & string_starts | self.colon).wrapping_add(passed);
        self.colon = (passed & !sum) >> 63;
        let behind_keys = sum & !passed;

        keys & !(string_starts | closing)
            | others & !(values | closing)
            | items & closing
            | behind_keys & !colons
            // Behind a value only commas and closing brackets can be.
            | (values | colons) & !(keys | others | behind_keys)
    }
}

/// Where the tokens begin that follow `tokens`, which are single bytes; `carry` is the one of the block before.
#[inline(always)]
fn following(tokens: u64, whitespace: u64, carry: &mut u64) -> u64 {
    let sum = (tokens << 1 | *carry).wrapping_add(whitespace);
    // The block's end is reached by a token that is its last byte, or through white space that a carry has cleared.
    *carry = (tokens | whitespace & !sum) >> 63;
    sum & !whitespace
}

#[cfg(test)]
mod tests;
