//! The command line `nodewell-controller`. One file for each command.

mod abort;
mod check;
mod failure;
mod hold;
mod look;
mod plan;
mod run;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::{
    config::{Config, MetricsListen, Settings},
    kube::KubeCluster,
};
use failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  nodewell-controller check policy.yaml      read policies and configuration, say what is wrong
  nodewell-controller plan                   what would be done now, and why not, for each node
  nodewell-controller plan --node worker-7   the same of one node, with all reasons
  nodewell-controller hold \"rack 4 is moved\" begin nothing more, anywhere
  nodewell-controller release                go on
  nodewell-controller run --no-dry-run       act where policies say Enforce

Exit codes: 0 done; 64 wrong usage; 70 it failed; 78 mistakes in the configuration or in a policy.
SIGTERM and SIGINT stop: what is under way comes to its end.";

/// The remedy controller: cordons, drains and fences nodes that need it, and never the wrong one.
#[derive(Debug, Parser)]
#[command(name = "nodewell-controller", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
struct Global {
    /// The config file [default: /etc/nodewell/nodewell-controller.toml, if it exists]; FILE.d/*.toml is read after it
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How to reach the API server, and as whom [default: what this machine offers]
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where the controller's own objects are [default: nodewell]
    #[arg(long, global = true, value_name = "NAME")]
    namespace: Option<String>,
    /// The Node of this host, which is never acted on
    #[arg(long, global = true, value_name = "NAME")]
    node_name: Option<String>,
    /// Where /metrics, /healthz and /readyz are, or "off" [default: 127.0.0.1:20258]
    #[arg(long, global = true, value_name = "ADDR")]
    metrics_listen: Option<MetricsListen>,
    /// node-reaper's configuration, as one policy more
    #[arg(long, global = true, value_name = "FILE")]
    node_reaper_config: Option<PathBuf>,
    /// Decide and say, do nothing [default, unless the config says otherwise]
    #[arg(long, global = true, overrides_with = "no_dry_run")]
    dry_run: bool,
    /// Act where policies say Enforce
    #[arg(long, global = true, overrides_with = "dry_run")]
    no_dry_run: bool,
}

impl Global {
    fn settings(&self) -> Settings {
        let dry_run = self.dry_run.then_some(true).or(self.no_dry_run.then_some(false));
        Settings {
            dry_run,
            namespace: self.namespace.clone(),
            kubeconfig: self.kubeconfig.clone(),
            node_name: self.node_name.clone(),
            metrics_listen: self.metrics_listen,
            node_reaper_config: self.node_reaper_config.clone(),
            ..Settings::default()
        }
    }

    fn config(&self) -> Result<Config, Failure> {
        Config::load(self.config.as_deref(), self.settings()).map_err(Failure::Mistakes)
    }

    /// With the rights of whoever calls.
    async fn cluster(&self) -> Result<(Config, KubeCluster), Failure> {
        let config = self.config()?;
        let cluster = crate::daemon::cluster(&config, std::sync::Arc::default()).await?;
        Ok((config, cluster))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Plan(plan::Plan),
    Check(check::Check),
    Abort(abort::Abort),
    Hold(hold::Hold),
    Release(hold::Release),
}

/// The whole command line, for what is made from it: man pages, completions.
#[must_use]
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command that `arguments` name; says on stderr what went wrong.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(usage) => return failure::usage(&usage),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::Said(format!("cannot start: {error}")).report(),
    };
    let outcome = tokio::task::LocalSet::new().block_on(&runtime, execute(arguments));
    // A name server that does not answer must not hold the exit.
    runtime.shutdown_background();
    outcome.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

async fn execute(arguments: Arguments) -> Result<(), Failure> {
    let global = arguments.global;
    match arguments.command.unwrap_or(Command::Run(run::Run::default())) {
        Command::Run(run) => run.run(&global).await,
        Command::Plan(plan) => plan.run(&global).await,
        Command::Check(check) => check.run(&global),
        Command::Abort(abort) => abort.run(&global).await,
        Command::Hold(hold) => hold.run(&global).await,
        Command::Release(release) => release.run(&global).await,
    }
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
            assert!(help.contains(&format!("nodewell-controller {}", command.get_name())), "{}", command.get_name());
        }
    }

    #[test]
    fn wrong_usage_is_64_and_help_is_0() {
        let code = |words: &[&str]| format!("{:?}", run(words.iter().map(OsString::from)));
        assert_eq!(code(&["nodewell-controller", "--version"]), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(&["nodewell-controller", "plann"]), format!("{:?}", ExitCode::from(64)));
        assert_eq!(code(&["nodewell-controller", "check", "/nonexistent.toml"]), format!("{:?}", ExitCode::from(78)));
    }

    #[test]
    fn the_last_word_on_a_dry_run_counts() {
        let dry_run = |words: &[&str]| {
            let words = ["nodewell-controller"].iter().chain(words);
            Arguments::try_parse_from(words).unwrap().global.settings().dry_run
        };
        assert_eq!(dry_run(&[]), None);
        assert_eq!(dry_run(&["run", "--no-dry-run"]), Some(false));
        assert_eq!(dry_run(&["--no-dry-run", "--dry-run"]), Some(true));
    }
}
