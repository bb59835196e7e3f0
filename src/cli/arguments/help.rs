//! A command's help.

use std::fmt::Write;

use super::{Argument, Command, Kind, Link};

/// The help of `command`, which is called by the words `path`.
pub fn help(command: &Command, path: &str) -> String {
    let mut text = format!("{}\n\n", command.about);
    if !command.examples.is_empty() {
        let _ = write!(text, "{}\n\n", command.examples);
    }
    let arguments = command.all_arguments();
    let (operands, options): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| matches!(argument.kind, Kind::Operand));
    let _ = writeln!(text, "Usage: {path}{}", usage(command, &operands, &options));
    section(
        &mut text,
        "Commands",
        command.commands.iter().map(|command| (command.name.into(), command.about.into())).collect(),
    );
    section(
        &mut text,
        "Arguments",
        operands.iter().map(|argument| (argument.called(), described(argument))).collect(),
    );
    let mut rows: Vec<(String, String)> =
        options.iter().map(|argument| (with_short(argument), described(argument))).collect();
    rows.push(("-h, --help".into(), "Print help".into()));
    if path == "pipestate" {
        rows.push(("-V, --version".into(), "Print version".into()));
    }
    section(&mut text, "Options", rows);
    let notes = (command.notes)();
    if !notes.is_empty() {
        let _ = writeln!(text, "\n{notes}");
    }
    text
}

fn usage(command: &Command, operands: &[&Argument], options: &[&Argument]) -> String {
    if !command.commands.is_empty() {
        return " <COMMAND>".into();
    }
    let required = |argument: &&&Argument| argument.shape.is_required;
    let optional = if options.iter().all(|it| required(&it)) { "" } else { " [OPTIONS]" };
    let named = options.iter().filter(required).chain(operands);
    named.fold(optional.to_owned(), |usage, argument| usage + " " + &argument.called())
}

fn with_short(argument: &Argument) -> String {
    match argument.short {
        Some(short) if argument.name.is_empty() => format!("-{short}"),
        Some(short) => format!("-{short}, {}", argument.called()),
        None => format!("    {}", argument.called()),
    }
}

fn described(argument: &Argument) -> String {
    let mut text = argument.help.to_owned();
    if let Link::Alias(name) = argument.link {
        let _ = write!(text, " [alias: --{name}]");
    }
    if !argument.is_told && !argument.default.is_empty() {
        let _ = write!(text, " [default: {}]", argument.default);
    }
    if !argument.is_told && !argument.shape.words.is_empty() {
        let _ = write!(text, " [possible values: {}]", argument.shape.words.join(", "));
    }
    text
}

fn section(text: &mut String, heading: &str, rows: Vec<(String, String)>) {
    if rows.is_empty() {
        return;
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "\n{heading}:");
    for (name, about) in rows {
        let _ = writeln!(text, "  {name:width$}  {about}");
    }
}
