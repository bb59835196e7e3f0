//! Words to what was given for each argument.

use std::ffi::{OsStr, OsString};

use lexopt::{Arg, Parser};

use super::value::Wrong;
use super::{Argument, Command, Kind, Link};

/// Why no command is run.
pub enum Stop {
    /// This help was asked for.
    Help(String),
    /// A command has to be named; this help says which there are.
    NoCommand(String),
    /// This is wrong.
    Wrong(String),
}

impl Stop {
    /// The same, saying where the help is.
    pub fn seeing(self, path: &str) -> Stop {
        match self {
            Stop::Wrong(message) => Stop::Wrong(format!("{message}; see `{path} --help`")),
            stop => stop,
        }
    }
}

/// What was given for the arguments of a command, to be taken in their order.
pub struct Values {
    /// How the command is called.
    pub path: String,
    given: std::vec::IntoIter<Given>,
}

/// An argument, and its words in their order. A flag that is set has one, which is empty.
type Given = (&'static Argument, Vec<OsString>);

impl Values {
    /// What was given for the next argument.
    pub(super) fn take(&mut self) -> Given {
        self.given.next().expect("the table has a row for each field")
    }

    /// Whether the flag `name` is set; only before anything is taken.
    pub fn has(&self, name: &str) -> bool {
        self.given.as_slice().iter().any(|(argument, words)| argument.name == name && !words.is_empty())
    }
}

/// Reads `words`, which follow the name of `command`: which command of it is meant, and what is given to that. `path` is
/// how it is called.
///
/// # Errors
/// Everything but what stands in a value; that is read with the fields.
pub fn parse(
    command: &'static Command,
    path: &str,
    words: impl IntoIterator<Item = OsString>,
) -> Result<(&'static Command, Values), Stop> {
    let mut reading = Reading { path: path.into(), command, given: Vec::new(), operands: 0 };
    reading.enter(command);
    match reading.read(Parser::from_args(words)).and_then(|()| reading.check()) {
        Ok(()) => Ok((reading.command, Values { given: reading.given.into_iter(), path: reading.path })),
        Err(stop) => Err(stop.seeing(&reading.path)),
    }
}

struct Reading {
    /// The names of the command and of those above it.
    path: String,
    command: &'static Command,
    given: Vec<Given>,
    /// How many places of operands are taken.
    operands: usize,
}

impl Reading {
    fn enter(&mut self, command: &'static Command) {
        self.command = command;
        self.given = command.all_arguments().into_iter().map(|argument| (argument, Vec::new())).collect();
    }

    fn read(&mut self, mut words: Parser) -> Result<(), Stop> {
        while let Some(word) = words.next().map_err(told)? {
            match word {
                Arg::Long("help") | Arg::Short('h') => return Err(Stop::Help(self.help())),
                Arg::Long("version") | Arg::Short('V') if self.is_program() => {
                    let version = env!("CARGO_PKG_VERSION");
                    return Err(Stop::Help(format!("{} {version}\n", self.command.name)));
                }
                Arg::Long(name) => {
                    let named = self.position(|it| {
                        !matches!(it.kind, Kind::Operand)
                            && !name.is_empty()
                            && [it.name, it.other_name()].contains(&name)
                    });
                    let at = named.ok_or_else(|| self.unexpected_option(name))?;
                    self.option(at, &mut words)?;
                }
                Arg::Short(name) => {
                    let named = self.position(|it| it.short == Some(name));
                    let at = named.ok_or_else(|| {
                        let word = format!("-{name}");
                        let has_operands = self.position(|it| matches!(it.kind, Kind::Operand)).is_some();
                        let way = if has_operands {
                            format!("; as an operand it is given as '-- {word}'")
                        } else {
                            String::new()
                        };
                        Stop::Wrong(format!("unexpected argument '{word}' found{way}"))
                    })?;
                    self.option(at, &mut words)?;
                }
                Arg::Value(word) if !self.command.commands.is_empty() => self.name_command(&word)?,
                Arg::Value(word) => self.operand(word)?,
            }
        }
        if self.command.commands.is_empty() { Ok(()) } else { Err(Stop::NoCommand(self.help())) }
    }

    fn is_program(&self) -> bool {
        self.path == "pipestate"
    }

    fn help(&self) -> String {
        super::help::help(self.command, &self.path)
    }

    fn position(&self, is_it: impl Fn(&Argument) -> bool) -> Option<usize> {
        self.given.iter().position(|(argument, _)| is_it(argument))
    }

    fn name_command(&mut self, word: &OsStr) -> Result<(), Stop> {
        let commands = self.command.commands;
        let Some(command) = commands.iter().find(|command| command.name == word) else {
            let word = word.to_string_lossy();
            let similar = similar(&word, commands.iter().map(|command| command.name));
            return Err(Stop::Wrong(format!(
                "unrecognized subcommand '{word}'{}",
                or_did_you_mean("", similar)
            )));
        };
        self.path = format!("{} {}", self.path, command.name);
        self.enter(command);
        Ok(())
    }

    fn option(&mut self, at: usize, words: &mut Parser) -> Result<(), Stop> {
        let (argument, given) = &mut self.given[at];
        if !given.is_empty() && !argument.shape.is_many {
            let name = argument.called();
            return Err(Stop::Wrong(format!("the argument '{name}' cannot be used multiple times")));
        }
        if matches!(argument.kind, Kind::Flag) {
            given.push(OsString::new());
            return Ok(());
        }
        if let Some(value) = words.optional_value() {
            given.push(value);
            return Ok(());
        }
        // What looks like an option is one, so that one that was forgotten is no value.
        let is_value = |word: &OsStr| word == "-" || !word.as_encoded_bytes().starts_with(b"-");
        let mut rest = words.raw_args().map_err(told)?;
        given.push(rest.next_if(is_value).ok_or_else(|| {
            let name = argument.called();
            let way = if rest.peek().is_some() {
                "; one that begins with a dash is given behind a '='"
            } else {
                ""
            };
            Stop::Wrong(format!("a value is required for '{name}' but none was supplied{way}"))
        })?);
        while argument.is_greedy
            && let Some(value) = rest.next_if(is_value)
        {
            given.push(value);
        }
        Ok(())
    }

    fn operand(&mut self, word: OsString) -> Result<(), Stop> {
        let mut operands = self.given.iter_mut().filter(|(it, _)| matches!(it.kind, Kind::Operand));
        let Some((argument, given)) = operands.nth(self.operands) else {
            return Err(Stop::Wrong(format!("unexpected argument '{}' found", word.to_string_lossy())));
        };
        given.push(word);
        if !argument.shape.is_many {
            self.operands += 1;
        }
        Ok(())
    }

    /// What may not be together, what may not be missing, what is used instead, and which words are known.
    fn check(&mut self) -> Result<(), Stop> {
        let is_given = |name: &str| self.given.iter().any(|(it, words)| it.is(name) && !words.is_empty());
        let mut missing = Vec::new();
        for (argument, words) in &self.given {
            if words.is_empty() {
                let is_replaced = matches!(argument.link, Link::Unless(other) if is_given(other));
                if argument.shape.is_required && !is_replaced {
                    missing.push(*argument);
                }
                continue;
            }
            match argument.link {
                Link::Excludes(other) if is_given(other) => {
                    let [one, other] = [argument, self.named(other)].map(|it| it.called());
                    return Err(Stop::Wrong(format!("the argument '{one}' cannot be used with '{other}'")));
                }
                Link::Requires(other) if !is_given(other) => missing.push(self.named(other)),
                _ => {}
            }
        }
        if !missing.is_empty() {
            // As in the usage, where operands come last.
            let (operands, options): (Vec<&Argument>, Vec<&Argument>) =
                missing.into_iter().partition(|argument| matches!(argument.kind, Kind::Operand));
            let missing: Vec<String> = options.iter().chain(&operands).map(|it| it.called_if(true)).collect();
            let missing = missing.join(" ");
            return Err(Stop::Wrong(format!(
                "the following required arguments were not provided: {missing}"
            )));
        }
        for (argument, words) in &mut self.given {
            if words.is_empty() && !argument.default.is_empty() {
                words.push(argument.default.into());
            }
            let known = argument.shape.words;
            let unknown =
                words.iter().find(|word| !known.is_empty() && !known.iter().any(|known| *known == *word));
            if let Some(word) = unknown {
                return Err(argument.refuse_unknown(word));
            }
        }
        Ok(())
    }

    /// The argument of that name, which a table that names it has.
    fn named(&self, name: &str) -> &'static Argument {
        let is_named = |(argument, _): &&Given| argument.is(name);
        self.given.iter().find(is_named).expect("tables name what they have").0
    }

    fn unexpected_option(&self, name: &str) -> Stop {
        let known = self.given.iter().map(|(argument, _)| argument.name);
        let similar =
            or_did_you_mean("--", similar(name, known.chain(["help"]).filter(|name| !name.is_empty())));
        Stop::Wrong(format!("unexpected argument '--{name}' found{similar}"))
    }
}

impl Argument {
    /// As messages and help name it.
    pub(super) fn called(&self) -> String {
        self.called_if(self.shape.is_required && !matches!(self.link, Link::Unless(_)))
    }

    pub(super) fn called_if(&self, is_required: bool) -> String {
        let (value, many) = (self.value, if self.shape.is_many { "..." } else { "" });
        match (self.kind, self.short) {
            (Kind::Operand, _) if is_required => format!("<{value}>{many}"),
            (Kind::Operand, _) => format!("[{value}]{many}"),
            (Kind::Option, _) => {
                format!("--{} <{value}>{}", self.name, if self.is_greedy { "..." } else { "" })
            }
            (_, Some(short)) if self.name.is_empty() => format!("-{short}"),
            _ => format!("--{}", self.name),
        }
    }

    /// Says what is wrong with `word`.
    pub(super) fn refuse(&self, word: &OsStr, wrong: Wrong) -> Stop {
        let name = self.called();
        Stop::Wrong(match wrong {
            Wrong::NotText => "invalid UTF-8 was detected in one or more arguments".into(),
            Wrong::Empty => format!("a value is required for '{name}' but none was supplied"),
            Wrong::Value(why) => format!("invalid value '{}' for '{name}': {why}", word.to_string_lossy()),
        })
    }

    fn refuse_unknown(&self, word: &OsStr) -> Stop {
        let (word, name, known) = (word.to_string_lossy(), self.called(), self.shape.words.join(", "));
        let similar = or_did_you_mean("", similar(&word, self.shape.words.iter().copied()));
        Stop::Wrong(format!("invalid value '{word}' for '{name}' [possible values: {known}]{similar}"))
    }
}

/// The name that was perhaps meant by `word`: a third of it may be wrong.
fn similar<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let slips = |name: &str| strsim::osa_distance(word, name);
    names.filter(|name| slips(name) <= name.chars().count() / 3).min_by_key(|name| slips(name))
}

fn or_did_you_mean(dashes: &str, name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!(", did you mean '{dashes}{name}'?"))
}

fn told(error: lexopt::Error) -> Stop {
    Stop::Wrong(match error {
        lexopt::Error::UnexpectedValue { option, value } => {
            format!(
                "unexpected value '{}' for '{option}' found; no more were expected",
                value.to_string_lossy()
            )
        }
        error => error.to_string(),
    })
}
