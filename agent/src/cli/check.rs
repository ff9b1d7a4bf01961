//! `nodewell check`: every error in configuration and rules at once, each with its file and line.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::Args;
use nodewell_checks::plugin::Program;
use nodewell_rules::{
    Detector, Diagnostic, Loaded, Location, Note, RuleSet, load, load_path,
    matcher::SlowPattern,
    plugin::{PluginTask, Task},
};
use serde::Serialize;

use super::{
    error::{CONFIG, CommandError, found},
    out::Out,
    output::Output,
};
use crate::{
    config::{Config, Flags},
    daemon::add_own_conditions,
};

/// Check configuration and rules, and run each rule's examples.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell check
  nodewell check ./nodewell.toml
  nodewell check my-rules.toml kernel-monitor.json

Without PATH: the configuration and all rules, as nodewelld would load them.
With PATH: these rule files or folders only (*.toml is ours, *.json is Node
Problem Detector's; what we do differently on purpose is in notes), or a
config file with the rules that it names. A plug-in's program that would not
be run is in a note: nodewelld starts without it, and reports it as Unknown.
As JSON and YAML: {rules, examples, plugins, errors[], notes[]}.

Exit codes: 0 no error; 78 errors, each as FILE:LINE: what is wrong (FILE:
what is wrong where the file as a whole is meant).")]
pub(super) struct Check {
    /// Rule files or folders, or a config file.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The configuration [default: /etc/nodewell/nodewell.toml, if it exists]; FILE.d/*.toml is read after it.
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    config: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    rules: usize,
    examples: usize,
    plugins: usize,
    errors: Vec<DiagnosticView>,
    notes: Vec<DiagnosticView>,
}

#[derive(Debug, Serialize)]
struct DiagnosticView {
    file: PathBuf,
    /// `None`: the file as a whole.
    line: Option<usize>,
    message: String,
}

impl Check {
    pub(super) fn run(self, out: &mut Out) -> Result<ExitCode, CommandError> {
        let mut report = Report::default();
        if self.paths.is_empty() {
            report.take_configuration(self.config);
        } else {
            for path in self.paths {
                if Config::is_config(&path) {
                    report.take_configuration(Some(path));
                } else {
                    report.take_rules(load_path(&path));
                }
            }
        }
        let written = match self.output.document() {
            Some(form) => out.document(form, &report),
            None => report.print(out),
        };
        found(if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CONFIG) }, written)
    }
}

impl Report {
    fn take_configuration(&mut self, config: Option<PathBuf>) {
        match Config::load(&Flags { config, ..Flags::default() }) {
            Ok(config) => {
                let mut loaded = load(&config.load_plan());
                add_own_conditions(&mut loaded.set);
                let beyond = config.beyond(&loaded.set.conditions);
                let before = self.errors.len();
                self.take_rules(loaded);
                // Of rules with errors it is not known what they have.
                if self.errors.len() == before {
                    self.take_errors(beyond);
                }
            }
            Err(diagnostics) => {
                self.take_errors(diagnostics);
                // The rules may have errors of their own: those that nodewelld would load without a configuration.
                self.take_rules(load(&Config::of_flags(&Flags::default()).load_plan()));
            }
        }
    }

    fn take_rules(&mut self, loaded: Loaded) {
        self.plugins += loaded.set.plugins.iter().map(|monitor| monitor.tasks.len()).sum::<usize>();
        self.take_errors(loaded.diagnostics);
        let notes = loaded.warnings.into_iter().chain(loaded.notes).chain(programs(&loaded.set));
        self.notes.extend(notes.map(DiagnosticView::from));
        self.rules += loaded.set.rules.len();
        self.examples += loaded.set.rules.iter().map(|rule| count(&rule.examples)).sum::<usize>();
        self.take_errors(nodewell_rules::check_examples(&loaded.set));
        self.take_detectors(loaded.set);
    }

    /// What only building the matcher shows: patterns that cannot be used, and those that cost every line.
    fn take_detectors(&mut self, set: RuleSet) {
        let set = Arc::new(set);
        for reader in 0..set.readers.len() {
            match Detector::new(Arc::clone(&set), reader) {
                Ok(detector) => {
                    self.notes.extend(detector.slow_lane().filter_map(|slow| DiagnosticView::slow(&set, &slow)))
                }
                Err(diagnostics) => self.take_errors(diagnostics),
            }
        }
    }

    fn take_errors(&mut self, diagnostics: Vec<Diagnostic>) {
        self.errors.extend(diagnostics.into_iter().map(DiagnosticView::from));
    }

    fn print(&self, out: &mut Out) -> Result<(), CommandError> {
        for diagnostic in &self.errors {
            out.line(&format!("{}: {}", diagnostic.location(), diagnostic.message))?;
        }
        for diagnostic in &self.notes {
            out.line(&format!("{}: note: {}", diagnostic.location(), diagnostic.message))?;
        }
        let errors = match self.errors.len() {
            0 => "no error".to_owned(),
            1 => "1 error".to_owned(),
            many => format!("{many} errors"),
        };
        let plugins = if self.plugins == 0 { String::new() } else { format!(", {} plug-ins", self.plugins) };
        Ok(out.line(&format!("{} rules, {} examples{plugins}: {errors}", self.rules, self.examples))?)
    }
}

/// Programs that would not be run as they are. They are no errors: the agent starts, and what they would say is Unknown
/// until they are right; and files may be for another machine.
fn programs(set: &RuleSet) -> Vec<Note> {
    let tasks = set.plugins.iter().flat_map(|monitor| &monitor.tasks);
    let refused = |task: &PluginTask| {
        let Task::Run { path, .. } = &task.task else { return None };
        let refused = Program::open(path).err()?;
        Some(Note::new(task.location.clone(), format!("{} would not be run: {refused}", task.name)))
    };
    tasks.filter_map(refused).collect()
}

fn count(examples: &nodewell_rules::rule::Examples) -> usize {
    examples.matches.len() + examples.ignores.len() + examples.recovers.len()
}

impl DiagnosticView {
    fn at(location: Location, message: String) -> Self {
        Self { file: location.file, line: Some(location.line).filter(|line| *line > 0), message }
    }

    fn location(&self) -> String {
        let file = self.file.display();
        self.line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}"))
    }

    fn slow(set: &RuleSet, slow: &SlowPattern<'_>) -> Option<Self> {
        let rule = set.rules.get(slow.rule)?;
        let message = format!("{:?} has no fixed text of 4 bytes, so it is tried on every record", slow.pattern);
        Some(Self::at(rule.location.clone(), message))
    }
}

impl From<Diagnostic> for DiagnosticView {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::at(diagnostic.location, diagnostic.message)
    }
}

impl From<Note> for DiagnosticView {
    fn from(note: Note) -> Self {
        Self::at(note.location, note.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rules: &str) -> Report {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, rules).unwrap();
        let mut report = Report::default();
        report.take_rules(load_path(&path));
        report
    }

    const GOOD: &str = r#"
[[rule]]
reason = "MyDriverFault"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^mydriver: fault on (?P<subject>\S+)'
origin = "mydriver 1.0"
explain = "The driver gave up."
matches = ["mydriver: fault on dev0"]
ignores = ["mydriver: no fault"]
"#;

    #[test]
    fn a_good_rule_has_its_examples_run() {
        let report = report(GOOD);
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        assert_eq!((report.rules, report.examples), (1, 2));
    }

    #[test]
    fn an_example_that_fails_is_an_error_with_its_line() {
        let report = report(&GOOD.replace("mydriver: fault on dev0", "otherdriver: fault on dev0"));
        assert_eq!(report.errors.len(), 1);
        assert_eq!(report.errors[0].line, Some(10));
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let bad = GOOD.replace("temporary", "sometimes").replace("severity = \"warn\"", "severity = \"bad\"");
        let lines: Vec<usize> = report(&bad).errors.iter().filter_map(|diagnostic| diagnostic.line).collect();
        assert_eq!(lines, [4, 6]);
    }
}
