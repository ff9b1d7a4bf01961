//! What was taken over, for programs.

use std::{iter::repeat_with, path::Path};

use nodewell_rules::npd::import::{Item, NewFile};
use serde::Serialize;

use super::target::Written;

/// All that people are shown, in one document.
#[derive(Debug, Serialize)]
pub(super) struct ImportView {
    files: Vec<FileView>,
    items: Vec<ItemView>,
    /// What is left to do, a line each.
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FileView {
    /// Below `/etc/nodewell`.
    name: String,
    /// Where it is now; `None`: it was not to be written.
    path: Option<String>,
    /// It was so before.
    is_unchanged: bool,
    text: String,
}

#[derive(Debug, Serialize)]
struct ItemView {
    file: String,
    /// `None`: the file as a whole.
    line: Option<usize>,
    fate: &'static str,
    text: String,
}

impl ImportView {
    /// `written`: each of `files` in its order, or none.
    pub(super) fn new(files: Vec<NewFile>, written: Vec<Written>, items: Vec<Item>, notes: Vec<String>) -> Self {
        let written = written.into_iter().map(Some).chain(repeat_with(|| None));
        let files = files.into_iter().zip(written).map(|(NewFile { name, text }, written)| FileView {
            name: shown(&name),
            is_unchanged: written.as_ref().is_some_and(|written| written.is_unchanged),
            path: written.map(|written| shown(&written.path)),
            text,
        });
        Self { files: files.collect(), items: items.into_iter().map(ItemView::from).collect(), notes }
    }
}

impl From<Item> for ItemView {
    fn from(Item { location, fate, text }: Item) -> Self {
        Self {
            file: shown(&location.file),
            line: Some(location.line).filter(|line| *line > 0),
            fate: fate.as_str(),
            text,
        }
    }
}

/// What is not UTF-8 would be no JSON, after the files were written.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
