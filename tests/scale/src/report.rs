//! What a scenario found, for people and for scripts.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::meter::{Figures, Load};

/// One scenario's outcome.
#[derive(Debug, Clone)]
pub struct Report {
    pub scenario: String,
    /// Which time and which server.
    pub cluster: &'static str,
    pub nodes: usize,
    pub figures: Figures,
    pub facts: Vec<Fact>,
}

/// One figure with its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    pub limit: Option<f64>,
}

impl Fact {
    #[must_use]
    pub fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, limit: None }
    }

    /// More than this is a miss.
    #[must_use]
    pub fn at_most(self, limit: f64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Whether the limit is met. What was never reached is not a number, and meets none.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.limit.is_none_or(|limit| self.value <= limit)
    }

    fn line(&self) -> String {
        let limit = self.limit.map_or(String::new(), |limit| {
            format!("  (at most {limit:.2}: {})", if self.is_met() { "met" } else { "MISSED" })
        });
        format!("  {}: {:.2} {}{limit}\n", self.what, self.value, self.unit)
    }
}

impl Report {
    /// What missed its limit.
    pub fn missed(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().filter(|fact| !fact.is_met())
    }

    /// One JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let load = |load: &Load| {
            json!({
                "requests": load.total.requests, "mean-per-second": self.figures.per_second(load),
                "peak-per-second": load.peak, "bytes-up": load.total.bytes_up, "bytes-down": load.total.bytes_down,
            })
        };
        let verbs = self.figures.by_verb.iter().map(|(verb, one)| ((*verb).to_owned(), load(one)));
        let fact = |fact: &Fact| json!({ "what": fact.what, "value": fact.value, "unit": fact.unit, "limit": fact.limit, "met": fact.is_met() });
        json!({
            "scenario": self.scenario, "cluster": self.cluster, "nodes": self.nodes,
            "seconds": self.figures.window.as_secs_f64(), "all": load(&self.figures.all),
            "by-verb": verbs.collect::<serde_json::Map<_, _>>(),
            "facts": self.facts.iter().map(fact).collect::<Vec<_>>(),
        })
    }

    /// A heading, a line for each verb, a line for each fact.
    ///
    /// # Panics
    /// Never: a string takes what is written.
    #[must_use]
    pub fn text(&self) -> String {
        let Figures { window, by_verb, all } = &self.figures;
        let mut text =
            format!("{} — {}, {} nodes, {:.0} s\n", self.scenario, self.cluster, self.nodes, window.as_secs_f64());
        let head = ["requests", "total", "mean/s", "peak/s", "KiB up", "KiB down"];
        let [verb, total, mean, peak, up, down] = head;
        writeln!(text, "  {verb:<18}{total:>10}{mean:>10}{peak:>8}{up:>12}{down:>12}").unwrap();
        for (verb, load) in by_verb.iter().map(|(verb, load)| (*verb, load)).chain([("all", all)]) {
            let (up, down) = (load.total.bytes_up / 1024, load.total.bytes_down / 1024);
            let (total, mean, peak) = (load.total.requests, self.figures.per_second(load), load.peak);
            writeln!(text, "  {verb:<18}{total:>10}{mean:>10.2}{peak:>8}{up:>12}{down:>12}").unwrap();
        }
        self.facts.iter().for_each(|fact| text.push_str(&fact.line()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_came_about_meets_no_limit() {
        let fact = |value| Fact::new("right after", value, "s").at_most(2.0);
        assert!(fact(2.0).is_met());
        assert!(!fact(2.1).is_met());
        assert!(!fact(f64::NAN).is_met());
    }
}
