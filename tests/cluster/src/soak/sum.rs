//! Several runs, each in a cluster of its own, summed up by their JSON reports: parts of a hundred faults.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use serde_json::Value;

use super::{
    memory::{Footprint, Memory, mib},
    outcome::Run,
    read, report,
};

/// One of them.
#[derive(Debug, Clone)]
pub struct Part {
    pub name: String,
    pub run: Run,
    /// Why it is no proof, as its report has it.
    pub failures: Vec<String>,
}

impl Part {
    /// Of a file that has a report.
    ///
    /// # Errors
    /// Why it has none.
    pub fn read(file: &Path) -> Result<Self, String> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|why| format!("{name}: {why}"))?;
        let report = serde_json::from_str(&text).map_err(|why| format!("{name}: {why}"))?;
        Self::of(&name, &report).map_err(|why| format!("{name} is no report of a soak: {why}"))
    }

    /// Of its report.
    ///
    /// # Errors
    /// What the report lacks.
    pub fn of(name: &str, report: &Value) -> Result<Self, String> {
        let failures = read::failures(report)?;
        if report["clean"] != failures.is_empty() {
            return Err(format!("its clean is {}", report["clean"]));
        }
        Ok(Self { name: name.to_owned(), run: read::run(report)?, failures })
    }

    fn line(&self) -> String {
        let Self { name, run, failures } = self;
        let (seconds, faults) = (run.lasted.as_secs(), run.outcomes.len());
        let (seed, begun, setting) = (run.seed, run.begun.strftime("%F %T"), &run.setting);
        let clean = if failures.is_empty() { "clean" } else { "NOT CLEAN" };
        format!("{name}: seed {seed}, {begun}, {seconds} s, {faults} faults, {setting}: {clean}")
    }
}

/// Why they prove nothing together: each has to be clean by itself, and all of them to have planted so many.
#[must_use]
pub fn failures(parts: &[Part], least: usize) -> Vec<String> {
    let own = parts.iter().flat_map(|part| part.failures.iter().map(|why| format!("{}: {why}", part.name)));
    let twice = parts.iter().enumerate().filter_map(|(number, part)| {
        let other = parts[..number].iter().find(|other| which(other) == which(part))?;
        Some(format!("{} and {} are one run", other.name, part.name))
    });
    let first = parts.first();
    let mixed = first.and_then(|first| {
        let other = parts.iter().find(|part| part.run.setting != first.run.setting)?;
        Some(format!("{} and {} differ in commit or machine", first.name, other.name))
    });
    let planted: usize = parts.iter().map(|part| part.run.outcomes.len()).sum();
    let few = (planted < least.max(1)).then(|| format!("faults planted: {planted}, of {least} that are needed"));
    own.chain(twice).chain(mixed).chain(few).collect()
}

fn which(part: &Part) -> (u64, jiff::Timestamp) {
    (part.run.seed, part.run.begun)
}

/// The report of one run, over all of them; empty of none.
#[must_use]
pub fn text(parts: &[Part], failures: &[String]) -> String {
    let Some(run) = together(parts) else { return String::new() };
    let seeds: Vec<String> = parts.iter().map(|part| part.run.seed.to_string()).collect();
    let of = format!("{} runs of seeds {}", parts.len(), seeds.join(", "));
    let lines: Vec<String> = parts.iter().map(Part::line).collect();
    let grown: Vec<String> = parts.iter().map(|part| report::grown(&part.run.memory)).collect();
    let rows = report::rows(&of, &run, &grown.join("; then "));
    format!(
        "{}{}\n{}\n{} s in all\n\n{}{}\nFor docs/measurements.md:\n\n{rows}\n{}\n",
        report::table(&run),
        report::sentence(&of, &run),
        lines.join("\n"),
        run.lasted.as_secs(),
        memory(parts),
        report::what_was_wrong(&run),
        report::verdict(failures)
    )
}

/// As if it had been one; memory is each part's own.
fn together(parts: &[Part]) -> Option<Run> {
    let (first, rest) = parts.split_first()?;
    let mut all = Run { memory: Footprint::default(), ..first.run.clone() };
    for Part { run, .. } in rest {
        all.lasted += run.lasted;
        all.outcomes.extend(run.outcomes.iter().cloned());
        all.findings.extend(run.findings.iter().cloned());
        all.powers_off += run.powers_off;
        all.looks += run.looks;
        all.ended = all.ended.or_else(|| run.ended.clone());
    }
    Some(all)
}

/// What no file is behind, at the first start and at each end.
fn memory(parts: &[Part]) -> String {
    let machines: BTreeSet<&String> = parts.iter().flat_map(|part| part.run.memory.start.keys()).collect();
    let shown = |memory: Option<&Memory>| memory.map_or_else(|| "-".to_owned(), |memory| mib(memory.anonymous_kib));
    let mut text = format!("{:<8} {:>12}", "own MiB", "first start");
    (1..=parts.len()).map(|number| format!("end {number}")).for_each(|end| _ = write!(text, " {end:>8}"));
    for machine in machines {
        let start = parts.first().and_then(|part| part.run.memory.start.get(machine));
        let _ = write!(text, "\n{machine:<8} {:>12}", shown(start));
        parts.iter().for_each(|part| _ = write!(text, " {:>8}", shown(part.run.memory.end.get(machine))));
    }
    text.push('\n');
    text
}
