//! `nodewell config`: the configuration as it holds, and which file says so.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nodewell_settings::{Diagnostic, nearest::did_you_mean};
use serde::Serialize;
use serde_json::Value;

use super::{
    error::{CONFIG, CommandError, USAGE},
    out::Out,
    output::Output,
    render::{Look, Paint},
};
use crate::config::{Config, Entry, Flags};

/// The configuration as it holds, and which file says so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell config show
  nodewell config show clock limits.zombies
  nodewell config show --set")]
pub(super) struct ConfigCommand {
    #[command(subcommand)]
    command: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Show(Show),
}

/// Show every key with its value and the line that sets it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell config show
  nodewell config show clock limits.zombies
  nodewell config show --set                 what differs from a fresh installation
  nodewell config show -o wide disk          what each key takes, and what it is for

The text is a config file: a key without a comment has its usual value, one that
stands behind # has none. [[service]], [[repair.unit]] and [[grant]] are not in it.
As JSON and YAML: a list of {table, key, value, default, file, line, takes, help}.

Exit codes: 0 done; 64 there is no such key; 78 errors in the configuration.")]
struct Show {
    /// Only these tables and keys: `clock`, `limits.zombies`, `node-name`.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only what files set.
    #[arg(long)]
    set: bool,
    /// The configuration [default: /etc/nodewell/nodewell.toml, if it exists]; FILE.d/*.toml is read after it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// One key for programs.
#[derive(Debug, Serialize)]
struct EntryView<'a> {
    table: Option<&'a str>,
    key: &'a str,
    value: Option<Value>,
    default: Option<Value>,
    file: Option<String>,
    line: Option<usize>,
    takes: &'a str,
    help: &'a str,
}

impl ConfigCommand {
    pub(super) fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let What::Show(show) = self.command;
        show.run(out)
    }
}

impl Show {
    fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let entries = self.entries()?;
        match self.output.document() {
            Some(form) => out.document(form, &entries.iter().map(EntryView::of).collect::<Vec<_>>()),
            None => Ok(out.text(&self.text(&entries, &Look::of_stdout()))?),
        }
    }

    fn entries(&self) -> Result<Vec<Entry>, CommandError> {
        let flags = Flags { config: self.config.clone(), ..Flags::default() };
        let (config, set) = Config::load_with_origins(&flags).map_err(|found| not_read(&found))?;
        let mut entries = config.entries(&set);
        self.check_names(&entries)?;
        entries.retain(|entry| self.is_wanted(entry));
        Ok(entries)
    }

    fn check_names(&self, entries: &[Entry]) -> Result<(), CommandError> {
        let Some(unknown) = self.names.iter().find(|name| !entries.iter().any(|entry| is_named(entry, name))) else {
            return Ok(());
        };
        let known: Vec<String> = entries.iter().map(path).collect();
        let tables = entries.iter().filter_map(|entry| entry.table);
        let hint = did_you_mean(unknown, known.iter().map(String::as_str).chain(tables));
        Err(CommandError::new(USAGE, format!("there is no table or key {unknown:?}{hint}")))
    }

    fn is_wanted(&self, entry: &Entry) -> bool {
        let is_named = self.names.is_empty() || self.names.iter().any(|name| is_named(entry, name));
        is_named && (entry.at.is_some() || !self.set)
    }

    fn text(&self, entries: &[Entry], look: &Look) -> String {
        let (mut text, mut table) = (String::new(), None);
        for entry in entries {
            if entry.table != table {
                table = entry.table;
                let gap = if text.is_empty() { "" } else { "\n" };
                text += &format!("{gap}{}\n", look.paint(Paint::Strong, entry.shown.table));
            }
            if self.output.is_wide() {
                let comment = format!("# {} Takes {}.", entry.shown.help, entry.shown.takes);
                text += &format!("{}\n", look.paint(Paint::Faint, &comment));
            }
            text += &format!("{}\n", line(entry, look));
        }
        text
    }
}

/// `offset = "20ms"   # /etc/nodewell/nodewell.toml:12`
fn line(entry: &Entry, look: &Look) -> String {
    let key = entry.shown.key;
    match (&entry.shown.value, &entry.at) {
        (None, _) => look.paint(Paint::Faint, &format!("#{key} =")),
        (Some(value), None) => format!("{key} = {value}"),
        (Some(value), Some(at)) => {
            let setting = format!("{:<40}", format!("{key} = {value}"));
            format!("{}  {}", look.paint(Paint::Strong, &setting), look.paint(Paint::Faint, &format!("# {at}")))
        }
    }
}

/// `limits.zombies`
fn path(entry: &Entry) -> String {
    entry.table.map_or_else(|| entry.shown.key.to_owned(), |table| format!("{table}.{}", entry.shown.key))
}

fn is_named(entry: &Entry, name: &str) -> bool {
    entry.table == Some(name) || path(entry) == name
}

fn not_read(found: &[Diagnostic]) -> CommandError {
    CommandError::new(CONFIG, found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

impl<'a> EntryView<'a> {
    fn of(entry: &'a Entry) -> Self {
        let shown = &entry.shown;
        // What a file would have is JSON, too: strings, numbers, true and false, lists of them.
        let value = |text: &Option<String>| text.as_deref().map(|text| text.parse().unwrap_or_else(|_| text.into()));
        Self {
            table: entry.table,
            key: shown.key,
            value: value(&shown.value),
            default: value(&shown.usual),
            file: entry.at.as_ref().map(|at| at.file.display().to_string()),
            line: entry.at.as_ref().map(|at| at.line),
            takes: &shown.takes,
            help: shown.help,
        }
    }
}

#[cfg(test)]
mod tests;
