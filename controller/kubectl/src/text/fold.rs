//! Nodes of which the same is said: the sentence is there once.

use std::collections::BTreeMap;

use super::{
    Page,
    fleet::{ROWS, more},
    table::NONE,
};

/// In place of a sentence that the row above has.
const AS_ABOVE: &str = "as above";

/// A node in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) node: String,
    pub(super) zone: String,
    pub(super) rack: String,
    pub(super) age: String,
    /// The columns behind these; the last is a sentence.
    pub(super) said: Vec<String>,
}

/// The rows of a block, and a line about nodes that have none; `hint` is how each is shown. A row each where there is
/// room for that, else one for all of which the same is said: what is said of few is not lost behind what is said of
/// many.
pub(super) fn rows(lines: Vec<Line>, page: &Page, hint: &str) -> (Vec<Vec<String>>, String) {
    let is_room = page.shows_all() || lines.len() <= ROWS;
    // In a pipe each row says all of its node.
    if page.is_wide() || is_room && page.look.width.is_none() {
        return (lines.into_iter().map(Line::cells).collect(), String::new());
    }
    let folds = folds(lines);
    if is_room {
        return (folds.into_iter().flat_map(Fold::spread).collect(), String::new());
    }
    let hidden: usize = folds.iter().skip(ROWS).map(Fold::nodes).sum();
    let left = if hidden == 0 { format!("  … each of them: {hint}\n") } else { more(hidden, hint) };
    (folds.into_iter().take(ROWS).map(Fold::joined).collect(), left)
}

/// Nodes of which the same is said.
#[derive(Debug)]
struct Fold {
    first: Line,
    others: Vec<Line>,
}

/// In the order of their first.
fn folds(lines: Vec<Line>) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for line in lines {
        let place = *places.entry(line.said.clone()).or_insert(folds.len());
        match folds.get_mut(place) {
            Some(fold) => fold.others.push(line),
            None => folds.push(Fold { first: line, others: Vec::new() }),
        }
    }
    folds
}

impl Fold {
    fn nodes(&self) -> usize {
        1 + self.others.len()
    }

    /// A row each.
    fn spread(self) -> Vec<Vec<String>> {
        let again = |mut line: Line| {
            if let Some(sentence) = line.said.last_mut().filter(|sentence| !sentence.is_empty()) {
                *sentence = AS_ABOVE.to_owned();
            }
            line
        };
        let others = self.others.into_iter().map(again);
        std::iter::once(self.first).chain(others).map(Line::cells).collect()
    }

    /// One row: of the place what they have in common.
    fn joined(self) -> Vec<String> {
        let Self { mut first, others } = self;
        first.age = ages(&first, &others);
        if others.iter().any(|other| other.zone != first.zone) {
            first.zone.clear();
        }
        if others.iter().any(|other| other.rack != first.rack) {
            first.rack.clear();
        }
        if !others.is_empty() {
            first.node = format!("{} and {} more", first.node, others.len());
        }
        first.cells()
    }
}

/// `5m-2h`: the first's, and the last's where that is another. They are in this order.
fn ages(first: &Line, others: &[Line]) -> String {
    let last = others.iter().map(|other| other.age.as_str()).rfind(|age| *age != NONE);
    match last.filter(|last| *last != first.age) {
        Some(last) => format!("{}-{last}", first.age),
        None => first.age.clone(),
    }
}

impl Line {
    fn cells(self) -> Vec<String> {
        let Self { node, zone, rack, age, said } = self;
        [node, zone, rack, age].into_iter().chain(said).collect()
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, tz::TimeZone};

    use super::*;
    use crate::text::{Extent, Look};

    fn page(extent: Extent) -> Page {
        let look = Look { colours: false, width: Some(200) };
        Page { look, extent, now: Timestamp::UNIX_EPOCH, zone: TimeZone::UTC }
    }

    fn line(number: usize, zone: &str, sentence: &str) -> Line {
        let said = vec!["IOError".to_owned(), sentence.to_owned()];
        let (node, age) = (format!("n{number}"), format!("{number}m"));
        Line { node, zone: zone.to_owned(), rack: "r1".to_owned(), age, said }
    }

    fn shown(lines: Vec<Line>, extent: Extent) -> (Vec<String>, String) {
        let (rows, left) = rows(lines, &page(extent), "--all");
        (rows.into_iter().map(|cells| cells.join("|")).collect(), left)
    }

    #[test]
    fn few_nodes_have_a_row_each_and_the_sentence_once() {
        let lines = || vec![line(1, "a", "it hangs"), line(2, "a", "it burns"), line(3, "b", "it hangs")];
        let expected = ["n1|a|r1|1m|IOError|it hangs", "n3|b|r1|3m|IOError|as above", "n2|a|r1|2m|IOError|it burns"];
        let (rows, left) = shown(lines(), Extent::Folded);
        assert_eq!((rows.as_slice(), left.as_str()), (expected.map(str::to_owned).as_slice(), ""));
        let (rows, _) = shown(lines(), Extent::Wide);
        assert_eq!(rows[2], "n3|b|r1|3m|IOError|it hangs", "nothing is folded");
        let (rows, _) = shown(vec![line(1, "a", ""), line(2, "a", "")], Extent::Folded);
        assert_eq!(rows[1], "n2|a|r1|2m|IOError|", "there is nothing above");
    }

    #[test]
    fn of_many_nodes_those_of_which_the_same_is_said_are_one_row() {
        let lines = || {
            let mut lines: Vec<Line> = (1..=22).map(|number| line(number, "a", "it hangs")).collect();
            lines.push(line(23, "b", "it burns"));
            lines
        };
        let (rows, left) = shown(lines(), Extent::Folded);
        assert_eq!(rows, ["n1 and 21 more|a|r1|1m-22m|IOError|it hangs", "n23|b|r1|23m|IOError|it burns"]);
        assert_eq!(left, "  … each of them: --all\n");
        let (rows, left) = shown(lines(), Extent::All);
        assert_eq!((rows.len(), left.as_str()), (23, ""));
        assert_eq!(rows.iter().filter(|row| row.ends_with("it hangs")).count(), 1);
    }

    /// What reads it takes one row, and has no other above it.
    #[test]
    fn each_row_of_a_pipe_has_its_sentence_and_many_nodes_are_one_row_there_too() {
        let piped = |lines: Vec<Line>, extent: Extent| {
            let page = Page { look: Look { colours: false, width: None }, ..page(extent) };
            let (rows, left) = rows(lines, &page, "--all");
            (rows.into_iter().map(|cells| cells.join("|")).collect::<Vec<String>>(), left)
        };
        let mixed = vec![line(1, "a", "it hangs"), line(2, "a", "it burns"), line(3, "b", "it hangs")];
        let expected = ["n1|a|r1|1m|IOError|it hangs", "n2|a|r1|2m|IOError|it burns", "n3|b|r1|3m|IOError|it hangs"];
        assert_eq!(piped(mixed, Extent::Folded).0, expected);
        let alike = |count: usize| (1..=count).map(|number| line(number, "a", "it hangs")).collect::<Vec<Line>>();
        for (count, extent) in [(ROWS, Extent::Folded), (ROWS + 12, Extent::All), (ROWS + 12, Extent::Wide)] {
            let (rows, left) = piped(alike(count), extent);
            assert_eq!((rows.len(), left.as_str()), (count, ""), "{extent:?}");
            assert!(rows.iter().all(|row| row.ends_with("|it hangs")), "{extent:?}: {rows:?}");
        }
        let (rows, left) = piped(alike(ROWS + 12), Extent::Folded);
        assert_eq!(rows, ["n1 and 21 more|a|r1|1m-22m|IOError|it hangs"]);
        assert_eq!(left, "  … each of them: --all\n");
    }

    #[test]
    fn nodes_of_rows_that_are_left_out_are_counted() {
        let zone = |number: usize| if number == 15 { "b" } else { "a" };
        let lines = (1..=26).map(|number| line(number, zone(number), &(number % 13).to_string()));
        let (rows, left) = shown(lines.collect(), Extent::Folded);
        assert_eq!((rows.len(), left.as_str()), (ROWS, "  … and 6 more (--all)\n"));
        let expected = ["n1 and 1 more|a|r1|1m-14m|IOError|1", "n2 and 1 more||r1|2m-15m|IOError|2"];
        assert_eq!(rows[..2], expected, "they are not in one zone");
    }

    #[test]
    fn an_age_that_nobody_knows_is_no_end_of_a_span() {
        let line = |age: &str| Line { age: age.to_owned(), ..line(1, "a", "it hangs") };
        assert_eq!(ages(&line("5m"), &[line("2h"), line(NONE)]), "5m-2h");
        assert_eq!(ages(&line("5m"), &[line("5m")]), "5m");
        assert_eq!(ages(&line(NONE), &[line(NONE)]), NONE);
    }
}
