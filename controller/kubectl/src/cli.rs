//! The command line `kubectl nodewell`. One file for each command.

mod events;
mod node;
mod output;
mod status;
mod why;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};

use crate::{
    access::Target,
    error::{self, CommandError, SOFTWARE},
};

const AFTER_HELP: &str = "\
Examples:
  kubectl nodewell status                       what is wrong, on all nodes
  kubectl nodewell status -l pool=gpu           on those with a label
  kubectl nodewell node worker-7                one node, with all conditions
  kubectl nodewell why worker-7                 why it was cordoned or fenced
  kubectl nodewell events --since 30m           what happened, on all nodes

It reads, and changes nothing. It runs where kubectl does: the API server has
all that it shows. The role nodewell:fleet-viewer allows it.

Exit codes: 0 shown, whatever it is; 64 wrong usage; 66 there is no such node;
69 no API server answers; 70 it failed; 77 no permission; 78 no kubeconfig that
can be used. With --exit-code `status` and `node` end with 1 on a problem, and
with 2 if something is unknown.";

/// The health of this cluster's nodes: what is wrong, since when, and what is done about it.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-nodewell",
    bin_name = "kubectl nodewell",
    version,
    after_help = AFTER_HELP,
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Status),
    Node(node::Node),
    Why(why::Why),
    Events(events::Events),
}

/// The whole command line, for what is made from it: man pages, completions.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command that `arguments` name; prints on stderr what went wrong.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(usage) => return error::usage(&usage),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return CommandError::new(SOFTWARE, format!("cannot start: {error}")).report(),
    };
    let outcome = runtime.block_on(execute(arguments));
    // A name server that does not answer must not hold the exit.
    runtime.shutdown_background();
    outcome.unwrap_or_else(CommandError::report)
}

async fn execute(arguments: Arguments) -> Result<ExitCode, CommandError> {
    let target = arguments.target;
    match arguments.command {
        Command::Status(status) => status.run(&target).await,
        Command::Node(node) => node.run(&target).await,
        Command::Why(why) => why.run(&target).await,
        Command::Events(events) => events.run(&target).await,
    }
}

/// A node's name, as it is or as `node/NAME`.
fn node_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("node/").or_else(|| text.strip_prefix("nodes/")).unwrap_or(text);
    if name.is_empty() { Err("a node has a name".to_owned()) } else { Ok(name.to_owned()) }
}

/// There is no such node, and nothing is left of one.
fn no_such_node(name: &str) -> CommandError {
    CommandError::new(crate::error::NO_INPUT, format!("there is no node {name:?}; `kubectl get nodes` lists them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example_in_80_columns() {
        let commands = Arguments::command();
        for command in [&commands].into_iter().chain(commands.get_subcommands()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(long.is_empty(), "{}: {long:?}", command.get_name());
        }
        for command in commands.get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("kubectl nodewell {}", command.get_name())), "{}", command.get_name());
        }
    }

    #[test]
    fn help_is_that_of_a_plug_in_whatever_the_program_is_called() {
        let usage = |args: &[&str]| Arguments::try_parse_from(args).unwrap_err().to_string();
        let help = usage(&["/usr/bin/kubectl-nodewell", "status", "--help"]);
        assert!(help.contains("Usage: kubectl nodewell status"), "{help}");
        assert!(help.contains("--context") && help.contains("[default: nodewell]"), "{help}");
    }

    #[test]
    fn wrong_usage_is_64_and_help_is_0() {
        let code = |args: &[&str]| format!("{:?}", run(args.iter().map(OsString::from)));
        assert_eq!(code(&["kubectl-nodewell", "--version"]), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(&["kubectl-nodewell", "stattus"]), format!("{:?}", ExitCode::from(64)));
        assert_eq!(code(&["kubectl-nodewell", "why"]), format!("{:?}", ExitCode::from(64)));
        let nowhere = ["kubectl-nodewell", "status", "--kubeconfig", "/nonexistent/config"];
        assert_eq!(code(&nowhere), format!("{:?}", ExitCode::from(78)));
    }

    #[test]
    fn a_node_is_named_as_kubectl_prints_it() {
        assert_eq!(node_name("node/worker-7").unwrap(), "worker-7");
        assert_eq!(node_name("worker-7").unwrap(), "worker-7");
        assert!(node_name("node/").is_err());
    }
}
