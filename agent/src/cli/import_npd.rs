//! `nodewell import-npd`: Node Problem Detector's configuration as ours, and what changes by that.

mod container;
mod input;
mod manifest;
mod target;
#[cfg(test)]
mod tests;
mod view;
mod words;

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use nodewell_rules::npd::import::{Beside, Fate, Imported, Item, NewFile, import};

use super::{
    error::{CONFIG, CommandError},
    out::Out,
    output::Output,
    render::one_line,
};
use crate::config::Config;
use input::Input;
use target::{Target, Written};
use view::ImportView;

/// The keys that flags become, below `/etc/nodewell`.
const KEYS: &str = "nodewell.toml.d/npd.toml";

/// Take Node Problem Detector's configuration over, and say what changes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell import-npd /etc/node-problem-detector
  nodewell import-npd kernel-monitor.json my-plugin-monitor.json > my-rules.toml
  sudo nodewell import-npd node-problem-detector.yaml --out /etc/nodewell
  kubectl get daemonset,configmap -n kube-system -o yaml | nodewell import-npd -
  nodewell import-npd npd.yaml -o json | jq '.items[] | select(.fate == \"none\")'

PATH is a monitor (*.json), a manifest with any number of documents (*.yaml; - is
standard input), or a folder of both. Of manifests the flags of the container are
taken that runs node-problem-detector, and the files that they name in ConfigMaps.

Rules and plug-ins are written to standard output, as one rule file. With --out
they are DIR/monitors.d/*.toml; what has no native form stays, as *.json beside
them; and the flags are DIR/nodewell.toml.d/npd.toml. A file that is there and
says something else is left as it is, and then nothing is written.

On standard error is a line for each rule, plug-in and flag:
  same      it is native, and does the same
  covered   the shipped rules or checks do it: nothing is written
  changed   it is native, or done, and something is different
  kept      it stays in Node Problem Detector's format, which is loaded as it is
  none      it has no counterpart; the line says why, and what to do

As JSON and YAML all is in one document: {files[], items[], notes[]}. A file is
{name, path, is_unchanged, text}, with or without --out; path is null without it.
An item is {file, line, fate, text}, and notes say what is left to do.

Exit codes: 0 done; 65 not a manifest; 66 a file cannot be read; 70 a file cannot
be written, or is there; 78 errors in the files, all of them: nothing is written.")]
pub(super) struct ImportNpd {
    /// Monitors, manifests, or folders of them.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Write files below DIR, as they are in /etc/nodewell, instead of one to standard output.
    #[arg(long = "out", value_name = "DIR")]
    target: Option<PathBuf>,
    /// Replace files that are there.
    #[arg(long, requires = "target")]
    force: bool,
    /// For an agent that does not load the shipped rules (`rules` in its configuration): leave nothing to them.
    #[arg(long)]
    without_shipped: bool,
    #[command(flatten)]
    output: Output,
}

impl ImportNpd {
    pub(super) fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let (files, items) = self.taken()?;
        if let Some(form) = self.output.document() {
            return out.document(form, &self.view(files, items)?);
        }
        eprint_lines(&report(&items));
        let done = match &self.target {
            Some(folder) => {
                let written = Target::new(folder, self.force).write(&files)?;
                next_steps(folder, &files, &written, &self.paths)
            }
            None => print(out, &files)?,
        };
        eprint_lines(&done);
        Ok(())
    }

    /// The new files, and what becomes of each thing; nothing is written yet.
    fn taken(&self) -> Result<(Vec<NewFile>, Vec<Item>), CommandError> {
        let input = Input::read(&self.paths)?;
        let beside = if self.without_shipped { Beside::Nothing } else { Beside::Shipped };
        let Imported { mut files, mut items } = import(&input.files, beside).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            CommandError::new(CONFIG, format!("nothing is written, because of errors:\n{}", errors.join("\n")))
        })?;
        items.extend(input.items);
        items.sort();
        if !input.keys.is_empty() {
            check_keys(&input.keys)?;
            files.push(NewFile { name: KEYS.into(), text: input.keys });
        }
        Ok((files, items))
    }

    /// The files, once they are written where they are to be, and all that is said of them.
    fn view(&self, files: Vec<NewFile>, items: Vec<Item>) -> Result<ImportView, CommandError> {
        let Some(folder) = &self.target else { return Ok(ImportView::new(files, Vec::new(), items, Vec::new())) };
        let written = Target::new(folder, self.force).write(&files)?;
        // The files say themselves what became of them.
        let notes = next_steps(folder, &files, &[], &self.paths);
        Ok(ImportView::new(files, written, items, notes))
    }
}

/// Whether the agent will read the keys.
fn check_keys(keys: &str) -> Result<(), CommandError> {
    let errors: Vec<String> = Config::errors_in(Path::new(KEYS), keys).iter().map(ToString::to_string).collect();
    if errors.is_empty() {
        return Ok(());
    }
    let message = format!(
        "nothing is written, because the flags give a configuration with errors; change them, or leave them out:\n{}",
        errors.join("\n")
    );
    Err(CommandError::new(CONFIG, message))
}

/// What becomes of each thing, and of how many.
fn report(items: &[Item]) -> Vec<String> {
    let mut lines: Vec<String> =
        items.iter().map(|item| format!("{}: {}: {}", item.location, item.fate.as_str(), item.text)).collect();
    let counts = Fate::ALL.into_iter().filter_map(|fate| {
        let count = items.iter().filter(|item| item.fate == fate).count();
        (count > 0).then(|| format!("{count} {}", fate.as_str()))
    });
    lines.push(counts.collect::<Vec<_>>().join(", "));
    lines.retain(|line| !line.is_empty());
    lines
}

/// One rule file of all; what cannot be in one is said.
fn print(out: &mut Out, files: &[NewFile]) -> Result<Vec<String>, CommandError> {
    let (mut texts, mut left) = (Vec::new(), Vec::new());
    for file in files {
        if file.name == Path::new(KEYS) {
            let keys = file.text.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n");
            texts.push(format!("# For nodewell.toml, and not for this file:\n#\n{}", keys.collect::<String>()));
        } else if file.name.extension().is_some_and(|extension| extension == "toml") {
            texts.push(file.text.clone());
        } else {
            left.push(format!(
                "{} is not in the rule file that was printed: only --out DIR writes it",
                file.name.display()
            ));
        }
    }
    out.text(&texts.join("\n"))?;
    out.flush()?;
    if files.is_empty() {
        left.push("there is nothing to write".to_owned());
    }
    Ok(left)
}

/// What was written, and what is left to do.
fn next_steps(folder: &Path, files: &[NewFile], written: &[Written], inputs: &[PathBuf]) -> Vec<String> {
    let mut lines: Vec<String> = written.iter().map(ToString::to_string).collect();
    if files.is_empty() {
        lines.push("there is nothing to write".to_owned());
    }
    let monitors = folder.join("monitors.d");
    let names: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.name)).collect();
    let given =
        inputs.iter().flat_map(|path| input::monitors(path)).filter_map(|path| Some(monitors.join(path.file_name()?)));
    // What came of a manifest may lie there in the other form, of an earlier import or from before one.
    let here = names.iter().filter(|name| name.parent() == Some(monitors.as_path()));
    let other_forms = here.flat_map(|name| ["json", "toml"].map(|form| name.with_extension(form)));
    let old: BTreeSet<PathBuf> = given.chain(other_forms).filter(|old| !names.contains(old) && old.is_file()).collect();
    for old in old {
        lines.push(format!("{} is still loaded beside the file that replaces it: remove it", old.display()));
    }
    if !files.is_empty() {
        // Keys are read at the start alone.
        let verb = if files.iter().any(|file| file.name == Path::new(KEYS)) { "restart" } else { "reload" };
        lines.push(format!("next: `nodewell check`, then `systemctl {verb} nodewell`"));
    }
    lines
}

fn eprint_lines(lines: &[String]) {
    let mut stderr = io::stderr().lock();
    for line in lines {
        // Without stderr there is nowhere to write to.
        let _ = writeln!(stderr, "{}", one_line(line));
    }
}
