//! Node Problem Detector's files become files of our own: rules, plug-ins and log sources in TOML. What the shipped
//! rules find needs no copy. What has no counterpart stays in a file of its format, which the agent loads as it is.
//!
//! What is written loads beside the shipped rules without an error: it is tried before it is returned.

mod convert;
mod file;
mod flags;
mod kept;
mod parts;
mod pattern;
mod stock;
#[cfg(test)]
mod tests;
mod write;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use nodewell_model::{ConditionSpec, Name};

pub use flags::{CommandLine, command_line};

use crate::{Diagnostic, Loaded, Location, RulesFrom, check_examples_where, load::load_with, npd};
use file::{Assembled, ImportedFile};
use stock::Shipped;

/// Where rules of an administrator's own are, below `/etc/nodewell`: they come after the shipped ones there.
const FOLDER: &str = "monitors.d";

/// A file to take over. It need not be on a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpdFile {
    /// For messages; its name gives the new ones.
    pub path: PathBuf,
    pub text: String,
}

/// What the new files are loaded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The shipped rules: what they cover is not written.
    Shipped,
    /// No other rules, because `rules` names folders of the administrator's own.
    Nothing,
}

impl Beside {
    fn rules(self) -> RulesFrom {
        match self {
            Self::Shipped => RulesFrom::BuiltIn,
            Self::Nothing => RulesFrom::Dirs(Vec::new()),
        }
    }
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Below `/etc/nodewell`.
    pub name: PathBuf,
    pub text: String,
}

/// What becomes of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It is native, and does the same.
    Same,
    /// The shipped rules or checks do it: nothing is written.
    Covered,
    /// It is native, or done, and something is different.
    Changed,
    /// It stays in Node Problem Detector's format, which is loaded as it is.
    Kept,
    /// It has no counterpart, and nothing is written.
    Left,
}

impl Fate {
    pub const ALL: [Self; 5] = [Self::Same, Self::Covered, Self::Changed, Self::Kept, Self::Left];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Covered => "covered",
            Self::Changed => "changed",
            Self::Kept => "kept",
            Self::Left => "none",
        }
    }
}

/// What becomes of one thing, for people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    pub location: Location,
    pub fate: Fate,
    /// One line.
    pub text: String,
}

impl Item {
    #[must_use]
    pub fn new(location: Location, fate: Fate, text: impl Into<String>) -> Self {
        Self { location, fate, text: text.into() }
    }
}

/// What comes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    pub files: Vec<NewFile>,
    /// In the order of the files and lines.
    pub items: Vec<Item>,
}

/// Takes all of `files` over.
///
/// # Errors
/// Every error in them; then nothing is to be written.
pub fn import(files: &[NpdFile], beside: Beside) -> Result<Imported, Vec<Diagnostic>> {
    let texts = files.iter().map(|file| (file.path.as_path(), file.text.as_str()));
    let Loaded { set, diagnostics, notes, .. } = load_with(&beside.rules(), texts);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let catalogue: BTreeSet<Name> = set.conditions.iter().map(|spec| spec.condition.clone()).collect();
    let mut context =
        Context { shipped: Shipped::new(), beside, catalogue, names: BTreeSet::new(), stems: BTreeSet::new() };
    let mut imported: Vec<ImportedFile<'_>> =
        files.iter().map(|file| ImportedFile::read(file, npd::read(&file.path, &file.text), &mut context)).collect();
    declare(&mut imported, &set.conditions, beside);
    let assembled = proven(&mut imported, beside)?;
    let mut items: Vec<Item> = imported.iter().flat_map(ImportedFile::items).collect();
    items.extend(notes.into_iter().filter_map(|note| {
        let concerns = |file: &&ImportedFile<'_>| file.is_concerned(&note.location);
        imported.iter().find(concerns).map(|_| Item::new(note.location.clone(), Fate::Changed, note.message.clone()))
    }));
    items.sort();
    items.dedup();
    Ok(Imported { files: distinct(files, assembled)?, items })
}

/// Each new file once. Two of one name, as lists of kernel modules may have, are an error of the file that names it.
fn distinct(files: &[NpdFile], assembled: Vec<Assembled>) -> Result<Vec<NewFile>, Vec<Diagnostic>> {
    let (mut distinct, mut errors) = (Vec::<NewFile>::new(), Vec::new());
    for (file, assembled) in files.iter().zip(assembled) {
        for new in assembled.files {
            match distinct.iter().find(|known| known.name == new.name) {
                None => distinct.push(new),
                Some(known) if known.text == new.text => {}
                Some(_) => {
                    let message = format!(
                        "{} comes of another file already, with another text: give this list of kernel modules another \
                         name (\"knownModulesConfigPath\")",
                        new.name.display()
                    );
                    errors.push(Diagnostic::of_file(&file.path, message));
                }
            }
        }
    }
    if errors.is_empty() { Ok(distinct) } else { Err(errors) }
}

/// What all files share.
struct Context {
    shipped: Shipped,
    beside: Beside,
    catalogue: BTreeSet<Name>,
    /// Of plug-ins and log sources: each is there once.
    names: BTreeSet<String>,
    /// Of files.
    stems: BTreeSet<String>,
}

impl Context {
    /// A name of its own, such as `ntp-is-down-2`.
    fn free_name(taken: &mut BTreeSet<String>, wanted: &str) -> String {
        let numbered = (2_u32..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(name.clone());
        name
    }
}

/// Gives each condition that no other rules declare to the first file that has it.
fn declare(files: &mut [ImportedFile<'_>], conditions: &[ConditionSpec], beside: Beside) {
    let others = load_with(&beside.rules(), []).set.conditions;
    let mut declared: BTreeSet<Name> = others.into_iter().map(|spec| spec.condition).collect();
    for file in files {
        let own = file.declared.iter().filter(|name| declared.insert((*name).clone()));
        let specs = own.filter_map(|name| conditions.iter().find(|spec| spec.condition == *name));
        file.conditions = specs.cloned().collect();
        for spec in file.conditions.iter_mut().filter(|spec| spec.healthy_message.trim().is_empty()) {
            spec.healthy_message = HEALTHY.to_owned();
            file.differences.push(format!("{} has the message {HEALTHY:?} while it is False", spec.condition));
        }
    }
}

/// The message of a condition that has none: a native one has to say something.
const HEALTHY: &str = "no problem is known";

/// The new files, once they load without an error: what has one stays in its format.
fn proven(files: &mut [ImportedFile<'_>], beside: Beside) -> Result<Vec<Assembled>, Vec<Diagnostic>> {
    loop {
        let assembled: Vec<Assembled> = files.iter().map(ImportedFile::assembled).collect();
        let errors = errors(&assembled, beside);
        let mut is_mended = false;
        for error in &errors {
            for (file, written) in files.iter_mut().zip(&assembled) {
                for piece in written.pieces_at(&error.location) {
                    is_mended |= file.keep(piece, &error.message);
                }
            }
        }
        if errors.is_empty() {
            return Ok(assembled);
        }
        if !is_mended {
            return Err(errors);
        }
    }
}

/// What `nodewell check` would say of the new files.
fn errors(assembled: &[Assembled], beside: Beside) -> Vec<Diagnostic> {
    let files: Vec<&NewFile> = assembled.iter().flat_map(|file| &file.files).collect();
    let texts = files.iter().map(|file| (file.name.as_path(), file.text.as_str()));
    let is_rules = |path: &Path| path.extension().is_some_and(|extension| extension == "toml" || extension == "json");
    let texts = texts.filter(|(path, _)| is_rules(path) && path.parent() == Some(Path::new(FOLDER)));
    let loaded = load_with(&beside.rules(), texts);
    let mut errors = loaded.diagnostics;
    errors.extend(check_examples_where(&loaded.set, |rule| files.iter().any(|file| file.name == rule.location.file)));
    errors
}
