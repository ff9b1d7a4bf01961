//! Reads the JSON of a report back, so that several runs can be summed up.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::{
    act::Verdict,
    fault::Fault,
    memory::{Footprint, Memory},
    outcome::{Outcome, Run},
    setting::Setting,
    trial::Times,
    watch::Finding,
};

/// All of a run that its report has.
///
/// # Errors
/// What it lacks.
pub fn run(report: &Value) -> Result<Run, String> {
    Ok(Run {
        seed: field(report, "seed", Value::as_u64)?,
        setting: Setting {
            commit: field(report, "commit", text)?,
            cores: field(report, "cores", count)?,
            kernel: field(report, "kernel", text)?,
        },
        begun: field(report, "begun", parsed)?,
        lasted: field(report, "seconds", seconds)?,
        at_least: field(report, "at-least", count)?,
        outcomes: all(report, "faults", outcome)?,
        findings: all(report, "findings", finding)?,
        powers_off: field(report, "powers-off", Value::as_u64)?,
        looks: field(report, "looks", Value::as_u64)?,
        memory: footprint(&report["memory"])?,
        ended: optional(report, "ended", text)?,
    })
}

/// Why a run is no proof, as its report has it.
///
/// # Errors
/// What it lacks.
pub fn failures(report: &Value) -> Result<Vec<String>, String> {
    all(report, "failures", |why| text(why).ok_or_else(|| format!("{why} is no reason")))
}

fn field<T>(of: &Value, key: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T, String> {
    read(&of[key]).ok_or_else(|| format!("its {key} is {}", of[key]))
}

fn optional<T>(of: &Value, key: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, String> {
    if of[key].is_null() { Ok(None) } else { field(of, key, read).map(Some) }
}

fn all<T>(of: &Value, key: &str, read: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    field(of, key, |list| list.as_array().cloned())?.iter().map(read).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn count(value: &Value) -> Option<usize> {
    value.as_u64()?.try_into().ok()
}

fn seconds(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

fn parsed<T: std::str::FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

fn outcome(one: &Value) -> Result<Outcome, String> {
    let times = Times {
        found: optional(one, "found", seconds)?,
        // No figure is of it.
        by: "",
        acted: optional(one, "acted", seconds)?,
        over: optional(one, "over", seconds)?,
    };
    Ok(Outcome {
        number: field(one, "number", count)?,
        at: field(one, "at", parsed)?,
        fault: field(one, "fault", |name| Fault::ALL.into_iter().find(|fault| *name == fault.to_string()))?,
        node: field(one, "node", text)?,
        times,
        missed: optional(one, "missed", text)?,
        breaches: all(one, "breaches", |what| text(what).ok_or_else(|| format!("{what} is no breach")))?,
    })
}

fn finding(one: &Value) -> Result<Finding, String> {
    let verdicts = [Verdict::Caused, Verdict::Wrong, Verdict::False, Verdict::Outer];
    Ok(Finding {
        at: field(one, "at", parsed)?,
        node: field(one, "node", text)?,
        what: field(one, "what", text)?,
        verdict: field(one, "verdict", |name| verdicts.into_iter().find(|verdict| *name == format!("{verdict:?}")))?,
        planted: field(one, "planted", text)?,
    })
}

fn footprint(memory: &Value) -> Result<Footprint, String> {
    let highest = machines(memory, "highest-kib")?.into_iter();
    let highest = highest.map(|(name, kib)| kib.as_u64().map(|kib| (name, kib)));
    Ok(Footprint {
        start: of_machines(memory, "start")?,
        end: of_machines(memory, "end")?,
        highest_kib: highest.collect::<Option<_>>().ok_or_else(|| "its highest-kib has no numbers".to_owned())?,
    })
}

fn machines(memory: &Value, key: &str) -> Result<BTreeMap<String, Value>, String> {
    field(memory, key, |all| Some(all.as_object()?.clone().into_iter().collect()))
}

fn of_machines(memory: &Value, key: &str) -> Result<BTreeMap<String, Memory>, String> {
    machines(memory, key)?.into_iter().map(|(name, one)| of_machine(&one).map(|memory| (name, memory))).collect()
}

fn of_machine(one: &Value) -> Result<Memory, String> {
    let resident_kib = field(one, "rss-kib", Value::as_u64)?;
    // The highest is the report's.
    Ok(Memory { resident_kib, anonymous_kib: field(one, "anonymous-kib", Value::as_u64)?, peak_kib: resident_kib })
}
