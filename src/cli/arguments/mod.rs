//! What may be given on the command line, as tables: one row for each argument, made of the struct that it is read into
//! by [`arguments!`]. [`parse`](parse()) reads words by them, [`help`] prints them; man page and completions are made of them by a
//! test (`tests/generated.rs`), which also checks the parser against clap's.
//!
//! Tables and not clap, because describing all commands to clap takes as long as a write, and its code and what is derived
//! for it is a sixth of the program (docs/design.md).

pub mod help;
mod parse;
mod value;

pub use parse::{Stop, Values, parse};
pub use value::{Field, Shape, Value};

use super::output::Output;
use crate::error::Error;

/// A command, or the program itself.
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// `Examples:`, and calls of it, a line each; or nothing.
    pub examples: &'static str,
    /// What its help ends with.
    pub notes: fn() -> String,
    /// What it takes.
    pub arguments: &'static [Argument],
    /// The commands below it, one of which has to be named.
    pub commands: &'static [&'static Command],
    /// Does it.
    pub(super) run: fn(&mut Values, &str, &mut Output) -> Result<u8, Failure>,
}

/// Why a command has not done what it should.
pub enum Failure {
    /// Its arguments are wrong.
    Stopped(Stop),
    /// It failed.
    Failed(Error),
}

/// What a struct is read from; made by [`arguments!`].
pub trait Arguments: Field {
    /// See [`Command::about`].
    const ABOUT: &'static str;
    /// See [`Command::examples`].
    const EXAMPLES: &'static str;
    /// See [`Command::arguments`].
    const ARGUMENTS: &'static [Argument];
}

/// What a command does with its arguments.
pub trait Run: Arguments {
    /// Does it, for whoever is called `program` in locks, and returns the exit code.
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error>;
}

impl Command {
    /// The command that reads and runs `T`.
    pub const fn new<T: Run>(name: &'static str) -> Command {
        Command {
            name,
            about: T::ABOUT,
            examples: T::EXAMPLES,
            notes: String::new,
            arguments: T::ARGUMENTS,
            commands: &[],
            run: |values, program, output| {
                let command = T::take(values).map_err(Failure::Stopped)?;
                command.run(program, output).map_err(Failure::Failed)
            },
        }
    }

    /// One that has to be told which of `commands` is meant.
    pub const fn group(
        name: &'static str,
        about: &'static str,
        examples: &'static str,
        commands: &'static [&'static Command],
    ) -> Command {
        let run =
            |_: &mut Values, _: &str, _: &mut Output| Err(Failure::Failed(Error::Bug("no command".into())));
        Command { name, about, examples, notes: String::new, arguments: &[], commands, run }
    }

    /// The same with `notes`.
    pub const fn with_notes(self, notes: fn() -> String) -> Command {
        Command { notes, ..self }
    }

    /// All that it takes, in the order of the table.
    pub fn all_arguments(&self) -> Vec<&'static Argument> {
        fn collect(arguments: &'static [Argument], all: &mut Vec<&'static Argument>) {
            for argument in arguments {
                match argument.kind {
                    Kind::Group(group) => collect(group, all),
                    _ => all.push(argument),
                }
            }
        }
        let mut all = Vec::new();
        collect(self.arguments, &mut all);
        all
    }
}

/// How an argument is given.
#[derive(Clone, Copy)]
pub enum Kind {
    /// `--name`.
    Flag,
    /// `--name VALUE`.
    Option,
    /// By its place.
    Operand,
    /// Several, which other commands take too.
    Group(&'static [Argument]),
}

/// A row of a table.
#[derive(Clone, Copy)]
pub struct Argument {
    /// How it is given.
    pub kind: Kind,
    /// Behind its two dashes; empty if it has only a short name.
    pub name: &'static str,
    /// Behind a single dash.
    pub short: Option<char>,
    /// What stands for its value in messages.
    pub value: &'static str,
    /// What it does.
    pub help: &'static str,
    /// What is read from it.
    pub shape: Shape,
    /// What its value is when none is given.
    pub default: &'static str,
    /// Whether its words and its default are not told in the help, which says it itself.
    pub is_told: bool,
    /// Whether it takes all words up to the next option.
    pub is_greedy: bool,
    /// What else there is to it.
    pub link: Link,
}

/// What an argument has to do with another, by its name or what stands for its value.
#[derive(Clone, Copy)]
pub enum Link {
    /// Nothing.
    None,
    /// This is its other name.
    Alias(&'static str),
    /// It cannot be given with that one.
    Excludes(&'static str),
    /// It cannot be given without.
    Requires(&'static str),
    /// It is necessary unless that one is given.
    Unless(&'static str),
}

const fn argument(kind: Kind, name: &'static str, value: &'static str) -> Argument {
    let none = "";
    Argument {
        kind,
        name,
        short: None,
        value,
        help: none,
        shape: Shape::FLAG,
        default: none,
        is_told: false,
        is_greedy: false,
        link: Link::None,
    }
}

/// `--name`.
pub const fn flag(name: &'static str) -> Argument {
    argument(Kind::Flag, name, "")
}

/// `--name VALUE`.
pub const fn option(name: &'static str, value: &'static str) -> Argument {
    argument(Kind::Option, name, value)
}

/// `VALUE`.
pub const fn operand(value: &'static str) -> Argument {
    argument(Kind::Operand, "", value)
}

/// All of `arguments`.
pub const fn group(arguments: &'static [Argument]) -> Argument {
    argument(Kind::Group(arguments), "", "")
}

impl Argument {
    pub(super) const fn short(self, short: char) -> Argument {
        Argument { short: Some(short), ..self }
    }

    pub(super) const fn alias(self, name: &'static str) -> Argument {
        Argument { link: Link::Alias(name), ..self }
    }

    pub(super) const fn words(self, words: &'static [&'static str]) -> Argument {
        Argument { shape: Shape { words, ..self.shape }, ..self }
    }

    pub(super) const fn default(self, default: &'static str) -> Argument {
        Argument { default, ..self }
    }

    pub(super) const fn told(self) -> Argument {
        Argument { is_told: true, ..self }
    }

    pub(super) const fn greedy(self) -> Argument {
        Argument { is_greedy: true, ..self }
    }

    pub(super) const fn excludes(self, name: &'static str) -> Argument {
        Argument { link: Link::Excludes(name), ..self }
    }

    pub(super) const fn requires(self, name: &'static str) -> Argument {
        Argument { link: Link::Requires(name), ..self }
    }

    pub(super) const fn unless(self, name: &'static str) -> Argument {
        Argument { link: Link::Unless(name), ..self }
    }

    pub(super) const fn required(self) -> Argument {
        Argument { shape: Shape { is_required: true, ..self.shape }, ..self }
    }

    /// Told by the field that it is read into.
    pub(super) const fn of(self, help: &'static str, shape: Shape) -> Argument {
        let words = if shape.words.is_empty() { self.shape.words } else { shape.words };
        let is_required = (shape.is_required && self.default.is_empty()) || self.shape.is_required;
        Argument { help: help.trim_ascii_start(), shape: Shape { is_required, words, ..shape }, ..self }
    }

    /// Its other name.
    pub(super) const fn other_name(&self) -> &'static str {
        match self.link {
            Link::Alias(name) => name,
            _ => "",
        }
    }

    /// Whether `name` is its name, or what stands for it.
    fn is(&self, name: &str) -> bool {
        !name.is_empty() && (self.name == name || (matches!(self.kind, Kind::Operand) && self.value == name))
    }
}

/// A struct, and the table of what is read into it: for each field its argument, whose help is the field's comment.
macro_rules! arguments {
    (
        $(#[doc = $about:literal])*
        $(#[examples = $examples:literal])?
        $vis:vis struct $name:ident {
            $($(#[doc = $help:literal])* $field_vis:vis $field:ident: $type:ty = $argument:expr,)*
        }
    ) => {
        $(#[doc = $about])*
        #[allow(dead_code)] // `--json` is asked for by [`run`](crate::cli::run), of all commands alike
        $vis struct $name {
            $($(#[doc = $help])* $field_vis $field: $type,)*
        }

        impl $crate::cli::arguments::Arguments for $name {
            const ABOUT: &'static str = concat!($($about),*).trim_ascii_start();
            const EXAMPLES: &'static str = concat!($($examples)?);
            const ARGUMENTS: &'static [$crate::cli::arguments::Argument] = {
                #[allow(unused_imports)]
                use $crate::cli::arguments::{Arguments, Field, flag, group, operand, option};
                &[$($argument.of(concat!($($help),*), <$type as Field>::SHAPE)),*]
            };
        }

        impl $crate::cli::arguments::Field for $name {
            const SHAPE: $crate::cli::arguments::Shape = $crate::cli::arguments::Shape::FLAG;

            fn take(
                values: &mut $crate::cli::arguments::Values,
            ) -> Result<$name, $crate::cli::arguments::Stop> {
                // In the order of the table.
                Ok($name { $($field: $crate::cli::arguments::Field::take(values)?),* })
            }
        }
    };
}

pub(in crate::cli) use arguments;
