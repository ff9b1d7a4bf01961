//! docs/reference/metrics.md: every metric, as the exporters declare them.

use nodewell_agent::exporters::metrics::{figures_of_npd, table::CHAPTERS};
use nodewell_controller::metrics::table;
use nodewell_metrics::Metric;
use nodewell_rules::npd::stats::prometheus_name;

use crate::markdown::{cell, code};

const HEAD: &str = "# Metrics: every one\n\n\
    **For:** people who write a query, an alert or a dashboard.\\\n\
    **Afterwards:** you know each metric's type and labels, and what it counts.\n\n\
    `nodewell-pages metrics` writes this page from what the programs declare; the last column is what `# HELP` has.\n\
    [Metrics](../metrics.md) says how they are scraped, what a scrape costs and what to make of them. A label in\n\
    brackets is not on every sample.\n";
const OF_NPD: &str = "Each under the name that the file's `displayName` gives it: in stock files the second one here.\n\
                      [What differs](../metrics.md#node-problem-detectors-system-stats-monitor).\n";
const OF_CONTROLLER: &str = "Every label but `node` has few values, all of them fixed in the program: nothing in the\n\
                             cluster makes a series of its own.\n";

/// The page.
pub(crate) fn page() -> String {
    let mut text = HEAD.to_owned();
    for (title, metrics) in CHAPTERS {
        text += &chapter(title, "", metrics.iter().map(|metric| row(&code(metric.name), metric)));
    }
    let figures = figures_of_npd().map(|figure| {
        let names = format!("{} → {}", code(figure.name), code(&prometheus_name(figure.name)));
        row(&names, &figure)
    });
    text += &chapter("Node Problem Detector's system-stats-monitor", OF_NPD, figures);
    text += &chapter("The controller", OF_CONTROLLER, table::ALL.iter().map(|metric| row(&code(metric.name), metric)));
    text
}

fn chapter(title: &str, about: &str, rows: impl Iterator<Item = String>) -> String {
    let about = if about.is_empty() { String::new() } else { format!("\n{about}") };
    let rows: String = rows.collect();
    format!("\n## {title}\n{about}\n| metric | type | labels | what |\n|---|---|---|---|\n{rows}")
}

fn row(names: &str, metric: &Metric) -> String {
    let labels: Vec<String> = metric.labels.iter().map(|label| format!(" {}", shown(label))).collect();
    format!("| {names} | {} |{} | {} |\n", metric.kind.as_str(), labels.join(","), cell(metric.help))
}

fn shown(label: &str) -> String {
    label.strip_suffix('?').map_or_else(|| code(label), |name| format!("({})", code(name)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const COMMITTED: &str = include_str!("../../../docs/reference/metrics.md");

    fn all() -> Vec<Metric> {
        let ours = CHAPTERS.into_iter().flat_map(|(_, metrics)| metrics).chain(table::ALL);
        ours.copied().chain(figures_of_npd()).collect()
    }

    #[test]
    fn each_has_a_name_of_its_own_and_one_line_of_prose() {
        let all = all();
        let names: BTreeSet<&str> = all.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all.len());
        for Metric { name, help, .. } in all {
            assert!(help.ends_with('.') && !help.contains(['\\', '\n']), "{name}: {help}");
        }
    }

    #[test]
    fn the_page_is_what_the_programs_declare() {
        let made = page();
        let first = made.lines().zip(COMMITTED.lines()).find(|(made, committed)| made != committed);
        assert!(made == COMMITTED, "run: cargo run -p nodewell-pages metrics >docs/reference/metrics.md\n{first:?}");
    }
}
