//! Text of a document in what people read: on its line, steering no terminal, no more of it than anyone reads.

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
    fn a_quotation_is_cut_between_characters() {
        assert_eq!(quoted("it's"), "\"it's\"");
        assert_eq!(quoted(&"é".repeat(60)), format!("\"{}\"", "é".repeat(60)));
        assert_eq!(quoted(&"é".repeat(61)), format!("\"{}…\"", "é".repeat(60)));
    }
}
