//! `nodewell plugin run`: one run of a plug-in, as the check process would run it, for plug-in authors.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};
use nodewell_checks::plugin::{PluginStatus, RunResult};
use nodewell_model::Name;
use nodewell_rules::{
    RuleSet, load_path,
    plugin::{PluginTask, Task},
};
use serde::Serialize;
use tokio::task::LocalSet;

use super::{
    error::{CONFIG, CommandError, USAGE},
    out::Out,
    output::Output,
    rules::{RuleChoice, loaded},
};
use crate::{
    check_process::try_plugin,
    config::{Config, Flags},
};

/// Try plug-ins.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell plugin run raid-md0
  sudo nodewell plugin run ./custom-plugin-monitor.json")]
pub(super) struct Plugin {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    Run(Run),
}

/// Run a plug-in once and print what it would report; nothing is reported.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell plugin run raid-md0
  sudo nodewell plugin run ./custom-plugin-monitor.json

It runs as the check process runs it (environment, limits, timeout), but with the
rights of its caller, and without a cgroup of its own. As JSON each run is one
object a line. Exit codes: 0 it was
run, whatever it answered; 64 there is no such plug-in; 78 the file has errors.")]
struct Run {
    /// The plug-in's name, or a rule file, all of whose plug-ins are run.
    #[arg(value_name = "NAME|FILE")]
    what: String,
    #[command(flatten)]
    rules: RuleChoice,
    #[command(flatten)]
    output: Output,
}

impl Plugin {
    pub(super) async fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let PluginCommand::Run(run) = self.command;
        // What runs shares this thread.
        LocalSet::new().run_until(run.run(out)).await
    }
}

impl Run {
    async fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let form = self.output.document();
        for task in self.tasks()? {
            let began = Instant::now();
            let node_name = Config::load(&Flags::default()).map(|config| config.node_name).unwrap_or_default();
            match (try_plugin(&task, node_name).await, form) {
                (Some(run), Some(form)) => out.row(form, &Outcome::of(&task, &run, began.elapsed()))?,
                (Some(run), None) => out.text(&shown(&task, &run, began.elapsed().as_millis()))?,
                // Nothing was run.
                (None, Some(_)) => {}
                (None, None) => out.line(&format!("{}: a check of our own; `nodewell status` shows it", task.name))?,
            }
        }
        Ok(())
    }

    fn tasks(&self) -> Result<Vec<PluginTask>, CommandError> {
        let file = Path::new(&self.what);
        if file.is_file() {
            let found = load_path(file);
            let messages: Vec<String> = found.diagnostics.iter().map(ToString::to_string).collect();
            return if messages.is_empty() {
                Ok(all(found.set))
            } else {
                Err(CommandError::new(CONFIG, messages.join("\n")))
            };
        }
        let known = all(loaded(&self.rules.plan())?);
        let names: Vec<String> = known.iter().map(|task| task.name.clone()).collect();
        let found: Vec<_> = known.into_iter().filter(|task| task.name == self.what).collect();
        if found.is_empty() {
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(CommandError::new(USAGE, format!("no plug-in is called {:?}; there are: {known}", self.what)));
        }
        Ok(found)
    }
}

fn all(set: RuleSet) -> Vec<PluginTask> {
    set.plugins.into_iter().flat_map(|monitor| monitor.tasks).collect()
}

/// One run, for programs.
#[derive(Serialize)]
struct Outcome<'a> {
    plugin: &'a str,
    /// `ok`, `warning`, `problem` or `unknown`.
    status: &'static str,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a Name>,
    message: &'a str,
    reports: String,
    took_ms: u64,
    timeout_ms: u64,
}

impl<'a> Outcome<'a> {
    fn of(task: &'a PluginTask, run: &'a RunResult, took: Duration) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let status = match run.status {
            PluginStatus::Ok => "ok",
            PluginStatus::Warning => "warning",
            PluginStatus::Problem => "problem",
            PluginStatus::Unknown => "unknown",
        };
        Self {
            plugin: &task.name,
            status,
            why: run.why.as_ref(),
            message: &run.message,
            reports: reports(task, run),
            took_ms: millis(took),
            timeout_ms: millis(task.timeout),
        }
    }
}

fn shown(task: &PluginTask, run: &RunResult, millis: u128) -> String {
    let command = match &task.task {
        Task::Run { path, args, .. } => [vec![path.display().to_string()], args.clone()].concat().join(" "),
        Task::Health(_) => String::new(),
    };
    format!(
        "{}\n  ran      {command}\n  took     {millis} ms of at most {} ms\n  result   {}\n  message  {}\n  reports  {}\n",
        task.name,
        task.timeout.as_millis(),
        result(run),
        run.message,
        reports(task, run)
    )
}

fn result(run: &RunResult) -> String {
    match (run.status, &run.why) {
        (PluginStatus::Ok, _) => "well".to_owned(),
        (PluginStatus::Warning, _) => "a warning".to_owned(),
        (PluginStatus::Problem, _) => "a problem".to_owned(),
        (PluginStatus::Unknown, Some(why)) => format!("unknown ({why})"),
        (PluginStatus::Unknown, None) => "unknown".to_owned(),
    }
}

/// What the first such result leads to, or the last of as many as it takes.
fn reports(task: &PluginTask, run: &RunResult) -> String {
    let times = if task.failures > 1 { format!(", after {} in a row", task.failures) } else { String::new() };
    let of = task.subject.as_ref().map(|subject| format!(" for {subject}")).unwrap_or_default();
    match (&task.condition, run.status) {
        (Some(condition), PluginStatus::Ok) => format!("{condition}=False{of}"),
        (Some(condition), PluginStatus::Unknown) => {
            format!("{condition}=Unknown{of}, or its problem unconfirmed{times}")
        }
        (Some(condition), _) => format!("{condition}=True{of}, reason {}{times}", task.reason),
        (None, PluginStatus::Ok) => "nothing".to_owned(),
        (None, PluginStatus::Unknown) => {
            format!("an Event{of}, reason {}{times}", run.why.as_ref().unwrap_or(&task.reason))
        }
        (None, _) => format!("an Event{of}, reason {}{times}", task.reason),
    }
}
