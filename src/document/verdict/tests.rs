use super::*;

/// The search for the root that begins at `start`, on any lanes.
#[derive(Clone)]
struct FindRoot<'t> {
    text: &'t [u8],
    start: usize,
}

impl Pass for FindRoot<'_> {
    type Output = Option<Root>;

    fn run(self, lanes: impl Lanes) -> Option<Root> {
        let mut heap = Heap::default();
        let end = RootEnd { text: self.text, start: self.start, heap: &mut heap }.run(lanes)?;
        Some(Root { span: self.start..end, long_items: heap.long_items })
    }
}

/// Where the root stands if the text is good, on all lanes, which has to be what the scanner says.
fn verdict(text: &[u8]) -> Option<Range<usize>> {
    let scanned = scanned(text);
    if let Some(start) = root_start(text) {
        let found = block::run_on_all(FindRoot { text, start }).map(|root| root.span);
        assert_eq!(found, scanned, "{:?}", String::from_utf8_lossy(text));
    }
    scanned
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) as usize % bound
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

const GAPS: &[&str] = &["", "", "", " ", "\n  ", "\r\n\t", "\n                                      "];
const KEYS: &[&str] = &[r#""""#, r#""key""#, r#""\\""#, r#""a longer key, with {\"marks\"}: in it""#];
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "0", "-12", "1.50", "123456789012", "2E-7", "true", "false", "null", "{}", "[]", "[ ]", "{\n}",
    r#""""#, r#""\"""#, r#""ends in a backslash \\""#, r#""\ud83d ü😀""#,
    r#""a string that is longer than a block of 64 bytes is, all in all: yes""#,
];
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "{", "}", "[", "]", ",", ":", r#""a""#, r#""]\\""#, "1", "-0.5e+7", "true", "null", " ", "\n", "\t", "\u{1}",
    "\"", "\\", "\\\"", "\\u00e9", "é", "😀", "01", "1.", "tru", "/",
];

/// Appends a container with something in it to the pieces of a good text: tokens and the white space between them.
fn add_container(random: &mut Random, depth: usize, pieces: &mut Vec<&str>) {
    let (opening, closing) = random.one_of(&[("{", "}"), ("[", "]")]);
    let mut separator = opening;
    for _ in 0..1 + random.below(4) {
        pieces.extend([separator, random.one_of(GAPS)]);
        separator = ",";
        if opening == "{" {
            pieces.extend([random.one_of(KEYS), random.one_of(GAPS), ":", random.one_of(GAPS)]);
        }
        if depth > 0 && random.below(2) == 0 {
            add_container(random, depth - 1, pieces);
        } else {
            pieces.push(random.one_of(VALUES));
        }
        pieces.push(random.one_of(GAPS));
    }
    pieces.push(closing);
}

#[test]
fn the_verdict_on_good_and_on_broken_texts_is_the_scanners() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        // Every place relative to the blocks, which are counted from the root on.
        let before = " ".repeat(random.below(PIECE));
        let mut pieces = vec!["[", &before];
        let depth = random.below(5);
        add_container(&mut random, depth, &mut pieces);
        pieces.push("]");
        assert!(verdict(pieces.concat().as_bytes()).is_some());
        for _ in 0..1 + random.below(2) {
            let at = random.below(pieces.len());
            match random.below(4) {
                0 => drop(pieces.remove(at)),
                1 => pieces.insert(at, random.one_of(TOKENS)),
                2 => pieces[at] = random.one_of(TOKENS),
                _ => {
                    let other = random.below(pieces.len());
                    pieces.swap(at, other);
                }
            }
        }
        match verdict(pieces.concat().as_bytes()) {
            Some(_) => good += 1,
            None => bad += 1,
        }
    }
    assert!(good > 2_000 && bad > 10_000, "{good} good, {bad} bad");
}

#[test]
fn a_byte_that_becomes_another_or_goes_is_judged_as_by_the_scanner() {
    let text = r#"{"a": [1, -2.5e3, "x\n\u00e9\\", {}], "b" : {"c":null , "d":[ ]},"é":"😀"}"#;
    // The border of a piece, which is one of blocks too, wanders through the text.
    for before in (PIECE - text.len()..PIECE).step_by(3) {
        let text = format!("[{}{text}]", " ".repeat(before)).into_bytes();
        for at in before..text.len() {
            let mut broken = text.clone();
            for byte in *b"\"\\{}[]:,10-.eEtu/ \n\x00\x1f\x80\xc3\xf0\xff" {
                broken[at] = byte;
                verdict(&broken);
            }
            broken.remove(at);
            verdict(&broken);
            verdict(&text[..at]);
        }
    }
}

#[test]
fn text_in_which_every_byte_counts_is_judged_across_pieces() {
    for text in [
        format!("[{}1]", "1,".repeat(5_000)),
        format!("[{}]", "\\".repeat(4_000).replacen('\\', "\"\\", 1) + "\""),
        format!("[\"{}\"]", "\u{1f600}\u{e9}\u{20ac}".repeat(3_000)),
        format!("[\"{}\"]", "x".repeat(10_000)),
        format!("[{}1]", " ".repeat(10_000)),
        format!("[{}]", "1".repeat(10_000)),
        format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)),
        format!("{}{}{}", "[{\"a\":".repeat(3_000), "0", "}]".repeat(3_000)),
        format!("[]{}", "\n".repeat(10_000)),
    ] {
        verdict(text.as_bytes()).expect(&text);
        let mut random = Random(text.len() as u64);
        for _ in 0..100 {
            let mut broken = text.clone().into_bytes();
            let at = random.below(broken.len());
            broken[at] = b"\"\\{}[]:,1 \n\x01\x80\xc3"[random.below(14)];
            verdict(&broken);
            verdict(&broken[..at]);
        }
    }
}

#[test]
fn the_long_items_of_the_root_are_remembered() {
    let long = format!("[[{}],1]", "2,".repeat(LONG / 2) + "3");
    let just = format!("{{\"a\":\"{}\"}}", "x".repeat(LONG - 7));
    let short = format!("[\"{}\"]", "x".repeat(LONG - 5));
    let text = format!(" {{\"a\":{long}, \"b\":{short},\"c\":{just} ,\"d\":{long}}} ");
    let root = block::run_on_all(FindRoot { text: text.as_bytes(), start: 1 }).expect("it is good");
    let items: Vec<&str> = root.long_items.iter().map(|item| &text[item.clone()]).collect();
    assert_eq!(items, [&long, &just, &long]);
}
