//! docs/reference/cli.md: every command of the programs, from clap's own description of them.

use clap::{Arg, Command, CommandFactory, builder::PossibleValue};
use nodewell_agent::{check_process::ChecksCommandLine, cli, command};
use nodewell_controller::cli as controller;

use crate::{
    commands::built,
    examples,
    markdown::{cell, code, prose},
};

const HEAD: &str = "# Command lines: every command\n\n\
    **For:** people who look up a command, an option or an exit code.\\\n\
    **Afterwards:** you know what it takes, what it does, and by what it ends.\n\n\
    `nodewell-pages cli` writes this page from the programs' own descriptions, which `--help` of each command and the\n\
    man pages show as well. [Command lines](../cli.md) has what goes in and out of some. Each takes `--help`, and\n\
    each program `--version`.\n";

/// The page.
pub(crate) fn page() -> String {
    let programs = [
        cli::command(),
        command::command(),
        ChecksCommandLine::command(),
        controller::command(),
        nodewell_kubectl::command(),
    ]
    .map(built);
    let rows: String = programs.iter().map(|program| row(program) + &rows_below(program)).collect();
    let chapters: String = programs.iter().map(|program| chapter(program, 2)).collect();
    format!("{HEAD}\n| command | what it does |\n|---|---|\n{rows}{chapters}")
}

fn rows_below(command: &Command) -> String {
    shown_below(command).map(|below| row(below) + &rows_below(below)).collect()
}

fn row(command: &Command) -> String {
    let name = name(command);
    format!("| [{name}](#{}) | {} |\n", name.replace(' ', "-"), cell(&about(command)))
}

fn chapter(command: &Command, level: usize) -> String {
    let heading = "#".repeat(level);
    let mut text =
        format!("\n{heading} {}\n\n{}.\n\n```text\n{}\n```\n", name(command), prose(&about(command)), usage(command));
    // Options of every command stand below their program alone.
    let is_shown = |arg: &&Arg| !arg.is_hide_set() && !is_of_clap(arg) && (level == 2 || !arg.is_global_set());
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(is_shown).partition(|arg| arg.is_positional());
    let items: String = positional.into_iter().chain(options).map(item).collect();
    if !items.is_empty() {
        text += &format!("\n{items}");
    }
    text += &command.get_after_help().map(|help| after_help(&help.to_string())).unwrap_or_default();
    text + &shown_below(command).map(|below| chapter(below, level + 1)).collect::<String>()
}

fn shown_below(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

fn name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or_else(|| command.get_name())
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    about.trim_end_matches('.').to_owned()
}

fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines = usage.lines().map(|line| line.trim_start_matches("Usage: ").trim());
    lines.collect::<Vec<_>>().join("\n")
}

/// `--help` and `--version`.
fn is_of_clap(arg: &Arg) -> bool {
    arg.get_id() == "help" || arg.get_id() == "version"
}

fn item(arg: &Arg) -> String {
    let short = arg.get_short().filter(|_| arg.get_long().is_some());
    let short = short.map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let words: Vec<&str> = help.trim_end_matches('.').split_whitespace().collect();
    format!("- {short}{}: {}.{}\n", code(&arg.to_string()), prose(&words.join(" ")), rest(arg))
}

/// Which values it takes, and what is taken where it is not given.
fn rest(arg: &Arg) -> String {
    let mut text = String::new();
    let values = arg.get_possible_values();
    let values: Vec<String> = values.iter().filter(|value| !value.is_hide_set()).map(value).collect();
    if !values.is_empty() && !arg.is_hide_possible_values_set() {
        text += &format!(" {}.", values.join("; "));
    }
    let defaults: Vec<String> = arg.get_default_values().iter().map(|value| quoted(&value.to_string_lossy())).collect();
    // A flag's is `false`, for its parser.
    if arg.get_action().takes_values() && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        text += &format!(" Default: {}.", code(&defaults.join(" ")));
    }
    if let Some(variable) = arg.get_env() {
        text += &format!(" Environment: {}.", code(&variable.to_string_lossy()));
    }
    text + if arg.is_global_set() { " Every command takes it." } else { "" }
}

fn value(value: &PossibleValue) -> String {
    let help = value.get_help().map(|help| format!(": {}", prose(help.to_string().trim_end_matches('.'))));
    code(value.get_name()) + &help.unwrap_or_default()
}

/// As it would be typed.
fn quoted(value: &str) -> String {
    if value.is_empty() { "\"\"".to_owned() } else { value.to_owned() }
}

/// Our closing words are "Examples:" with indented lines, and paragraphs of prose, of which a list may end one.
fn after_help(words: &str) -> String {
    words.split("\n\n").map(part).collect()
}

fn part(words: &str) -> String {
    if let Some(lines) = words.strip_prefix("Examples:\n") {
        let lines: Vec<&str> = lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        return format!("\n```text\n{}\n```\n", lines.join("\n"));
    }
    let (words, terms) = examples::terms(words);
    let shown = |(term, meaning): &(&str, &str)| format!("- {}: {}.\n", code(term), prose(meaning));
    let items: String = terms.iter().map(shown).collect();
    let items = if items.is_empty() { items } else { format!("\n{items}") };
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, codes) = words.split_once("Exit codes: ").unwrap_or((words.as_str(), ""));
    let before = if before.is_empty() { String::new() } else { format!("\n{}\n", prose(before.trim_end())) };
    let codes = if codes.is_empty() { String::new() } else { format!("\n**Exit codes:** {}\n", prose(codes)) };
    before + &codes + &items
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMITTED: &str = include_str!("../../../docs/reference/cli.md");

    #[test]
    fn a_command_has_its_usage_its_options_and_what_follows() {
        let sub = Command::new("look")
            .about("Look at it.")
            .arg(Arg::new("form").long("form").short('f').value_name("FORM").value_parser(["a", "b"]).help("How"))
            .arg(Arg::new("what").required(true).help("A thing, as in *.toml"))
            .after_help("Examples:\n  prog look x   it\n\nIt only\nlooks. Exit codes: 0 done;\n1 not.");
        let all = Arg::new("all").long("all").global(true).value_name("N").default_value("2").help("How many");
        let program = built(Command::new("prog").about("A program").arg(all).subcommand(sub));
        let text = chapter(&program, 2);
        assert!(text.starts_with("\n## prog\n\nA program.\n\n```text\nprog [OPTIONS] [COMMAND]\n```\n"), "{text}");
        assert!(
            text.contains("- `--all <N>`: How many. Default: `2`. Every command takes it.\n\n### prog look\n"),
            "{text}"
        );
        let items = "- `<what>`: A thing, as in \\*.toml.\n- `-f`, `--form <FORM>`: How. `a`; `b`.\n\n```text\n";
        assert!(text.contains(items), "{text}");
        assert!(
            text.ends_with("prog look x   it\n```\n\nIt only looks.\n\n**Exit codes:** 0 done; 1 not.\n"),
            "{text}"
        );
    }

    #[test]
    fn a_list_of_a_help_stays_a_list() {
        let items = "- `a*`: \\*it looks.\n- `bb`: it does not.\n";
        assert_eq!(part("One\nof:\n  a*  *it looks\n  bb  it does not."), format!("\nOne of:\n\n{items}"));
    }

    #[test]
    fn the_page_is_that_of_the_programs() {
        let made = page();
        let first = made.lines().zip(COMMITTED.lines()).find(|(made, committed)| made != committed);
        assert!(made == COMMITTED, "run: cargo run -p nodewell-pages cli >docs/reference/cli.md\n{first:?}");
    }
}
