//! The command line `nodewell`: reads the socket for people and scripts. One file for each command.

mod ack;
mod check;
mod clear;
mod collect_pstore;
mod completion;
mod config;
mod doctor;
mod enroll;
mod error;
mod events;
mod explain;
mod forget;
mod health;
mod identity;
mod import_npd;
mod inject;
mod inventory;
mod kubeconfig;
mod mute;
mod out;
mod output;
mod plugin;
mod release;
pub mod render;
mod replay;
mod report;
mod rules;
mod scan;
mod signals;
mod status;
mod version;
mod withdraw;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory, Parser, Subcommand};
use nodewell_client::{Client, DEFAULT_SOCKET};
use nodewell_rules::{LoadPlan, RulesFrom, load};

use crate::{
    config::{Config, Flags},
    identity::IdentityFlags,
    pstore_collector::PstoreCollectorFlags,
};
use error::CommandError;
use out::Out;

/// The health of this node: what is wrong, since when, and what to do.
#[derive(Debug, Parser)]
#[command(name = "nodewell", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  nodewell status                       what is wrong with this node
  nodewell events --follow              what happens on it, as it happens
  sudo nodewell scan                    what is wrong with a machine where no agent runs
  nodewell report --heartbeat           be a problem daemon; see its --help
  sudo nodewell inject KernelOops       see the whole way from the kernel log to the API server

Exit codes: 0 done; 64 wrong usage; 66 a file cannot be read; 69 the agent cannot
be reached; 70 it failed; 75 not yet, try again; 77 no permission; 78 errors in
configuration or rules.
`doctor` ends with 1 when a check fails; `status --exit-code` with 1 on a problem
and 2 if something is unknown.";

#[derive(Debug, Args)]
struct Global {
    /// The agent's socket [default: the config's, else /run/nodewell/nodewell.sock]
    #[arg(long, global = true, value_name = "PATH", env = "NODEWELL_SOCKET")]
    socket: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Status),
    Scan(scan::Scan),
    Events(events::Events),
    Report(report::Report),
    Clear(clear::Clear),
    Forget(forget::Forget),
    Mute(mute::MuteCommand),
    Unmute(mute::Unmute),
    Ack(ack::AckCommand),
    Unack(ack::Unack),
    Inventory(inventory::InventoryCommand),
    Check(check::Check),
    Config(config::ConfigCommand),
    ImportNpd(import_npd::ImportNpd),
    Replay(replay::Replay),
    Explain(explain::Explain),
    Inject(inject::Inject),
    Doctor(doctor::Doctor),
    Enroll(enroll::Enroll),
    /// Find or renew this node's credentials and hand them to the agent; done by root, to the end.
    Identity(IdentityFlags),
    /// Copy what the last boot's kernel left in pstore to where the agent may read it (root).
    CollectPstore(PstoreCollectorFlags),
    #[command(hide = true)]
    Kubeconfig(kubeconfig::KubeconfigCommand),
    Version(version::Version),
    Withdraw(withdraw::Withdraw),
    Release(release::Release),
    Reclaim(release::Reclaim),
    Plugin(plugin::Plugin),
    Completion(completion::Completion),
}

/// The whole command line, for what is made from it: man pages.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
}

/// What packages install for `shell`: it names the reasons and conditions of the shipped rules.
#[must_use]
pub fn completion_script(shell: clap_complete::Shell) -> Vec<u8> {
    let plan = LoadPlan { rules: RulesFrom::BuiltIn, ..LoadPlan::default() };
    completion::script(shell, &load(&plan).set)
}

/// Runs the command that `arguments` name; writes to stderr what went wrong.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(usage) => return error::usage(&usage),
    };
    let mut out = Out::stdout();
    let outcome =
        execute(arguments, &mut out).and_then(|code| error::found(code, out.flush().map_err(CommandError::from)));
    outcome.unwrap_or_else(CommandError::report)
}

/// As the agent resolves it. A user who may not read the config tries the default path.
fn configured_socket() -> PathBuf {
    Config::load(&Flags::default()).map_or_else(|_| DEFAULT_SOCKET.into(), |config| config.socket.path)
}

fn execute(arguments: Arguments, out: &mut Out) -> Result<ExitCode, CommandError> {
    if let Command::Kubeconfig(kubeconfig) = &arguments.command {
        // For the agent, which waits: no config is read, and no runtime started.
        return kubeconfig.run(out).map(|()| ExitCode::SUCCESS);
    }
    let client = Client::new(arguments.global.socket.unwrap_or_else(configured_socket));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::runtime)?;
    let outcome = runtime.block_on(async {
        match arguments.command {
            Command::Status(status) => return status.run(&client, out).await,
            Command::Scan(scan) => return scan.run(&client, out).await,
            Command::Events(events) => events.run(&client, out).await?,
            Command::Report(report) => report.run(&client, out).await?,
            Command::Clear(clear) => clear.run(&client, out).await?,
            Command::Forget(forget) => forget.run(&client, out).await?,
            Command::Mute(mute) => mute.run(&client, out).await?,
            Command::Unmute(unmute) => unmute.run(&client, out).await?,
            Command::Ack(ack) => ack.run(&client, out).await?,
            Command::Unack(unack) => unack.run(&client, out).await?,
            Command::Inventory(inventory) => inventory.run(&client, out).await?,
            Command::Check(check) => return check.run(out),
            Command::Config(config) => config.run(out)?,
            Command::ImportNpd(import) => import.run(out)?,
            Command::Replay(replay) => replay.run(out)?,
            Command::Explain(explain) => explain.run(out)?,
            Command::Inject(inject) => inject.run(&client, out).await?,
            Command::Doctor(doctor) => return doctor.run(&client, out).await,
            Command::Enroll(enroll) => return enroll.run(out).await,
            Command::Identity(flags) => identity::run(&flags).await?,
            Command::CollectPstore(flags) => collect_pstore::run(&flags)?,
            Command::Kubeconfig(_) => {}
            Command::Version(version) => version.run(&client, out).await?,
            Command::Withdraw(withdraw) => withdraw.run(out).await?,
            Command::Release(release) => release.run(&client, out).await?,
            Command::Reclaim(reclaim) => reclaim.run(&client, out)?,
            Command::Plugin(plugin) => plugin.run(out).await?,
            Command::Completion(completion) => completion.run(out)?,
        }
        Ok(ExitCode::SUCCESS)
    });
    // A name server or a disk that does not answer must not hold the exit.
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        for command in Arguments::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("nodewell {}", command.get_name())), "{}", command.get_name());
        }
    }

    #[test]
    fn wrong_usage_is_64_and_help_is_0() {
        let code = |words: &[&str]| format!("{:?}", run(words.iter().map(OsString::from)));
        assert_eq!(code(&["nodewell", "--version"]), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(&["nodewell", "stattus"]), format!("{:?}", ExitCode::from(64)));
    }
}
