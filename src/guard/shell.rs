//! A shell's command line taken apart: the simple commands in it, each with its words and where it redirects to.
//!
//! Enough of the grammar to know what is a word and what is an operator, in `sh`, `bash` and `zsh` alike: quotes, escapes,
//! comments, pipes, lists, groups, substitutions, redirections, here-documents, tests. What only the running shell knows
//! stands in a word as it was written; no such word is the name of a file.

use std::collections::HashMap;

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Its words, unquoted; assignments in front of it are left out.
    pub words: Vec<String>,
    /// The files that its output goes to, each with the operator.
    pub outputs: Vec<(&'static str, String)>,
    /// Its here-documents and here-strings, as it would read them.
    pub input: String,
}

/// All simple commands of a command line, those in substitutions too, in no particular order.
pub fn parse(text: &str) -> Vec<Simple> {
    let mut commands = Vec::new();
    Parser::new(text, &mut commands, HashMap::new()).run();
    commands
}

/// Redirections that write, the longest first.
const OUTPUTS: [&str; 6] = ["&>>", "&>", ">>", ">|", "<>", ">"];
/// What ends a command, the longest first.
const SEPARATORS: [&str; 11] = [";;&", "&&", "||", "|&", ";;", ";&", ";", "|", "&", "(", ")"];
/// Words in front of a command that belong to the grammar.
const RESERVED: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "time", "coproc"];

/// Substitutions in substitutions are followed so deep.
const MOST_DEPTH: usize = 50;

struct Parser<'a, 'b> {
    rest: &'a str,
    commands: &'b mut Vec<Simple>,
    current: Simple,
    /// Variables that this command line itself has set.
    variables: HashMap<String, String>,
    /// Here-documents that begin on the next line: the delimiter, and whether tabs are stripped.
    heredocs: Vec<(String, bool)>,
    /// Behind which commands the bodies go.
    readers: Vec<usize>,
    /// How many parentheses are open; `None` outside of a substitution, which ends with the one that closes it.
    open: Option<usize>,
    /// In how many substitutions this one lies.
    depth: usize,
}

impl<'a, 'b> Parser<'a, 'b> {
    fn new(
        text: &'a str,
        commands: &'b mut Vec<Simple>,
        variables: HashMap<String, String>,
    ) -> Parser<'a, 'b> {
        let (current, heredocs, readers) = Default::default();
        Parser { rest: text, commands, current, variables, heredocs, readers, open: None, depth: 0 }
    }

    fn run(&mut self) {
        while self.step() {}
        self.end_command();
    }

    fn take(&mut self, prefix: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(prefix) else { return false };
        self.rest = rest;
        true
    }

    /// The next word or operator; `false` at the end.
    fn step(&mut self) -> bool {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
        if self.rest.is_empty() {
            return false;
        }
        if self.take("\\\n") {
            return true;
        }
        if self.take("\n") {
            self.end_command();
            self.read_heredocs();
        } else if self.rest.starts_with('#') {
            self.rest = &self.rest[self.rest.find('\n').unwrap_or(self.rest.len())..];
        } else if self.current.words.is_empty() && self.rest.starts_with("((") {
            self.rest = after(self.rest, "))");
        } else if self.rest.starts_with("<(") || self.rest.starts_with(">(") {
            self.push_word();
        } else if !self.redirection() {
            match SEPARATORS.iter().find(|operator| self.rest.starts_with(**operator)) {
                Some(operator) => {
                    self.take(operator);
                    self.end_command();
                    return self.is_open_after(operator);
                }
                None => self.push_word(),
            }
        }
        true
    }

    /// A redirection, with the number of a descriptor in front of it or without.
    fn redirection(&mut self) -> bool {
        let digits =
            self.rest.len() - self.rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let rest = &self.rest[digits..];
        if !(rest.starts_with(['<', '>']) || digits == 0 && rest.starts_with("&>")) {
            return false;
        }
        self.rest = rest;
        if self.take("<<<") {
            let word = self.word();
            self.current.input.push_str(&word);
        } else if self.take("<<-") || self.take("<<") {
            let stripped = rest.starts_with("<<-");
            let delimiter = self.word();
            self.heredocs.push((delimiter, stripped));
            self.readers.push(self.commands.len());
        } else if self.take(">&") {
            // A descriptor's number, or a file.
            let word = self.word();
            let is_descriptor = word.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            if !is_descriptor {
                self.current.outputs.push((">&", word));
            }
        } else if let Some(operator) = OUTPUTS.iter().find(|operator| rest.starts_with(**operator)) {
            self.take(operator);
            let word = self.word();
            self.current.outputs.push((operator, word));
        } else {
            let _ = self.take("<&") || self.take("<");
            self.word();
        }
        true
    }

    /// Whether a substitution goes on behind this operator.
    fn is_open_after(&mut self, operator: &str) -> bool {
        match (&mut self.open, operator) {
            (Some(0), ")") => return false,
            (Some(open), ")") => *open -= 1,
            (Some(open), "(") => *open += 1,
            _ => {}
        }
        true
    }

    fn push_word(&mut self) {
        let before = self.rest;
        let word = self.word();
        if self.rest.len() == before.len() {
            // Nothing that a word is made of: left out.
            let next = self.rest.chars().next().map_or(0, char::len_utf8);
            self.rest = &self.rest[next..];
            return;
        }
        if !self.current.words.is_empty() {
            self.current.words.push(word);
            return;
        }
        let written = &before[..before.len() - self.rest.len()];
        if RESERVED.contains(&written) {
            return;
        }
        if word == "[[" {
            // In there `>` and `<` compare.
            self.rest = after(self.rest, "]]");
            return;
        }
        match assignment(&word) {
            Some((name, value)) => drop(self.variables.insert(name.to_owned(), value.to_owned())),
            None => self.current.words.push(word),
        }
    }

    fn end_command(&mut self) {
        let current = std::mem::take(&mut self.current);
        let is_read_into = self.readers.contains(&self.commands.len());
        if is_read_into || !current.words.is_empty() || !current.outputs.is_empty() {
            self.commands.push(current);
        }
    }

    /// The bodies of here-documents, which begin behind the line that names them.
    fn read_heredocs(&mut self) {
        let readers = std::mem::take(&mut self.readers);
        for ((delimiter, stripped), reader) in std::mem::take(&mut self.heredocs).into_iter().zip(readers) {
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = if stripped { line.trim_start_matches('\t') } else { line };
                if line.trim_end_matches('\r') == delimiter {
                    break;
                }
                if let Some(command) = self.commands.get_mut(reader) {
                    command.input.push_str(line);
                    command.input.push('\n');
                }
            }
        }
    }

    /// A word up to the next blank or operator, unquoted.
    fn word(&mut self) -> String {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let mut word = String::new();
        if self.rest.starts_with("<(") || self.rest.starts_with(">(") {
            self.rest = &self.rest[2..];
            self.substitution(&mut word);
            return word;
        }
        while let Some(next) = self.rest.chars().next() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => self.single_quoted(&mut word),
                '"' => self.double_quoted(&mut word),
                '\\' => {
                    self.rest = &self.rest[1..];
                    if !self.take("\n") {
                        self.push_char(&mut word);
                    }
                }
                '$' if self.rest.starts_with("$'") => {
                    self.rest = &self.rest[1..];
                    self.single_quoted(&mut word);
                }
                '$' if self.rest.starts_with("$\"") => self.rest = &self.rest[1..],
                '$' | '`' => self.expansion(&mut word),
                _ => self.push_char(&mut word),
            }
        }
        word
    }

    fn push_char(&mut self, word: &mut String) {
        if let Some(next) = self.rest.chars().next() {
            word.push(next);
            self.rest = &self.rest[next.len_utf8()..];
        }
    }

    fn single_quoted(&mut self, word: &mut String) {
        let (text, rest) = self.rest[1..].split_once('\'').unwrap_or((&self.rest[1..], ""));
        word.push_str(text);
        self.rest = rest;
    }

    fn double_quoted(&mut self, word: &mut String) {
        self.rest = &self.rest[1..];
        while let Some(next) = self.rest.chars().next() {
            match next {
                '"' => {
                    self.rest = &self.rest[1..];
                    return;
                }
                '\\' => {
                    self.rest = &self.rest[1..];
                    if self.take("\n") {
                        continue;
                    }
                    // Before any other character the backslash stays one.
                    if !self.rest.starts_with(['$', '`', '"', '\\']) {
                        word.push('\\');
                    }
                    self.push_char(word);
                }
                '$' | '`' => self.expansion(word),
                _ => self.push_char(word),
            }
        }
    }

    /// What begins with `$` or a backtick: a variable of this command line, a substitution, whose commands are taken apart
    /// too, or something that stays as it is written.
    fn expansion(&mut self, word: &mut String) {
        if self.rest.starts_with("$((") {
            let rest = after(self.rest, "))");
            word.push_str(&self.rest[..self.rest.len() - rest.len()]);
            self.rest = rest;
        } else if self.rest.starts_with("$(") {
            self.rest = &self.rest[2..];
            word.push('$');
            self.substitution(word);
        } else if let Some(rest) = self.rest.strip_prefix('`') {
            let (inner, rest) = rest.split_once('`').unwrap_or((rest, ""));
            Parser::new(inner, self.commands, self.variables.clone()).run();
            word.push_str("`…`");
            self.rest = rest;
        } else {
            self.variable(word);
        }
    }

    /// Behind an opening parenthesis: commands up to the one that closes it. It stands in the word as no name would.
    fn substitution(&mut self, word: &mut String) {
        let variables = self.variables.clone();
        let depth = self.depth + 1;
        if depth > MOST_DEPTH {
            self.rest = ""; // nobody writes this
            return;
        }
        let mut inner = Parser { open: Some(0), depth, ..Parser::new(self.rest, self.commands, variables) };
        inner.run();
        self.rest = inner.rest;
        word.push_str("(…)");
    }

    fn variable(&mut self, word: &mut String) {
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let rest = &self.rest[1..];
        let (name, written) = match rest.strip_prefix('{') {
            Some(braced) => {
                let end = braced.find('}').unwrap_or(braced.len());
                (&braced[..end], rest.len().min(end + 2))
            }
            None => {
                let end = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        match self.variables.get(name) {
            Some(value) => word.push_str(value),
            None => word.push_str(&self.rest[..=written]),
        }
        self.rest = &rest[written..];
    }
}

/// `NAME=value` in front of a command.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

/// What stands behind the next `end`, or nothing.
fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.find(end).map_or("", |at| &text[at + end.len()..])
}
