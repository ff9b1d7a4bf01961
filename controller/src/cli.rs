//! The command line `nodewell-controller`. One file for each command.

mod abort;
mod accept;
mod asker;
mod check;
mod error;
mod fence;
mod look;
mod output;
mod pause;
mod plan;
mod progress;
mod release;
mod retry;
mod run;
mod webhook;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::{
    config::{Config, MetricsListen, Settings},
    kube::KubeCluster,
};
use error::CommandError;

const AFTER_HELP: &str = "\
Examples:
  nodewell-controller check policy.yaml        what is wrong with a policy
  nodewell-controller plan                     what is next, and why not
  nodewell-controller plan --node worker-7     one node, with all reasons
  nodewell-controller pause \"rack 4 is moved\"   begin nothing more, anywhere
  nodewell-controller fence worker-7           turn one node off, by hand
  nodewell-controller resume                  go on
  nodewell-controller run --no-dry-run         act where policies are Enforce

Exit codes: 0 done; 64 wrong usage; 70 it failed; 78 errors in the
configuration or in a policy.
SIGTERM and SIGINT stop at once: what is under way ends with it, and is in the
records for the next leader.";

/// The remediation controller: cordons, drains and fences nodes that need it, and never the wrong one.
#[derive(Debug, Parser)]
#[command(name = "nodewell-controller", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

impl Arguments {
    /// The command, and every option that was given to it.
    fn resolved(self) -> (Global, Command) {
        let command = self.command.unwrap_or_else(|| Command::Run(run::Run::default()));
        let after = match &command {
            Command::Run(run) => run.acting.clone(),
            Command::Plan(plan) => plan.acting.clone(),
            _ => Acting::default(),
        };
        (Global { acting: after.or(self.acting), ..self.global }, command)
    }
}

#[derive(Debug, Args)]
struct Global {
    /// The config file [default: /etc/nodewell/nodewell-controller.toml, if it exists]; FILE.d/*.toml is read after it
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERY)]
    config: Option<PathBuf>,
    /// How to reach the API server, and as whom [default: what this machine offers]
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERY)]
    kubeconfig: Option<PathBuf>,
    /// Where the controller's own objects are [default: nodewell]
    #[arg(long, global = true, value_name = "NAME", help_heading = EVERY)]
    namespace: Option<String>,
    #[arg(skip)]
    acting: Acting,
}

const EVERY: &str = "Options of every command";

/// Options of a run, and of a plan, which is to be the controller's.
#[derive(Debug, Default, Clone, Args)]
struct Acting {
    /// Decide and report, do nothing [default, unless the config sets otherwise]
    #[arg(long, overrides_with = "no_dry_run")]
    dry_run: bool,
    /// Act where policies are Enforce
    #[arg(long, overrides_with = "dry_run")]
    no_dry_run: bool,
    /// The Node of this host, which is never acted on
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,
    /// node-reaper's configuration, as one policy more
    #[arg(long, value_name = "FILE")]
    node_reaper_config: Option<PathBuf>,
    /// Where /metrics, /healthz and /readyz are, or "off" [default: 127.0.0.1:20258]
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<MetricsListen>,
}

impl Acting {
    /// Whether any of it is: then a person asks what this very configuration would do.
    fn is_given(&self) -> bool {
        self.dry_run || self.no_dry_run || self.node_name.is_some() || self.node_reaper_config.is_some()
    }

    /// What is given after the command, and where nothing is, what is given before it.
    fn or(self, before: Self) -> Self {
        let is_given = self.dry_run || self.no_dry_run;
        let (dry_run, no_dry_run) =
            if is_given { (self.dry_run, self.no_dry_run) } else { (before.dry_run, before.no_dry_run) };
        Self {
            dry_run,
            no_dry_run,
            node_name: self.node_name.or(before.node_name),
            node_reaper_config: self.node_reaper_config.or(before.node_reaper_config),
            metrics_listen: self.metrics_listen.or(before.metrics_listen),
        }
    }
}

impl Global {
    /// What the flags set.
    fn apply(&self, settings: &mut Settings) {
        let Acting { dry_run, no_dry_run, node_name, node_reaper_config, metrics_listen } = self.acting.clone();
        settings.dry_run = dry_run || (settings.dry_run && !no_dry_run);
        settings.namespace = self.namespace.clone().unwrap_or_else(|| std::mem::take(&mut settings.namespace));
        settings.kubeconfig = self.kubeconfig.clone().or(settings.kubeconfig.take());
        settings.node_name = node_name.or(settings.node_name.take());
        settings.node_reaper_config = node_reaper_config.or(settings.node_reaper_config.take());
        settings.metrics_listen = metrics_listen.unwrap_or(settings.metrics_listen);
    }

    fn config(&self) -> Result<Config, CommandError> {
        Config::load(self.config.as_deref(), |settings| self.apply(settings)).map_err(CommandError::Diagnostics)
    }

    /// With the caller's rights.
    async fn cluster(&self) -> Result<(Config, KubeCluster), CommandError> {
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
    Fence(fence::Fence),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Retry(retry::Retry),
    Release(release::Release),
    Webhook(webhook::Webhook),
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
        Err(error) => return CommandError::Message(format!("cannot start: {error}")).report(),
    };
    let outcome = tokio::task::LocalSet::new().block_on(&runtime, execute(arguments));
    // A name server that does not answer must not hold the exit.
    runtime.shutdown_background();
    outcome.map_or_else(CommandError::report, |()| ExitCode::SUCCESS)
}

async fn execute(arguments: Arguments) -> Result<(), CommandError> {
    let (global, command) = arguments.resolved();
    match command {
        Command::Run(run) => run.run(&global).await,
        Command::Plan(plan) => plan.run(&global).await,
        Command::Check(check) => check.run(&global).await,
        Command::Abort(abort) => abort.run(&global).await,
        Command::Fence(fence) => fence.run(&global).await,
        Command::Pause(pause) => pause.run(&global).await,
        Command::Resume(resume) => resume.run(&global).await,
        Command::Retry(retry) => retry.run(&global).await,
        Command::Release(release) => release.run(&global).await,
        Command::Webhook(webhook) => webhook.run(&global).await,
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
    fn help_fits_a_terminal_of_80_columns() {
        let commands = Arguments::command();
        for command in [&commands].into_iter().chain(commands.get_subcommands()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(long.is_empty(), "{}: {long:?}", command.get_name());
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.chars().count() < 70 || command.get_name() == "nodewell-controller", "{about}");
        }
    }

    #[test]
    fn the_help_promises_no_end_that_a_signal_does_not_wait_for() {
        let help = Arguments::command().get_after_help().unwrap().to_string();
        assert!(help.contains("SIGTERM and SIGINT stop at once"), "{help}");
    }

    #[test]
    fn wrong_usage_is_64_and_help_is_0() {
        let code = |args: &[&str]| format!("{:?}", run(args.iter().map(OsString::from)));
        assert_eq!(code(&["nodewell-controller", "--version"]), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(&["nodewell-controller", "plann"]), format!("{:?}", ExitCode::from(64)));
        assert_eq!(code(&["nodewell-controller", "check", "/nonexistent.toml"]), format!("{:?}", ExitCode::from(78)));
    }

    #[test]
    fn the_last_flag_on_a_dry_run_counts() {
        // Over files that say yes, and over files that say no.
        let dry_run = |args: &[&str]| {
            let args = ["nodewell-controller"].iter().chain(args);
            let flags = Arguments::try_parse_from(args).unwrap().resolved().0;
            [true, false].map(|dry_run| {
                let mut settings = Settings { dry_run, ..Settings::default() };
                flags.apply(&mut settings);
                settings.dry_run
            })
        };
        assert_eq!(dry_run(&[]), [true, false]);
        assert_eq!(dry_run(&["run", "--no-dry-run"]), [false; 2]);
        assert_eq!(dry_run(&["--no-dry-run", "--dry-run"]), [true; 2]);
        assert_eq!(dry_run(&["--no-dry-run", "run"]), [false; 2]);
        assert_eq!(dry_run(&["--no-dry-run", "plan", "--dry-run"]), [true; 2]);
    }
}
