//! What is expected of each log: a row of `expect.tsv`.

use std::{fs, io, path::Path};

use regex::Regex;

/// A row: file, first line, family, verdict, kind, expected reasons, source.
#[derive(Debug, Clone)]
pub struct Label {
    pub file: String,
    pub line: String,
    pub family: String,
    pub verdict: Verdict,
    /// Any reason that counts as right; `None` where there is none to expect.
    pub reasons: Option<Regex>,
}

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The node's: it has to be found.
    Node,
    /// Arguable: found or not, both are right.
    Optional,
    /// None at all: no condition may turn. Whether nothing was raised, not even an Event, is counted beside it.
    Info,
    /// An application's: no condition may turn.
    Application,
}

/// Why a folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    #[error("cannot read {path}: {error}")]
    Read { path: String, error: io::Error },
    #[error("{path}:{line}: {what}")]
    Row { path: String, line: usize, what: String },
}

/// The labels of a folder, in the order of its table.
pub fn read(folder: &Path) -> Result<Vec<Label>, LabelError> {
    let path = folder.join("expect.tsv");
    let shown = path.display().to_string();
    let table = fs::read_to_string(&path).map_err(|error| LabelError::Read { path: shown.clone(), error })?;
    let rows = table.lines().enumerate().filter(|(_, row)| !row.is_empty() && !row.starts_with('#'));
    let of_row = |(index, row): (usize, &str)| {
        row_of(row).map_err(|what| LabelError::Row { path: shown.clone(), line: index + 1, what })
    };
    rows.map(of_row).collect()
}

fn row_of(row: &str) -> Result<Label, String> {
    let cells: Vec<&str> = row.split('\t').collect();
    let [file, line, family, verdict, _kind, reasons, ..] = cells[..] else {
        return Err(format!("{} cells; a row has file, line, family, verdict, kind, reasons, source", cells.len()));
    };
    let verdict = match verdict {
        "node" => Verdict::Node,
        "opt" => Verdict::Optional,
        "info" => Verdict::Info,
        "app" => Verdict::Application,
        other => return Err(format!("{other:?} is no verdict: node, opt, info, app")),
    };
    let reasons = match verdict {
        Verdict::Node => Some(Regex::new(&format!("^(?:{reasons})$")).map_err(|error| error.to_string())?),
        _ => None,
    };
    let [file, line, family] = [file, line, family].map(str::to_owned);
    Ok(Label { file, line, family, verdict, reasons })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(table: &str) -> Result<Vec<Label>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("expect.tsv"), table).unwrap();
        read(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_row_is_read_and_its_reasons_match_whole_words() {
        let labels = of(
            "#file\tline\n1.log\tmd/raid1: …\tmd\tnode\tdisk\tMd\\w+|IOError\thttps://h\n2.log\tx\tmd\tinfo\tdisk\tnone\t\n",
        );
        let labels = labels.unwrap();
        let reasons = labels[0].reasons.as_ref().unwrap();
        assert!(reasons.is_match("MdArrayDegraded") && !reasons.is_match("MyIOError"));
        assert_eq!((labels[1].verdict, labels[1].reasons.is_none()), (Verdict::Info, true));
    }

    #[test]
    fn a_wrong_row_is_named_with_its_line() {
        assert!(of("a\tb\n").unwrap_err().contains("expect.tsv:1: 2 cells"));
        assert!(of("#\n1.log\tx\tmd\tmaybe\tdisk\t.\t\n").unwrap_err().contains(":2: \"maybe\" is no verdict"));
        assert!(of("1.log\tx\tmd\tnode\tdisk\t(\t\n").unwrap_err().contains(":1: regex parse error"));
    }
}
