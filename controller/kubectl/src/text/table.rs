//! Rows under a head, in columns as wide as what is in them. Only the last column is cut where a line ends.

use super::look::{Look, Paint, columns, one_line};

const GAP: &str = "  ";
/// Where there is nothing to show.
pub(super) const NONE: &str = "-";

/// A table that is being filled.
#[derive(Debug)]
pub(super) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    cells: Vec<String>,
    paint: Option<Paint>,
}

impl Table {
    pub(super) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// One more row; an empty cell is shown as a hyphen.
    pub(super) fn row(&mut self, paint: Option<Paint>, cells: impl IntoIterator<Item = String>) {
        let shown = |cell: String| if cell.is_empty() { NONE.to_owned() } else { one_line(&cell) };
        self.rows.push(Row { cells: cells.into_iter().map(shown).collect(), paint });
    }

    /// Each line ended, `indent` from the left. A column in which no row has anything is left out, but for the first.
    pub(super) fn text(&self, indent: usize, look: Look) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let cell = |row: &Row, column: usize| row.cells.get(column).map_or(NONE, String::as_str).to_owned();
        let is_used = |column: &usize| *column == 0 || self.rows.iter().any(|row| cell(row, *column) != NONE);
        let used: Vec<usize> = (0..self.head.len()).filter(is_used).collect();
        let head: Vec<String> = used.iter().map(|column| self.head[*column].to_owned()).collect();
        let rows: Vec<(Vec<String>, Option<Paint>)> =
            self.rows.iter().map(|row| (used.iter().map(|column| cell(row, *column)).collect(), row.paint)).collect();
        let widths: Vec<usize> = (0..used.len())
            .map(|at| rows.iter().map(|(cells, _)| columns(&cells[at])).fold(columns(&head[at]), usize::max))
            .collect();
        let line = |(cells, paint): (Vec<String>, Option<Paint>)| line(&cells, &widths, indent, look, paint);
        [(head, Some(Paint::Strong))].into_iter().chain(rows).map(line).collect()
    }
}

fn line(cells: &[String], widths: &[usize], indent: usize, look: Look, paint: Option<Paint>) -> String {
    let mut text = " ".repeat(indent);
    let mut taken = indent;
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if at + 1 == cells.len() {
            text.push_str(&look.fit(cell, taken));
        } else {
            text.push_str(cell);
            text.push_str(&" ".repeat(width.saturating_sub(columns(cell))));
            text.push_str(GAP);
            taken += width + GAP.len();
        }
    }
    let text = text.trim_end();
    format!("{}\n", paint.map_or_else(|| text.to_owned(), |paint| look.paint(paint, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(row: &[&str]) -> Vec<String> {
        row.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_are_aligned_and_an_empty_one_is_left_out() {
        let mut table = Table::new(&["NODE", "ZONE", "AGE", "MESSAGE"]);
        table.row(None, cells(&["worker-10", "", "5m", "one\nline"]));
        table.row(None, cells(&["w", "", "12d", ""]));
        let expected = "  NODE       AGE  MESSAGE\n  worker-10  5m   one line\n  w          12d  -\n";
        assert_eq!(table.text(2, Look { colours: false, width: None }), expected);
        assert_eq!(Table::new(&["NODE"]).text(0, Look { colours: false, width: None }), "");
    }

    #[test]
    fn only_the_last_column_is_cut() {
        let mut table = Table::new(&["NODE", "MESSAGE"]);
        table.row(Some(Paint::Bad), cells(&["worker-10", "a message that is longer than the line"]));
        let text = table.text(0, Look { colours: true, width: Some(30) });
        assert_eq!(text, "\x1b[1mNODE       MESSAGE\x1b[0m\n\x1b[1;31mworker-10  a message that is …\x1b[0m\n");
    }
}
