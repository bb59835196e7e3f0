//! Text of a document in what people read: on its line, steering no terminal, no more of it than anyone reads. Widths
//! are columns of a terminal: a CJK character takes two, a combining mark none.

use unicode_width::UnicodeWidthStr;

/// The text with every character escaped that would break the line, steer a terminal or turn the reading direction.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}

/// The text in quotes, on one line, cut after 60 characters.
pub fn quoted(text: &str) -> String {
    /// In characters.
    const LONGEST: usize = 60;
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    let more = if end < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", one_line(&text[..end]))
}

/// A word as a shell reads it back.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%,=".contains(&byte);
    let is_plain = !word.is_empty() && word.bytes().all(is_plain);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// How many columns the text takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text in at most `columns` columns: whole, or its beginning and `…`.
pub fn cut_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let fits = |end: &usize| width(&text[..*end]) < columns;
    let ends = text.char_indices().map(|(at, _)| at);
    let end = ends.take_while(fits).last().unwrap_or(0);
    if columns == 0 { String::new() } else { format!("{}…", &text[..end]) }
}

/// The text in at most `columns` columns: whole, or `…` and its end, where the names of files are.
pub fn cut_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let fits = |start: &usize| width(&text[*start..]) < columns;
    let starts = text.char_indices().rev().map(|(at, _)| at);
    let start = starts.take_while(fits).last().unwrap_or(text.len());
    if columns == 0 { String::new() } else { format!("…{}", &text[start..]) }
}

/// The text and as many blanks behind it as make it `columns` wide.
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text in lines of at most `columns` columns (two or more), broken at blanks and, in a word that is longer,
/// anywhere.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        for (index, piece) in pieces(word, columns).into_iter().enumerate() {
            if index == 0 && !line.is_empty() && width(&line) + 1 + width(piece) <= columns {
                line.push(' ');
                line.push_str(piece);
            } else {
                if !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                }
                line.push_str(piece);
            }
        }
    }
    lines.push(line);
    lines
}

/// A word in pieces of at most `columns` columns.
fn pieces(word: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while width(rest) > columns {
        let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8());
        let end = ends.take_while(|end| width(&rest[..*end]) <= columns).last().unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces.push(rest);
    pieces
}

fn steers(character: char) -> bool {
    character.is_control()
        // Line and paragraph separator, and what turns the direction of the text around it.
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_on_its_line_and_steers_nothing() {
        assert_eq!(one_line("a\nb\u{1b}[2Jc é"), "a\\nb\\u{1b}[2Jc é");
        assert_eq!(one_line("\u{2028}\u{202e}x"), "\\u{2028}\\u{202e}x");
    }

    #[test]
    fn text_is_cut_and_padded_by_columns() {
        for (text, end, start) in [
            ("docs/a.md", "docs/a.md", "docs/a.md"),
            ("docs/plan.md", "docs/pla…", "…/plan.md"),
            ("状态文件", "状态文件", "状态文件"),
            ("状态文件一", "状态文件…", "…态文件一"),
            ("a状态文件", "a状态文件", "a状态文件"),
            ("ab状态文件", "ab状态文…", "…状态文件"),
            ("e\u{301}e\u{301}e\u{301}", "e\u{301}e\u{301}e\u{301}", "e\u{301}e\u{301}e\u{301}"),
        ] {
            assert_eq!((cut_end(text, 9).as_str(), cut_start(text, 9).as_str()), (end, start));
            assert!(width(end) <= 9 && width(start) <= 9);
        }
        assert_eq!((cut_end("ab", 1), cut_start("ab", 1)), ("…".into(), "…".into()));
        assert_eq!((cut_end("ab", 0), cut_start("ab", 0)), (String::new(), String::new()));
        assert_eq!((pad("状态", 6), pad("abc", 2)), ("状态  ".into(), "abc".into()));
    }

    #[test]
    fn text_is_wrapped_at_blanks_and_long_words_anywhere() {
        assert_eq!(wrap("a run is at work", 8), ["a run is", "at work"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("a /phases/implementation x", 8), ["a", "/phases/", "implemen", "tation x"]);
        assert_eq!(wrap("状态文件一", 4), ["状态", "文件", "一"]);
    }

    #[test]
    fn a_quotation_is_cut_between_characters() {
        assert_eq!(quoted("it's"), "\"it's\"");
        assert_eq!(quoted(&"é".repeat(60)), format!("\"{}\"", "é".repeat(60)));
        assert_eq!(quoted(&"é".repeat(61)), format!("\"{}…\"", "é".repeat(60)));
    }
}
