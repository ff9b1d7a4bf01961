//! `knownModulesConfigPath`: kernel modules that come with the node's image.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::super::json::{Document, Object};
use crate::report::Report;

/// An image has hundreds of modules, of some 30 bytes each.
const LIMIT_BYTES: u64 = 1 << 20;

/// The names in the file that `features` names, which lies beside the config unless its path is absolute.
pub(super) fn read(features: &Object<'_>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let path = features.text("knownModulesConfigPath", report);
    let name = if path.text.is_empty() { super::KNOWN_MODULES } else { &path.text };
    let file = report.file().parent().unwrap_or(Path::new("")).join(name);
    match text(&file) {
        Ok(text) => names(file, &text, report),
        Err(error) => {
            let message = format!(
                "known modules {}: {error}; so every module from outside the kernel's tree is an unknown one",
                file.display()
            );
            report.note(path.at, message);
            None
        }
    }
}

/// The text of such a file, if it is one: a path of another machine may be a pipe here, or have no end.
pub(in crate::npd) fn text(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(LIMIT_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Its errors are reported with its own name and lines.
fn names(file: PathBuf, text: &str, report: &mut Report<'_>) -> Option<Vec<String>> {
    let mut own = Report::new(&file, text);
    let modules = Document::parse(text, &mut own).map(|list| list.objects("the file", &mut own)).unwrap_or_default();
    let names = modules.iter().map(|module| module.text("moduleName", &mut own).text).collect();
    let (diagnostics, _) = own.finish();
    let is_good = diagnostics.is_empty();
    report.take(diagnostics);
    is_good.then_some(names)
}
