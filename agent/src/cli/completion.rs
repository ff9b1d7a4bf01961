//! `nodewell completion`: what a shell needs to complete our command line, with the names of reasons and conditions.

use clap::{
    Arg, Args, Command,
    builder::{PossibleValue, PossibleValuesParser},
};
use clap_complete::{Shell, generate};
use nodewell_model::Name;
use nodewell_rules::{RuleSet, load};

use super::{error::CommandError, explain::names, out::Out, rules::RuleChoice};

/// Print a shell's completions of this command; packages install them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell completion bash > ~/.local/share/bash-completion/completions/nodewell
  nodewell completion zsh > ~/.zfunc/_nodewell
  nodewell completion fish > ~/.config/fish/completions/nodewell.fish

They complete reasons and conditions, too: those of the rules that this machine
has now. What packages install knows the shipped rules.")]
pub(super) struct Completion {
    /// The shell.
    shell: Shell,
    #[command(flatten)]
    rules: RuleChoice,
}

impl Completion {
    pub(super) fn run(self, out: &mut Out) -> Result<(), CommandError> {
        // Rules with errors are left out: `nodewell check` reports them.
        let set = load(&self.rules.plan()).set;
        Ok(out.text(&String::from_utf8_lossy(&script(self.shell, &set)))?)
    }
}

/// What completes the command line in `shell`, with the names of `set`.
pub(super) fn script(shell: Shell, set: &RuleSet) -> Vec<u8> {
    let mut script = Vec::new();
    let named = named(set);
    generate(shell, &mut completed(super::command(), &named), "nodewell", &mut script);
    if shell == Shell::Fish {
        script.extend(named.iter().filter_map(fish_line).flat_map(String::into_bytes));
    }
    script
}

/// An argument that takes a name.
struct Named {
    command: &'static str,
    argument: &'static str,
    is_flag: bool,
    words: Words,
}

fn named(set: &RuleSet) -> Vec<Named> {
    let names = names(set);
    let (reasons, conditions) = (Words::of(&names.reasons), Words::of(&names.conditions));
    let any = Words([reasons.0.as_slice(), &conditions.0].concat());
    let of = |command, argument, words: &Words| Named { command, argument, is_flag: false, words: words.clone() };
    let flag = |command, argument, words| Named { is_flag: true, ..of(command, argument, words) };
    vec![
        of("explain", "reason", &any),
        of("inject", "reason", &reasons),
        flag("inject", "condition", &conditions),
        of("clear", "condition", &conditions),
        flag("clear", "reason", &reasons),
        of("mute", "reason", &reasons),
        flag("mute", "condition", &conditions),
        of("unmute", "reason", &reasons),
        flag("unmute", "condition", &conditions),
        of("ack", "reason", &reasons),
        flag("ack", "condition", &conditions),
        of("unack", "reason", &reasons),
        flag("unack", "condition", &conditions),
        flag("events", "reason", &reasons),
        flag("events", "condition", &conditions),
    ]
}

/// `command` with the names that its arguments may be. Only completions are made from it: what is parsed takes any
/// name, for a daemon may report others.
fn completed(mut command: Command, named: &[Named]) -> Command {
    for Named { command: name, argument, words, .. } in named {
        let of = |argument: Arg| argument.value_parser(words.parser());
        command = command.mut_subcommand(name, |command| command.mut_arg(argument, of));
    }
    command
}

/// clap_complete's script for fish has the values of flags alone.
fn fish_line(named: &Named) -> Option<String> {
    let Named { command, is_flag, words, .. } = named;
    let condition = format!("__fish_nodewell_using_subcommand {command}");
    (!is_flag).then(|| format!("complete -c nodewell -n \"{condition}\" -f -a \"{}\"\n", words.0.join(" ")))
}

/// Values of an argument.
#[derive(Clone)]
struct Words(Vec<&'static str>);

impl Words {
    /// clap takes names that live as long as the program, which ends after this.
    fn of(names: &[Name]) -> Self {
        Self(names.iter().map(|name| &*name.to_string().leak()).collect())
    }

    fn parser(&self) -> PossibleValuesParser {
        PossibleValuesParser::new(self.0.iter().map(|word| PossibleValue::new(*word)))
    }
}

#[cfg(test)]
mod tests {
    use nodewell_rules::{LoadPlan, RulesFrom};

    use super::*;

    fn shipped(shell: Shell) -> String {
        let plan = LoadPlan { rules: RulesFrom::BuiltIn, ..LoadPlan::default() };
        String::from_utf8(script(shell, &load(&plan).set)).unwrap()
    }

    /// The part of bash's script for one command, with the words that it offers.
    fn offered(script: &str, command: &str) -> String {
        let start = script.find(&format!("\n        nodewell__subcmd__{command})")).unwrap();
        let part = &script[start..];
        part[..part.find("return 0\n            ;;\n        nodewell").unwrap_or(part.len())].to_owned()
    }

    #[test]
    fn shells_complete_reasons_and_conditions() {
        let bash = shipped(Shell::Bash);
        for (command, names) in [
            ("explain", &["KernelOops", "GpuXid79FallenOffBus", "DiskUnhealthy", "--list"][..]),
            ("events", &["--since", "KernelOops", "DiskUnhealthy"]),
            ("clear", &["KernelOops", "DiskUnhealthy"]),
            ("inject", &["KernelOops", "DiskUnhealthy"]),
        ] {
            let part = offered(&bash, command);
            names.iter().for_each(|name| assert!(part.contains(name), "{command}: no {name}"));
        }
        for shell in [Shell::Zsh, Shell::Fish] {
            assert!(shipped(shell).matches("KernelOops").count() >= 4, "{shell}");
        }
    }

    #[test]
    fn fish_knows_the_condition_of_its_lines() {
        let fish = shipped(Shell::Fish);
        assert!(fish.contains("function __fish_nodewell_using_subcommand"), "clap_complete names it otherwise");
        let of_explain = |line: &&str| line.contains("subcommand explain\" -f -a");
        let line = fish.lines().find(of_explain).unwrap();
        ["KernelOops", "DiskUnhealthy"].iter().for_each(|name| assert!(line.contains(&format!(" {name} ")), "{name}"));
    }

    #[test]
    fn what_is_parsed_takes_names_that_the_rules_do_not_have() {
        assert!(super::super::command().try_get_matches_from(["nodewell", "explain", "OfAnotherDaemon"]).is_ok());
    }
}
