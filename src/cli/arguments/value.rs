//! From the words of an argument to the field that it is read into.

use std::ffi::OsString;
use std::path::PathBuf;

use super::parse::{Stop, Values};

/// What a field says about its argument.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Whether it has to be given.
    pub is_required: bool,
    /// Whether it may be given more than once.
    pub is_many: bool,
    /// Whether it is a path, which a shell can complete.
    pub is_path: bool,
    /// The words that it may be; empty if it is no word.
    pub words: &'static [&'static str],
}

impl Shape {
    /// What has no value.
    pub const FLAG: Shape = Shape { is_required: false, is_many: false, is_path: false, words: &[] };

    const fn of<T: Value>() -> Shape {
        Shape { is_required: true, is_path: T::IS_PATH, words: T::WORDS, ..Shape::FLAG }
    }
}

/// What a field may be.
pub trait Field: Sized {
    /// What that says about the argument.
    const SHAPE: Shape;

    /// The field, of what was given for the next argument of the table.
    fn take(values: &mut Values) -> Result<Self, Stop>;
}

/// What a word may be read as.
pub trait Value: Sized {
    /// See [`Shape::words`]; others are refused before they are read.
    const WORDS: &'static [&'static str] = &[];
    /// See [`Shape::is_path`].
    const IS_PATH: bool = false;

    /// Reads it, or says what is wrong with it.
    fn read(word: &str) -> Result<Self, String>;

    /// The same where it need not be text.
    fn read_raw(word: OsString) -> Result<Self, Wrong> {
        let word = word.to_str().ok_or(Wrong::NotText)?;
        Self::read(word).map_err(Wrong::Value)
    }
}

/// What is wrong with a word.
pub enum Wrong {
    /// It is not UTF-8.
    NotText,
    /// There is none.
    Empty,
    /// This.
    Value(String),
}

impl Field for bool {
    const SHAPE: Shape = Shape::FLAG;

    fn take(values: &mut Values) -> Result<bool, Stop> {
        Ok(!values.take().1.is_empty())
    }
}

impl<T: Value> Field for T {
    const SHAPE: Shape = Shape::of::<T>();

    fn take(values: &mut Values) -> Result<T, Stop> {
        // What is required or has a default has been checked to be there.
        <Option<T> as Field>::take(values)?.ok_or_else(|| Stop::Wrong("an argument is missing".into()))
    }
}

impl<T: Value> Field for Option<T> {
    const SHAPE: Shape = Shape { is_required: false, ..Shape::of::<T>() };

    fn take(values: &mut Values) -> Result<Option<T>, Stop> {
        let (argument, mut words) = values.take();
        words
            .pop()
            .map(|word| T::read_raw(word.clone()).map_err(|wrong| argument.refuse(&word, wrong)))
            .transpose()
    }
}

impl<T: Value> Field for Vec<T> {
    const SHAPE: Shape = Shape { is_required: false, is_many: true, ..Shape::of::<T>() };

    fn take(values: &mut Values) -> Result<Vec<T>, Stop> {
        let (argument, words) = values.take();
        let read = |word: OsString| T::read_raw(word.clone()).map_err(|wrong| argument.refuse(&word, wrong));
        words.into_iter().map(read).collect()
    }
}

impl Value for PathBuf {
    const IS_PATH: bool = true;

    fn read(word: &str) -> Result<PathBuf, String> {
        Ok(word.into())
    }

    fn read_raw(word: OsString) -> Result<PathBuf, Wrong> {
        if word.is_empty() { Err(Wrong::Empty) } else { Ok(word.into()) }
    }
}

impl Value for String {
    fn read(word: &str) -> Result<String, String> {
        Ok(word.to_owned())
    }
}

impl Value for u32 {
    fn read(word: &str) -> Result<u32, String> {
        word.parse().map_err(|error: std::num::ParseIntError| error.to_string())
    }
}

impl Value for u64 {
    fn read(word: &str) -> Result<u64, String> {
        word.parse().map_err(|error: std::num::ParseIntError| error.to_string())
    }
}
