//! What a run came to: a table for people, JSON for scripts, rows for docs/measurements.md.

use std::{fmt::Write, time::Duration};

use serde_json::{Value, json};

use super::{
    act::Verdict,
    fault::Fault,
    memory::{Footprint, mib},
    outcome::{Outcome, Run},
    percentile::percentile,
};

/// A table, what was missed or wrong, and the rows.
#[must_use]
pub fn text(run: &Run) -> String {
    let of = format!("seed {}", run.seed);
    let mut text = table(run);
    let _ = writeln!(text, "{}\n{}\n", sentence(&of, run), run.setting);
    text.push_str(&memory(&run.memory));
    text.push_str(&what_was_wrong(run));
    let rows = rows(&of, run, &grown(&run.memory));
    let _ = write!(text, "\nFor docs/measurements.md:\n\n{rows}\n{}\n", verdict(&run.failures()));
    text
}

/// A line for each kind, and what its figures are.
pub(super) fn table(run: &Run) -> String {
    let mut text = format!(
        "\n{:<18} {:>7} {:>7} {:>7}  {:<17} {:<17} over\n",
        "fault", "planted", "found", "missed", "found after", "acted after"
    );
    for fault in Fault::ALL {
        let its = planted(run, fault);
        if its.is_empty() {
            continue;
        }
        let [found, acted, over] = spreads(&its);
        let missed = its.iter().filter(|outcome| outcome.missed.is_some()).count();
        let seen = its.iter().filter(|outcome| outcome.times.found.is_some()).count();
        let planted = its.len();
        let _ = writeln!(text, "{fault:<18} {planted:>7} {seen:>7} {missed:>7}  {found:<17} {acted:<17} {over}");
    }
    text.push_str(
        "Times are p50 / p99 in seconds since the fault was planted; of an API server, since its return.\n\n",
    );
    text
}

/// Whether it is a proof, in one line.
pub(super) fn verdict(failures: &[String]) -> String {
    if failures.is_empty() { "PASSED".to_owned() } else { format!("FAILED: {}", failures.join("; ")) }
}

fn planted(run: &Run, fault: Fault) -> Vec<&Outcome> {
    run.outcomes.iter().filter(|outcome| outcome.fault == fault).collect()
}

/// When they were found, acted on, over.
fn spreads(outcomes: &[&Outcome]) -> [String; 3] {
    let times = |of: fn(&Outcome) -> Option<Duration>| outcomes.iter().filter_map(|outcome| of(outcome)).collect();
    let spread = |times: Vec<Duration>| match (percentile(&times, 50), percentile(&times, 99)) {
        (Some(median), Some(p99)) => format!("{median:.1} / {p99:.1}"),
        _ => "-".to_owned(),
    };
    [spread(times(|one| one.times.found)), spread(times(|one| one.times.acted)), spread(times(|one| one.times.over))]
}

/// What it comes to; `of` these seeds.
pub(super) fn sentence(of: &str, run: &Run) -> String {
    let minutes = run.lasted.as_secs_f64() / 60.0;
    let [found, _, over] = spreads(&run.outcomes.iter().collect::<Vec<_>>());
    let mut text = format!(
        "{of}: {} faults in {minutes:.0} min, {} found, {} missed; {} nodes fenced, {} powers off ordered; {} wrong \
         acts, {} false reports, {} releases without proof or second writers; found after {found} s, over after {over} \
         s; {} looks at the cluster",
        run.outcomes.len(),
        run.found(),
        run.missed(),
        run.fences(),
        run.powers_off,
        run.count(Verdict::Wrong),
        run.count(Verdict::False),
        run.breaches(),
        run.looks,
    );
    if let Some(why) = &run.ended {
        let _ = write!(text, "; ended early: {why}");
    }
    text
}

fn memory(memory: &Footprint) -> String {
    let mut text = format!(
        "{:<8} {:>12} {:>12} {:>12} {:>14} {:>14}\n",
        "MiB of", "RSS, start", "end", "highest", "own, start", "own, end"
    );
    for (machine, start) in &memory.start {
        let end = memory.end.get(machine).copied();
        let shown = |kib: Option<u64>| kib.map_or_else(|| "-".to_owned(), mib);
        let _ = writeln!(
            text,
            "{machine:<8} {:>12} {:>12} {:>12} {:>14} {:>14}",
            mib(start.resident_kib),
            shown(end.map(|end| end.resident_kib)),
            shown(memory.highest_kib.get(machine).copied()),
            mib(start.anonymous_kib),
            shown(end.map(|end| end.anonymous_kib)),
        );
    }
    text
}

pub(super) fn what_was_wrong(run: &Run) -> String {
    let mut text = String::new();
    for finding in &run.findings {
        let _ = writeln!(text, "{}", finding.line());
    }
    for outcome in &run.outcomes {
        let which = format!("{} {} {} {}", outcome.number, outcome.at, outcome.node, outcome.fault);
        let missed = outcome.missed.iter().map(|why| format!("MISSED: {which}: {why}"));
        let breaches = outcome.breaches.iter().map(|what| format!("WRONG RELEASE: {which}: {what}"));
        missed.chain(breaches).for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
    }
    text
}

/// Rows of a table of docs/measurements.md, `of` these seeds.
pub(super) fn rows(of: &str, run: &Run, grown: &str) -> String {
    let all: Vec<&Outcome> = run.outcomes.iter().filter(|outcome| outcome.fault.is_fenced()).collect();
    let [_, released, back] = spreads(&all);
    let [found, _, over] = spreads(&run.outcomes.iter().collect::<Vec<_>>());
    let minutes = run.lasted.as_secs_f64() / 60.0;
    let kinds = Fault::ALL.into_iter().filter(|fault| !planted(run, *fault).is_empty()).count();
    format!(
        "| measure | figure |\n|---|---|\n\
         | soak with faults at random, {of}, {} | {} faults of {kinds} kinds in {minutes:.0} min, one after another |\n\
         | found / missed / acts without a cause / false reports | {} / {} / {} / {} |\n\
         | nodes fenced; releases without proof or second writers | {}; {} |\n\
         | planted → found, p50 / p99; → all as before | {found} s; {over} s |\n\
         | a node is dead → its pods are released, p50 / p99; → given back | {released} s; {back} s |\n\
         | memory of each machine's own processes, from start to end | {grown} |\n",
        run.begun.strftime("%F"),
        run.outcomes.len(),
        run.found(),
        run.missed(),
        run.count(Verdict::Wrong),
        run.count(Verdict::False),
        run.fences(),
        run.breaches(),
    )
}

/// Each machine's own memory, from the start to the end.
pub(super) fn grown(memory: &Footprint) -> String {
    let machines = memory.start.iter().map(|(machine, start)| match memory.end.get(machine) {
        Some(end) => {
            let (from, to) = (start.anonymous_kib, end.anonymous_kib);
            format!(
                "{machine} {} → {} MiB anonymous ({} → {} RSS)",
                mib(from),
                mib(to),
                mib(start.resident_kib),
                mib(end.resident_kib)
            )
        }
        None => format!("{machine} {} MiB anonymous, and no end", mib(start.anonymous_kib)),
    });
    machines.collect::<Vec<_>>().join("; ")
}

/// One JSON object.
#[must_use]
pub fn json(run: &Run) -> Value {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let outcome = |one: &Outcome| {
        json!({
            "number": one.number, "at": one.at.to_string(), "fault": one.fault.to_string(), "node": one.node,
            "found": seconds(one.times.found), "by": one.times.by, "acted": seconds(one.times.acted),
            "over": seconds(one.times.over), "missed": one.missed, "breaches": one.breaches,
        })
    };
    let finding = |one: &super::watch::Finding| {
        json!({
            "at": one.at.to_string(), "node": one.node, "what": one.what, "planted": one.planted,
            "verdict": format!("{:?}", one.verdict),
        })
    };
    let memory = |all: &std::collections::BTreeMap<String, super::memory::Memory>| {
        let of =
            |one: &super::memory::Memory| json!({ "rss-kib": one.resident_kib, "anonymous-kib": one.anonymous_kib });
        all.iter().map(|(name, one)| (name.clone(), of(one))).collect::<serde_json::Map<_, _>>()
    };
    json!({
        "seed": run.seed, "commit": run.setting.commit, "cores": run.setting.cores, "kernel": run.setting.kernel,
        "begun": run.begun.to_string(), "seconds": run.lasted.as_secs_f64(),
        "faults": run.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        "findings": run.findings.iter().map(finding).collect::<Vec<_>>(),
        "at-least": run.at_least, "found": run.found(), "missed": run.missed(),
        "wrong-acts": run.count(Verdict::Wrong), "false-reports": run.count(Verdict::False),
        "breaches": run.breaches(), "fences": run.fences(), "powers-off": run.powers_off, "looks": run.looks,
        "memory": {
            "start": memory(&run.memory.start), "end": memory(&run.memory.end), "highest-kib": run.memory.highest_kib,
        },
        "ended": run.ended, "failures": run.failures(), "clean": run.is_clean(),
    })
}
