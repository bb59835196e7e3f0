//! What a simple command writes: its redirections, and the operands of the programs that are known to write onto theirs.

use std::path::Path;

use super::Edit;
use super::shell::{self, Simple};
use crate::kind::StateKind;

/// A file that a command writes onto.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// What does it, for the message: `jq … >`, `mv`.
    pub by: String,
    /// The file, as the command names it.
    pub file: String,
    /// How.
    pub edit: Edit,
}

/// What the commands of a line write, run in `folder`.
pub fn writes(commands: &[Simple], folder: Option<&Path>) -> Vec<Write> {
    // After it nobody knows where a relative path starts.
    let moves = commands.iter().any(|command| matches!(name_of(&command.words), Some("cd" | "pushd")));
    let folder = folder.filter(|_| !moves);
    commands.iter().flat_map(|command| writes_of(command, folder)).collect()
}

fn writes_of(command: &Simple, folder: Option<&Path>) -> Vec<Write> {
    let words = without_wrappers(&command.words);
    let name = name_of(words).unwrap_or("");
    let redirected = command.outputs.iter().map(|(operator, file)| Write {
        by: format!("{name} … {operator}").trim_start_matches(" … ").to_owned(),
        file: file.clone(),
        edit: if name == "jq" || *operator == ">>" { Edit::Part } else { Edit::Whole },
    });
    let mut writes: Vec<Write> = redirected.collect();
    if let Some(script) = script_of(name, words, &command.input) {
        writes.extend(self::writes(&shell::parse(script), folder));
        return writes;
    }
    let (shown, edit, files) = written_operands(name, words, folder);
    writes.extend(files.into_iter().map(|file| Write { by: shown.to_owned(), file: file.to_owned(), edit }));
    writes
}

/// Programs that run the command behind them, with their options that take a value, and how many operands they take first.
const WRAPPERS: [(&str, &[&str], usize); 13] = [
    ("sudo", &["-u", "-g", "-C", "-h", "-p"], 0),
    ("doas", &["-u"], 0),
    ("command", &[], 0),
    ("builtin", &[], 0),
    ("exec", &["-a"], 0),
    ("env", &["-u", "-C", "-S"], 0),
    ("nohup", &[], 0),
    ("nice", &["-n"], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("timeout", &["-s", "-k"], 1),
    ("flock", &["-w", "-E"], 1),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a"], 0),
    ("busybox", &[], 0),
];

fn without_wrappers(mut words: &[String]) -> &[String] {
    while let Some(&(_, valued, operands)) =
        name_of(words).and_then(|name| WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name))
    {
        let mut rest = &words[1..];
        let mut operands = operands;
        while let Some(word) = rest.first() {
            let is_option = word.starts_with('-') && word.len() > 1;
            let skipped = match () {
                // `flock LOCK -c 'script'` is read as a shell is.
                () if word == "-c" => break,
                () if valued.contains(&word.as_str()) => 2,
                () if is_option || word.contains('=') => 1,
                () if operands > 0 => {
                    operands -= 1;
                    1
                }
                () => break,
            };
            rest = rest.get(skipped..).unwrap_or(&[]);
        }
        if rest.first().is_some_and(|word| word == "-c") {
            return words;
        }
        words = rest;
    }
    words
}

/// The base name of the program.
fn name_of(words: &[String]) -> Option<&str> {
    let word = words.first()?;
    Some(word.rsplit('/').next().unwrap_or(word))
}

/// The commands that a shell is given to run.
fn script_of<'a>(name: &str, words: &'a [String], input: &'a str) -> Option<&'a str> {
    match name {
        "sh" | "bash" | "zsh" | "dash" | "ksh" => {
            let mut rest = words[1..].iter().map(String::as_str);
            loop {
                match rest.next() {
                    None => return Some(input), // it reads its commands from stdin
                    Some(option) if option.starts_with("--") => {}
                    Some(option) if option.starts_with('-') && option.ends_with('c') => return rest.next(),
                    // `-o pipefail`, `-euo pipefail`
                    Some(option) if option.starts_with('-') && option.ends_with('o') => drop(rest.next()),
                    Some(option) if option.starts_with('-') => {}
                    Some(_) => return None, // a script of its own
                }
            }
        }
        "eval" if words.len() == 2 => Some(&words[1]),
        "flock" | "su" => {
            let at = words.iter().position(|word| word == "-c")?;
            words.get(at + 1).map(String::as_str)
        }
        _ => None,
    }
}

/// What an option of a program means here.
struct Options {
    /// Short options that take a value, in the same word or in the next.
    valued: &'static str,
    /// The same for long ones, without `=`.
    long: &'static [&'static str],
}

/// A program's words sorted out.
#[derive(Default)]
struct Sorted<'a> {
    /// Options with their values, `-t DIR` and `--target-directory=DIR` alike.
    options: Vec<(&'a str, Option<&'a str>)>,
    operands: Vec<&'a str>,
}

impl Sorted<'_> {
    fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }
}

fn sort<'a>(words: &'a [String], known: &Options) -> Sorted<'a> {
    let mut sorted = Sorted::default();
    let mut words = words[1..].iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "--" {
            sorted.operands.extend(words);
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => sorted.options.push((name, Some(value))),
                None if known.long.contains(&long) => sorted.options.push((long, words.next())),
                None => sorted.options.push((long, None)),
            }
        } else if word.len() > 1 && word.starts_with('-') {
            for (at, letter) in word.char_indices().skip(1) {
                let end = at + letter.len_utf8();
                let (name, rest) = (&word[at..end], &word[end..]);
                // The suffix of -i stands in its own word or nowhere.
                if letter == 'i' && known.valued.contains('i') {
                    sorted.options.push((name, Some(rest)));
                    break;
                }
                if known.valued.contains(letter) {
                    let value = if rest.is_empty() { words.next() } else { Some(rest) };
                    sorted.options.push((name, value));
                    break;
                }
                sorted.options.push((name, None));
            }
        } else {
            sorted.operands.push(word);
        }
    }
    sorted
}

/// What a program writes of what it is given: how that is called, which kind of edit it is, the files.
fn written_operands<'a>(
    name: &'a str,
    words: &'a [String],
    folder: Option<&Path>,
) -> (&'a str, Edit, Vec<&'a str>) {
    let sorted = |valued, long| sort(words, &Options { valued, long });
    let none = (name, Edit::Whole, Vec::new());
    match name {
        "tee" | "sponge" => (name, Edit::Whole, sorted("", &[]).operands),
        "truncate" => (name, Edit::Whole, sorted("sr", &["size", "reference"]).operands),
        "mv" | "cp" | "install" | "rsync" => {
            let long = &["target-directory", "suffix", "mode", "owner", "group", "exclude", "include"];
            let sorted = sorted(if name == "rsync" { "ef" } else { "tSmog" }, long);
            let into_folder =
                sorted.has(&["t", "target-directory"]) || (name == "install" && sorted.has(&["d"]));
            match sorted.operands.split_last() {
                Some((target, sources)) if !into_folder && !sources.is_empty() => {
                    let is_copy =
                        sources.iter().all(|source| StateKind::by_name(Path::new(source)).is_some());
                    let file = if is_copy { existing(target, folder) } else { Some(*target) };
                    (name, Edit::Whole, file.into_iter().collect())
                }
                _ => none,
            }
        }
        "sed" | "gsed" => {
            let sorted = sorted("iefl", &["expression", "file", "line-length"]);
            let has_script = sorted.has(&["e", "f", "expression", "file"]);
            if !sorted.has(&["i", "in-place"]) {
                return none;
            }
            // BSD's takes its suffix as a word.
            let operands = sorted.operands.into_iter().filter(|operand| !operand.is_empty());
            ("sed -i", Edit::Part, operands.skip(usize::from(!has_script)).collect())
        }
        "perl" | "ruby" => {
            let sorted = sorted("ieEMmIF", &[]);
            let has_script = sorted.has(&["e", "E"]);
            if !sorted.has(&["i"]) {
                return none;
            }
            let shown = if name == "perl" { "perl -i" } else { "ruby -i" };
            (shown, Edit::Part, sorted.operands.into_iter().skip(usize::from(!has_script)).collect())
        }
        "awk" | "gawk" if words.windows(2).any(|pair| pair[0] == "-i" && pair[1] == "inplace") => {
            ("awk -i inplace", Edit::Part, words.iter().skip(4).map(String::as_str).collect())
        }
        "yq" | "jaq" if sorted("", &[]).has(&["i", "inplace", "in-place"]) => {
            (name, Edit::Part, sorted("", &[]).operands)
        }
        "dd" => {
            let files = words.iter().filter_map(|word| word.strip_prefix("of="));
            (name, Edit::Whole, files.collect())
        }
        "patch" => {
            let sorted = sorted("dDFiopBrVYz", &["directory", "input", "strip", "output"]);
            if sorted.has(&["dry-run"]) {
                return none;
            }
            (name, Edit::Part, sorted.operands.into_iter().take(1).collect())
        }
        "curl" => output_option(name, words, &["-o", "--output"]),
        "wget" => output_option(name, words, &["-O", "--output-document"]),
        "sort" => output_option(name, words, &["-o", "--output"]),
        _ => none,
    }
}

/// Programs whose output goes where an option says.
fn output_option<'a>(name: &'a str, words: &'a [String], names: &[&str]) -> (&'a str, Edit, Vec<&'a str>) {
    let pairs = words.windows(2).filter(|pair| names.contains(&pair[0].as_str()));
    (name, Edit::Whole, pairs.map(|pair| pair[1].as_str()).collect())
}

/// A copy of a state under its own name is a backup or a restore; the second has something in its way.
fn existing<'a>(target: &'a str, folder: Option<&Path>) -> Option<&'a str> {
    let path = folder.map_or(Path::new(target).to_owned(), |folder| folder.join(target));
    (path.is_absolute() && path.is_file()).then_some(target)
}
