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
    /// Whether the row expects what the log does not show, and these are other reasons than its own.
    pub is_disputed: bool,
}

/// A row whose expectation is wrong.
#[derive(Debug, Clone)]
struct Dispute {
    source: String,
    reasons: Regex,
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

/// The labels of a folder, in the order of its table. `disputed` is a table of rows whose expectation is wrong.
pub fn read(folder: &Path, disputed: Option<&Path>) -> Result<Vec<Label>, LabelError> {
    let disputes = disputed.map_or_else(|| Ok(Vec::new()), |path| rows(path, dispute))?;
    rows(&folder.join("expect.tsv"), |row| row_of(row, &disputes))
}

fn rows<T>(path: &Path, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, LabelError> {
    let shown = path.display().to_string();
    let table = fs::read_to_string(path).map_err(|error| LabelError::Read { path: shown.clone(), error })?;
    let rows = table.lines().enumerate().filter(|(_, row)| !row.is_empty() && !row.starts_with('#'));
    let of_row = |(index, row): (usize, &str)| {
        read(row).map_err(|what| LabelError::Row { path: shown.clone(), line: index + 1, what })
    };
    rows.map(of_row).collect()
}

fn dispute(row: &str) -> Result<Dispute, String> {
    let cells: Vec<&str> = row.split('\t').collect();
    let [source, reasons, why] = cells[..] else {
        return Err(format!("{} cells; a row has source, reasons, why", cells.len()));
    };
    if why.trim().is_empty() {
        return Err("a row is disputed for a reason".to_owned());
    }
    Ok(Dispute { source: source.to_owned(), reasons: whole_words(reasons)? })
}

fn whole_words(reasons: &str) -> Result<Regex, String> {
    Regex::new(&format!("^(?:{reasons})$")).map_err(|error| error.to_string())
}

fn row_of(row: &str, disputes: &[Dispute]) -> Result<Label, String> {
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
    let dispute = disputes.iter().find(|dispute| cells.get(6) == Some(&dispute.source.as_str()));
    let reasons = match (verdict, dispute) {
        (Verdict::Node, None) => Some(whole_words(reasons)?),
        (Verdict::Node, Some(dispute)) => Some(dispute.reasons.clone()),
        _ => None,
    };
    let [file, line, family] = [file, line, family].map(str::to_owned);
    Ok(Label { file, line, family, verdict, is_disputed: reasons.is_some() && dispute.is_some(), reasons })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(table: &str) -> Result<Vec<Label>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("expect.tsv"), table).unwrap();
        read(folder.path(), None).map_err(|error| error.to_string())
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
    fn a_disputed_row_has_other_reasons_and_a_dispute_has_a_cause() {
        let folder = tempfile::tempdir().unwrap();
        let disputed = folder.path().join("disputed.tsv");
        let rows = ["1.log\ta\tmd\tnode\tdisk\tMdArrayDegraded\turl/1\n", "2.log\ta\tmd\tnode\tdisk\tMd\\w+\turl/2\n"];
        fs::write(folder.path().join("expect.tsv"), rows.concat()).unwrap();
        fs::write(&disputed, "url/1\tIOError\tno array is in it\n").unwrap();
        let labels = read(folder.path(), Some(&disputed)).unwrap();
        let is_right = |index: usize, reason| labels[index].reasons.as_ref().unwrap().is_match(reason);
        assert!(labels[0].is_disputed && is_right(0, "IOError") && !is_right(0, "MdArrayDegraded"));
        assert!(!labels[1].is_disputed && is_right(1, "MdArrayDegraded"));
        fs::write(&disputed, "url/1\tIOError\t \n").unwrap();
        let error = read(folder.path(), Some(&disputed)).unwrap_err().to_string();
        assert!(error.contains("disputed.tsv:1: a row is disputed for a reason"), "{error}");
    }

    #[test]
    fn a_wrong_row_is_named_with_its_line() {
        assert!(of("a\tb\n").unwrap_err().contains("expect.tsv:1: 2 cells"));
        assert!(of("#\n1.log\tx\tmd\tmaybe\tdisk\t.\t\n").unwrap_err().contains(":2: \"maybe\" is no verdict"));
        assert!(of("1.log\tx\tmd\tnode\tdisk\t(\t\n").unwrap_err().contains(":1: regex parse error"));
    }
}
