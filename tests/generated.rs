//! The man page and the completions are what the argument parser says, and complete. When the arguments have changed,
//! `PIPESTATE_GENERATE=1 cargo test --test generated` writes them anew.

#![allow(clippy::disallowed_methods)] // the test writes the page when it is asked to

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ValueHint};
use clap_complete::shells::{Bash, Fish, Zsh};
use clap_complete::{Generator, generate};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use pipestate::cli::PIPESTATE;
use pipestate::cli::arguments::{Argument, Command as Table, Kind, Link, Stop, parse};
use support::*;

/// A table as clap has it, which draws man page and completions, and is what the parser is compared with.
fn to_clap(table: &'static Table) -> clap::Command {
    let mut command = clap::Command::new(table.name).about(table.about).disable_help_subcommand(true);
    if !table.examples.is_empty() {
        command = command.before_help(table.examples);
    }
    let notes = (table.notes)();
    if !notes.is_empty() {
        command = command.after_help(notes);
    }
    if !table.commands.is_empty() {
        command = command.subcommand_required(true).arg_required_else_help(true);
    }
    command
        .args(table.all_arguments().into_iter().map(argument_to_clap))
        .subcommands(table.commands.iter().map(|it| to_clap(it)))
}

fn argument_to_clap(argument: &'static Argument) -> Arg {
    let named = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    let id = named(argument.name).or(named(argument.value)).unwrap_or("short");
    let mut arg = Arg::new(id).help(argument.help);
    if let (Kind::Flag | Kind::Option, Some(name)) = (argument.kind, named(argument.name)) {
        arg = arg.long(name);
    }
    if let Some(short) = argument.short {
        arg = arg.short(short);
    }
    if let Some(default) = named(argument.default) {
        arg = arg.default_value(default).hide_default_value(argument.is_told);
    }
    arg = match argument.link {
        Link::None => arg,
        Link::Alias(name) => arg.visible_alias(name),
        Link::Excludes(name) => arg.conflicts_with(name),
        Link::Requires(name) => arg.requires(name),
        Link::Unless(name) => arg.required_unless_present(name),
    };
    let shape = argument.shape;
    arg = match argument.kind {
        Kind::Flag => arg.action(ArgAction::SetTrue),
        _ if shape.is_many => arg.action(ArgAction::Append),
        _ => arg.action(ArgAction::Set),
    };
    if matches!(argument.kind, Kind::Flag) {
        return arg;
    }
    if argument.is_greedy || (shape.is_many && matches!(argument.kind, Kind::Operand)) {
        arg = arg.num_args(1..);
    }
    arg = arg
        .value_name(argument.value)
        .required(shape.is_required && !matches!(argument.link, Link::Unless(_)));
    if !argument.shape.words.is_empty() {
        return arg
            .value_parser(PossibleValuesParser::new(argument.shape.words))
            .hide_possible_values(argument.is_told);
    }
    if shape.is_path {
        return arg.value_parser(clap::value_parser!(std::path::PathBuf)).value_hint(ValueHint::AnyPath);
    }
    arg
}

fn clap_command() -> clap::Command {
    to_clap(&PIPESTATE).version(env!("CARGO_PKG_VERSION"))
}

/// The page: the program as a whole, and every command of it with its options and examples.
fn page() -> String {
    let command = clap_command().disable_help_flag(true);
    let man = Man::new(command.clone()).manual("pipestate").date("");
    let mut page = Vec::new();
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    let mut page = String::from_utf8(page).unwrap();
    page.push_str(&examples(&command, ".SH EXAMPLES"));
    page.push_str(".SH COMMANDS\n");
    commands(&command, "pipestate", &mut page);
    let codes: String = pipestate::error::EXIT_CODES
        .iter()
        .map(|exit| {
            let [code, meaning] =
                [exit.code.to_string(), exit.meaning.to_owned()].map(|text| paragraph([roman(text)]));
            format!(".TP\n{code}{meaning}")
        })
        .collect();
    write!(page, ".SH EXIT STATUS\n{codes}").unwrap();
    page
}

/// Every command below `parent`, those of commands too.
fn commands(parent: &clap::Command, name: &str, page: &mut String) {
    for command in parent.get_subcommands() {
        let name = format!("{name} {}", command.get_name());
        let command = command.clone().disable_help_flag(true);
        if command.get_subcommands().next().is_some() {
            commands(&command, &name, page);
            continue;
        }
        let usage = command.clone().bin_name(&name).render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").to_owned();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        write!(page, ".SS {name}\n{}.PP\n{}", paragraph([bold(usage)]), paragraph([roman(about + ".")]))
            .unwrap();
        let mut options = Vec::new();
        Man::new(command.clone()).render_options_section(&mut options).unwrap();
        let options = String::from_utf8(options).unwrap();
        page.push_str(
            options
                .lines()
                .filter(|line| {
                    !line.starts_with(".SH") && !line.starts_with(".ie") && !line.starts_with(".el")
                })
                .fold(String::new(), |all, line| all + line + "\n")
                .as_str(),
        );
        page.push_str(&examples(&command, ".PP"));
    }
}

fn paragraph<const N: usize>(text: [Inline; N]) -> String {
    Roff::new().text(text).to_roff()
}

/// The examples of a command's help, as they stand there.
fn examples(command: &clap::Command, heading: &str) -> String {
    let Some(examples) = command.get_before_help() else { return String::new() };
    let examples = examples.to_string();
    let lines = examples.lines().filter(|line| *line != "Examples:");
    let lines: String = lines.map(|line| paragraph([roman(line.trim_start())])).collect();
    format!("{heading}\n.nf\n{lines}.fi\n")
}

#[test]
fn the_man_page_is_up_to_date() {
    let page = page();
    assert_current("man/pipestate.1", &page);
    for told in ["pipestate write", "pipestate task new", "\\-\\-lock\\-timeout", "EXIT STATUS"] {
        assert!(page.contains(told), "{told}");
    }
}

/// Compares a file of the repository with what it is generated from, or writes it.
#[track_caller]
fn assert_current(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("PIPESTATE_GENERATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, generated).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(there == generated, "{name} is stale: PIPESTATE_GENERATE=1 cargo test --test generated");
}

#[test]
fn the_completions_are_up_to_date() {
    fn script(generator: impl Generator) -> String {
        let mut script = Vec::new();
        generate(generator, &mut clap_command(), "pipestate", &mut script);
        String::from_utf8(script).unwrap()
    }
    assert_current("completions/pipestate.bash", &script(Bash));
    assert_current("completions/_pipestate", &script(Zsh));
    assert_current("completions/pipestate.fish", &script(Fish));
}

/// Where there is a shell to ask.
fn shell(program: &str, script: &str) -> Option<String> {
    let output = Command::new(program)
        .args(["-c", script])
        .env("PROGRAM", env!("CARGO_BIN_EXE_pipestate"))
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn completions_are_printed_for_each_shell_and_complete_in_bash() {
    for (shell, marker) in
        [("bash", "complete -F _pipestate"), ("zsh", "#compdef pipestate"), ("fish", "complete -c pipestate")]
    {
        let ran = run(["completions", shell], "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert!(ran.stdout.contains(marker), "{shell}");
        assert!(ran.stdout.contains("lock-timeout"), "{shell}");
    }
    assert_eq!(run(["completions", "csh"], "").code, Some(64));
    let complete = |words: &str| {
        let script = format!(
            "source <(\"$PROGRAM\" completions bash); COMP_WORDS=(pipestate {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _pipestate pipestate \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        shell("bash", &script).map(|words| words.trim().to_owned())
    };
    if let Some(words) = complete("val") {
        assert_eq!(words, "validate");
        assert_eq!(complete("write --rep").as_deref(), Some("--replace"));
        assert_eq!(complete("task sh").as_deref(), Some("show"));
    }
    if let Some(words) = shell("zsh", "\"$PROGRAM\" completions zsh > /dev/null && echo ok") {
        assert_eq!(words, "ok\n");
    }
}

/// Words that a command may be given: its own arguments in all their spellings, and others'.
fn some_words(command: &Table, random: &mut fastrand::Rng) -> Vec<String> {
    let arguments = command.all_arguments();
    let value = |argument: &Argument, random: &mut fastrand::Rng| match random.choice(argument.shape.words) {
        Some(word) => (*word).to_owned(),
        None => "7".to_owned(),
    };
    let mut words = Vec::new();
    for _ in 0..random.usize(0..6) {
        let Some(argument) = random.choice(&arguments) else { break };
        let name = match argument.link {
            Link::Alias(name) if random.bool() => name,
            _ => argument.name,
        };
        match (argument.kind, argument.short, random.u8(..12)) {
            (_, _, 0) => words.push("word".into()),
            (_, _, 1) => words.push(["--", "-", "--no-such", "-q", "--json"][random.usize(..5)].into()),
            (Kind::Operand, ..) => words.push(value(argument, random)),
            (Kind::Flag, Some(short), _) => words.push(format!("-{short}")),
            (Kind::Flag, None, 2) => words.push(format!("--{name}=1")),
            (Kind::Flag, None, _) => words.push(format!("--{name}")),
            (_, _, 3) => words.push(format!("--{name}")),
            (_, Some(short), 4..8) => words.push(format!("-{short}{}", value(argument, random))),
            (_, _, 4..8) => words.push(format!("--{name}={}", value(argument, random))),
            _ => words.extend([format!("--{name}"), value(argument, random)]),
        }
    }
    // What has to be given mostly is, so that not all fail for that.
    for argument in arguments.iter().filter(|argument| argument.shape.is_required) {
        let value = value(argument, random);
        match (random.u8(..8), argument.kind) {
            (0, _) => {}
            (_, Kind::Operand) => words.push(value),
            _ => words.splice(..0, [format!("--{}", argument.name), value]).for_each(drop),
        }
    }
    words
}

#[test]
fn the_parser_accepts_what_clap_accepts() {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let groups = PIPESTATE.commands.iter().filter(|command| !command.commands.is_empty());
    let leaves = PIPESTATE.commands.iter().filter(|command| command.commands.is_empty());
    let mut accepted = 0;
    for command in leaves.chain(groups.flat_map(|group| group.commands)) {
        let clap = to_clap(command).no_binary_name(true).disable_help_flag(true);
        for _ in 0..400 {
            let words = some_words(command, &mut random);
            let theirs = clap.clone().try_get_matches_from(&words);
            let ours = parse(command, command.name, words.iter().map(Into::into));
            let told = match &ours {
                Ok(_) => "accepted",
                Err(Stop::Wrong(message)) => message,
                Err(_) => "help",
            };
            assert_eq!(
                ours.is_ok(),
                theirs.is_ok(),
                "{} {words:?}: {told}; {theirs:?}; seed {seed}",
                command.name
            );
            accepted += u32::from(ours.is_ok());
        }
    }
    assert!(accepted > 1_000, "{accepted}");
}
