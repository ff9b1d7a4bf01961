//! The table: a row for each measure with its limit, what Node Problem Detector needs for it, and a verdict.

use serde_json::{Value, json};

use crate::statistics::Samples;

/// One line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    measure: String,
    outcome: Outcome,
}

#[derive(Debug, Clone)]
enum Outcome {
    Measured(Measured),
    /// Why there is no figure.
    NotRun(String),
    /// What was not given, so that nothing was asked for.
    Skipped(String),
}

#[derive(Debug, Clone)]
struct Measured {
    value: f64,
    unit: Unit,
    spread: String,
    limit: Option<Limit>,
    npd: &'static str,
}

/// What a figure is a number of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Millis,
    MebiBytes,
    MegaLinesPerSecond,
    KiloLinesPerSecond,
    MegaBytesPerSecond,
    Percent,
    PerSecond,
    Micros,
    Count,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
}

impl Row {
    pub(crate) fn new(measure: impl Into<String>, value: f64, unit: Unit) -> Self {
        let outcome = Outcome::Measured(Measured { value, unit, spread: String::new(), limit: None, npd: "" });
        Self { measure: measure.into(), outcome }
    }

    /// The median, beside it the extremes.
    pub(crate) fn median(measure: impl Into<String>, samples: &Samples, unit: Unit) -> Self {
        let (min, max) = (unit.show(samples.min()), unit.show(samples.max()));
        Self::new(measure, samples.median(), unit).beside(format!("{min} – {max}, n = {}", samples.len()))
    }

    /// The median, beside it the 99th percentile.
    pub(crate) fn median_and_p99(measure: impl Into<String>, samples: &Samples, unit: Unit) -> Self {
        let beside = format!("p99 {}, n = {}", unit.show(samples.p99()), samples.len());
        Self::new(measure, samples.median(), unit).beside(beside)
    }

    pub(crate) fn not_run(measure: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { measure: measure.into(), outcome: Outcome::NotRun(reason.into()) }
    }

    /// A measure of what the caller may give and has not: no failure.
    pub(crate) fn skipped(measure: impl Into<String>, missing: impl Into<String>) -> Self {
        Self { measure: measure.into(), outcome: Outcome::Skipped(missing.into()) }
    }

    pub(crate) fn beside(self, spread: impl Into<String>) -> Self {
        self.with(|measured| measured.spread = spread.into())
    }

    pub(crate) fn at_most(self, limit: f64) -> Self {
        self.with(|measured| measured.limit = Some(Limit::AtMost(limit)))
    }

    pub(crate) fn at_least(self, limit: f64) -> Self {
        self.with(|measured| measured.limit = Some(Limit::AtLeast(limit)))
    }

    pub(crate) fn exactly(self, limit: f64) -> Self {
        self.with(|measured| measured.limit = Some(Limit::Exactly(limit)))
    }

    /// What Node Problem Detector v1.37.0-alpha.1 was measured to need on a machine of this kind (docs/measurements.md).
    pub(crate) fn npd(self, text: &'static str) -> Self {
        self.with(|measured| measured.npd = text)
    }

    pub(crate) fn was_run(&self) -> bool {
        !matches!(self.outcome, Outcome::NotRun(_))
    }

    pub(crate) fn is_missed(&self) -> bool {
        matches!(&self.outcome, Outcome::Measured(measured) if measured.is_within() == Some(false))
    }

    fn with(mut self, change: impl FnOnce(&mut Measured)) -> Self {
        if let Outcome::Measured(measured) = &mut self.outcome {
            change(measured);
        }
        self
    }

    fn cells(&self) -> [String; 6] {
        let measure = self.measure.clone();
        let without =
            |reason: String| [self.measure.clone(), reason, String::new(), String::new(), String::new(), String::new()];
        match &self.outcome {
            Outcome::NotRun(reason) => without(format!("not run: {reason}")),
            Outcome::Skipped(missing) => without(format!("skipped: {missing}")),
            Outcome::Measured(measured) => [
                measure,
                measured.unit.show(measured.value),
                measured.spread.clone(),
                measured.limit.map(|limit| limit.show(measured.unit)).unwrap_or_default(),
                measured.npd.to_owned(),
                measured.verdict().to_owned(),
            ],
        }
    }

    pub(crate) fn json(&self) -> Value {
        match &self.outcome {
            Outcome::NotRun(reason) => json!({ "measure": self.measure, "not_run": reason }),
            Outcome::Skipped(missing) => json!({ "measure": self.measure, "skipped": missing }),
            Outcome::Measured(measured) => json!({
                "measure": self.measure,
                "value": measured.value,
                "unit": measured.unit.symbol(),
                "beside": measured.spread,
                "target": measured.limit.map(|limit| limit.show(measured.unit)),
                "npd": measured.npd,
                "verdict": measured.verdict(),
            }),
        }
    }
}

impl Measured {
    fn is_within(&self) -> Option<bool> {
        self.limit.map(|limit| match limit {
            Limit::AtMost(limit) => self.value <= limit,
            Limit::AtLeast(limit) => self.value >= limit,
            Limit::Exactly(limit) => (self.value - limit).abs() < f64::EPSILON,
        })
    }

    fn verdict(&self) -> &'static str {
        match self.is_within() {
            Some(true) => "ok",
            Some(false) => "MISSED",
            None => "",
        }
    }
}

impl Limit {
    fn show(self, unit: Unit) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {}", unit.show(limit)),
            Self::AtLeast(limit) => format!("≥ {}", unit.show(limit)),
            Self::Exactly(limit) => format!("= {}", unit.show(limit)),
        }
    }
}

impl Unit {
    fn symbol(self) -> &'static str {
        match self {
            Self::Millis => "ms",
            Self::MebiBytes => "MiB",
            Self::MegaLinesPerSecond => "M lines/s",
            Self::KiloLinesPerSecond => "k lines/s",
            Self::MegaBytesPerSecond => "MB/s",
            Self::Percent => "%",
            Self::PerSecond => "/s",
            Self::Micros => "µs",
            Self::Count => "",
        }
    }

    fn show(self, value: f64) -> String {
        let digits = match self {
            Self::Count | Self::MegaBytesPerSecond | Self::KiloLinesPerSecond | Self::PerSecond => 0,
            // Of a core: hundredths are what such budgets are made of.
            Self::Percent if value < 1.0 => 3,
            Self::Percent | Self::MegaLinesPerSecond | Self::Micros => 1,
            Self::Millis | Self::MebiBytes => 2,
        };
        format!("{value:.digits$} {}", self.symbol()).trim_end().to_owned()
    }
}

const HEAD: [&str; 6] = ["measure", "median", "p99 or min – max", "target", "NPD", "verdict"];

/// The rows as a Markdown table whose columns are aligned for a terminal too.
pub(crate) fn render(rows: &[Row]) -> String {
    let cells: Vec<[String; 6]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut lines: Vec<String> = cells.iter().map(|row| line(row, &widths)).collect();
    lines.insert(1, line(&widths.map(|width| "-".repeat(width)), &widths));
    lines.join("\n")
}

fn line(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
    format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_exceeded_is_missed() {
        assert!(!Row::new("start", 49.0, Unit::Millis).at_most(50.0).is_missed());
        assert!(Row::new("start", 51.0, Unit::Millis).at_most(50.0).is_missed());
        assert!(Row::new("speed", 11.9, Unit::MegaLinesPerSecond).at_least(12.0).is_missed());
        assert!(!Row::new("lost", 0.0, Unit::Count).exactly(0.0).is_missed());
        assert!(!Row::new("just reported", 1.0, Unit::Count).is_missed());
    }

    #[test]
    fn what_was_not_given_is_skipped_by_name_and_no_failure() {
        let skipped = Row::skipped("boots of others", "FIELD_CAPTURES names no folder");
        assert!(skipped.was_run() && !skipped.is_missed() && !Row::not_run("flood", "needs root").was_run());
        assert!(render(std::slice::from_ref(&skipped)).contains("skipped: FIELD_CAPTURES names no folder"));
        assert_eq!(skipped.json()["skipped"], "FIELD_CAPTURES names no folder");
    }

    #[test]
    fn all_lines_of_the_table_are_as_wide() {
        let rows = [Row::new("start → ready", 1.5, Unit::Millis).npd("35 ms"), Row::not_run("flood", "needs root")];
        let table = render(&rows);
        let widths: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths.len(), 4);
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
        assert!(table.contains("not run: needs root") && table.contains("1.50 ms"));
    }
}
