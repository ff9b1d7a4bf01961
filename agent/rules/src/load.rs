//! From directories and files to one [`RuleSet`]: what is read, in which order, and what masks what.
//!
//! All errors of all files are reported at once. The daemon and `nodewell check` come through here alike.

mod files;
mod join;
mod monitors;
mod overrides;
mod plugins;
mod skim;
mod statistics;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use nodewell_faults::{Tables, codes::OverrideDiagnostic};
use nodewell_settings::Fingerprint;

use crate::{Diagnostic, Location, Note, RuleSet, draft::Draft, native, npd, shipped};
use files::{Format, RuleFile};
use join::Known;
use skim::skim;

/// Which rule files to read.
#[derive(Debug, Clone, Default)]
pub struct LoadPlan {
    pub rules: RulesFrom,
    pub prose: Prose,
    /// `/etc/nodewell/rules.d`: a file here masks the one of the same name in `rules`; others are added. It need not
    /// exist.
    pub overrides: Option<PathBuf>,
    /// Node Problem Detector's system-log-monitor files (`--npd-config`).
    pub npd: Vec<PathBuf>,
    /// `/etc/nodewell/monitors.d`: `*.json` is Node Problem Detector's, `*.toml` is ours. It need not exist.
    pub monitors_dir: Option<PathBuf>,
    /// An operator's overrides of the shipped tables of Xids and SXids.
    pub xids: Option<PathBuf>,
}

/// Where the base of the rules is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RulesFrom {
    /// The rules embedded in the program.
    #[default]
    BuiltIn,
    /// Every `*.toml` (and `*.json`) of these directories, instead of the embedded ones.
    Dirs(Vec<PathBuf>),
}

/// Which explanations and examples are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prose {
    /// All of them.
    #[default]
    Whole,
    /// Of the files that we ship, which were proved before, one example of each rule. What others wrote is read whole.
    SkimShipped,
}

/// What came of loading. With errors `set` holds the rest, which is good for `check` but not for running.
#[derive(Debug, Default)]
pub struct Loaded {
    pub set: RuleSet,
    /// In the order of files and lines.
    pub notes: Vec<Note>,
    /// What is wanted and has no effect here, which is no reason not to run. In the order of files and lines.
    pub warnings: Vec<Note>,
    /// In the order of files and lines.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads everything that `plan` names. Files are read in the order of their names, native ones before Node Problem
/// Detector's, so that a file `00-mine.toml` takes precedence over the shipped ones.
#[must_use]
pub fn load(plan: &LoadPlan) -> Loaded {
    let mut diagnostics = Vec::new();
    let mut found = base_files(&plan.rules, &mut diagnostics);
    let mut masks = Vec::new();
    if let Some(directory) = &plan.overrides {
        let overrides = files::list_if_there(directory, &mut diagnostics);
        masks = mask(&mut found, &overrides);
        found.extend(overrides);
    }
    found.sort_by(|a, b| a.name().cmp(&b.name()));
    found.extend(plan.npd.iter().map(|path| RuleFile::on_disk(path, Format::Npd)));
    if let Some(directory) = &plan.monitors_dir {
        found.extend(files::list_if_there(directory, &mut diagnostics));
    }
    if found.is_empty() && diagnostics.is_empty() {
        diagnostics.extend(empty(&plan.rules));
    }
    let mut hash = Fingerprint::default();
    let mut loaded = join::join(read_all(found, plan.prose, &mut hash), &Known::default());
    loaded.set.tables = plan.xids.as_deref().and_then(|path| read_tables(path, &mut hash, &mut diagnostics));
    loaded.set.hash = hash.finish();
    loaded.diagnostics.splice(0..0, diagnostics);
    loaded.notes.splice(0..0, masks);
    loaded
}

/// The same for what runs plug-ins and nothing else. The shipped rules have none: where there are no other files they
/// are not even parsed, which would take more memory than all that a check process does.
#[must_use]
pub fn load_plugins(plan: &LoadPlan) -> Loaded {
    if names_only_shipped(plan) { Loaded::default() } else { load(plan) }
}

/// Whether all that `plan` names is what we ship, whole and unchanged: no errors and no plug-ins, as tests prove.
fn names_only_shipped(plan: &LoadPlan) -> bool {
    let LoadPlan { rules, prose: _, overrides, npd, monitors_dir, xids } = plan;
    let mut unread = Vec::new();
    let mut others = [overrides, monitors_dir].into_iter().flatten();
    let is_bare = npd.is_empty() && xids.is_none();
    let is_alone = is_bare && others.all(|directory| files::list_if_there(directory, &mut unread).is_empty());
    let is_whole = || match rules {
        RulesFrom::BuiltIn => true,
        RulesFrom::Dirs(directories) => matches!(directories.as_slice(), [one] if holds_all_shipped(one)),
    };
    is_alone && unread.is_empty() && is_whole()
}

fn holds_all_shipped(directory: &Path) -> bool {
    let found = files::list(directory, &mut Vec::new());
    let is_unchanged = |file: &RuleFile| file.text().is_ok_and(|text| shipped::is_unchanged(&file.name(), &text));
    found.len() == shipped::FILES.len() && found.iter().all(is_unchanged)
}

/// Leaves out what `overrides` mask, and says so: a file of one's own that has a shipped one's name by chance silences it.
fn mask(found: &mut Vec<RuleFile>, overrides: &[RuleFile]) -> Vec<Note> {
    let mut masks = Vec::new();
    found.retain(|file| {
        let over = overrides.iter().find(|over| over.name() == file.name());
        masks.extend(over.map(|over| {
            let message = format!("no rule of {} is read: this file has its name and masks it", file.path.display());
            Note::new(Location { file: over.path.clone(), line: 0 }, message)
        }));
        over.is_none()
    });
    masks
}

fn read_tables(path: &Path, hash: &mut Fingerprint, diagnostics: &mut Vec<Diagnostic>) -> Option<Arc<Tables>> {
    let text = Tables::overrides(path).inspect(|text| hash.add("xids", text));
    let read = text.and_then(|text| Tables::merged(&text, path));
    read.inspect_err(|error| {
        let location = |line| Location { file: path.to_owned(), line };
        let placed = |found: OverrideDiagnostic| Diagnostic::new(location(found.line), found.message);
        diagnostics.extend(error.diagnostics().into_iter().map(placed))
    })
    .map(Arc::new)
    .ok()
}

/// Reads one file, by its extension (`.json` is Node Problem Detector's, anything else is ours), or all of a
/// directory. Conditions that the shipped rules declare need not be declared again.
#[must_use]
pub fn load_path(path: &Path) -> Loaded {
    let mut diagnostics = Vec::new();
    let found = if path.is_dir() {
        files::list(path, &mut diagnostics)
    } else {
        vec![RuleFile::on_disk(path, Format::of(path).unwrap_or(Format::Native))]
    };
    let mut known = Known::default();
    // What is only looked at is not compared with other nodes.
    let mut hash = Fingerprint::default();
    for draft in read_all(base_files(&RulesFrom::BuiltIn, &mut diagnostics), Prose::SkimShipped, &mut hash) {
        known.conditions.extend(draft.conditions.into_iter().map(|condition| condition.spec));
        known.rules.extend(draft.rules.into_iter().map(|draft| draft.rule));
    }
    let mut loaded = join::join(read_all(found, Prose::Whole, &mut hash), &known);
    loaded.diagnostics.splice(0..0, diagnostics);
    loaded
}

/// The same for the text of one file that need not be on a disk.
#[must_use]
pub fn load_text(path: &Path, text: &str) -> Loaded {
    let file = RuleFile::on_disk(path, Format::of(path).unwrap_or(Format::Native));
    join::join(vec![read_text(&file, text)], &Known::default())
}

/// `rules` and these files, by their names' extensions, as if they lay in `monitors.d`; they need not be on a disk.
pub(crate) fn load_with<'a>(rules: &RulesFrom, files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Loaded {
    let mut diagnostics = Vec::new();
    let mut drafts = read_all(base_files(rules, &mut diagnostics), Prose::SkimShipped, &mut Fingerprint::default());
    drafts.extend(files.into_iter().map(|(path, text)| {
        let format = Format::of(path).unwrap_or(Format::Native);
        read_text(&RuleFile::on_disk(path, format), text)
    }));
    drafts.sort_by_key(|draft| draft.npd);
    let mut loaded = join::join(drafts, &Known::default());
    loaded.diagnostics.splice(0..0, diagnostics);
    loaded
}

fn base_files(rules: &RulesFrom, diagnostics: &mut Vec<Diagnostic>) -> Vec<RuleFile> {
    match rules {
        RulesFrom::BuiltIn => shipped::FILES.iter().map(RuleFile::built_in).collect(),
        RulesFrom::Dirs(directories) => {
            directories.iter().flat_map(|directory| files::list(directory, diagnostics)).collect()
        }
    }
}

/// An agent without any rule would look healthy for ever; an operator who wants none of ours still names other files.
fn empty(rules: &RulesFrom) -> Vec<Diagnostic> {
    let RulesFrom::Dirs(directories) = rules else { return Vec::new() };
    let message = "holds no rule file (*.toml), and none is named elsewhere: nothing would be looked for; put rules there \
                or leave this directory out for the shipped ones";
    directories.iter().map(|directory| Diagnostic::of_file(directory, message)).collect()
}

/// Drafts of all files, each file once, native ones first. Their names and texts are added to `hash`.
fn read_all(found: Vec<RuleFile>, prose: Prose, hash: &mut Fingerprint) -> Vec<Draft> {
    let mut seen: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut drafts = Vec::with_capacity(found.len());
    for file in found {
        let real = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
        match seen.iter().find(|(known, _)| *known == real) {
            Some((_, first)) => drafts.push(read_before(&file, first)),
            None => {
                drafts.push(read(&file, prose, hash));
                seen.push((real, file.path));
            }
        }
    }
    drafts.sort_by_key(|draft| draft.npd);
    drafts
}

fn read(file: &RuleFile, prose: Prose, hash: &mut Fingerprint) -> Draft {
    match file.text().inspect(|text| hash.add(&file.name(), text)) {
        Err(diagnostic) => Draft { diagnostics: vec![diagnostic], ..Draft::default() },
        Ok(text) if prose == Prose::SkimShipped && shipped::is_unchanged(&file.name(), &text) => {
            native::read_proven(&file.path, &skim(&text))
        }
        Ok(text) if prose == Prose::SkimShipped && shipped::is_shipped(&file.path) => read_text(file, &skim(&text)),
        Ok(text) => read_text(file, &text),
    }
}

fn read_text(file: &RuleFile, text: &str) -> Draft {
    match file.format {
        Format::Native => native::read(&file.path, text),
        Format::Npd => npd::read(&file.path, text),
    }
}

fn read_before(file: &RuleFile, first: &Path) -> Draft {
    let location = crate::Location { file: file.path.clone(), line: 1 };
    let note = Note::new(location, format!("the same file as {}; read once", first.display()));
    Draft { notes: vec![note], ..Draft::default() }
}
