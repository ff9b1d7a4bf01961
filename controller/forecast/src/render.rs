//! A forecast as lines of text: first what happens when, then what becomes of each pod, then where the times come from.

use std::time::Duration;

use super::{
    ClusterOutcome, FencingLevel, NodeForecast, PodForecast, RemediationOutcome, RemediationTimeline, Window, ZoneState,
};

/// Between two columns.
const GAP: usize = 2;
/// A column is not made narrower than this, whatever the width.
const NARROWEST: usize = 12;
/// What no forecast has: how long others take to answer.
const ASSUMED: &str = "times of nodewell: if neither the BMC nor the API server keeps it waiting";

/// Lines for a terminal of `width` columns; none has spaces at its end.
#[must_use]
pub fn render(forecast: &NodeForecast, width: usize) -> Vec<String> {
    let mut lines = wrap(&title(forecast), width);
    lines.push(String::new());
    lines.extend(table(&timeline(forecast), width));
    lines.push(String::new());
    if !forecast.fencing.is_empty() {
        lines.extend(table(&levels(forecast), width));
        lines.push(String::new());
    }
    if forecast.pods.is_empty() {
        lines.push("It has no pods.".to_owned());
    } else {
        lines.extend(table(&pods(forecast), width));
        lines.push(String::new());
        lines.extend(wrap(&summary(forecast), width));
    }
    if forecast.remediation.as_ref().is_some_and(|remediation| remediation.released.is_some()) {
        lines.extend(wrap(ASSUMED, width));
    }
    for note in &forecast.settings.notes {
        lines.extend(wrap(&format!("times from: {note}"), width));
    }
    lines
}

/// What has happened is no matter of if.
fn title(forecast: &NodeForecast) -> String {
    let node = &forecast.node;
    match forecast.failed_for {
        None => format!("If {node} failed now, from that moment on:"),
        Some(ago) => format!("{node} failed {} ago. From that moment on:", span(ago)),
    }
}

fn timeline(forecast: &NodeForecast) -> Vec<Vec<String>> {
    let mut events: Vec<(Window, &str, String)> = cluster_events(forecast);
    events.extend(forecast.remediation.iter().flat_map(remediation_events));
    events.sort_by_key(|event| event.0);
    let head = ["WHEN", "WHO", "WHAT"].map(str::to_owned).to_vec();
    let is_past = |at: Window| forecast.failed_for.is_some_and(|ago| at.latest < ago);
    // That it was due is no proof that it was done: the record shows what was.
    let when = |at: Window, who: &str| match (is_past(at), who) {
        (false, _) => window(at),
        (true, "nodewell") => format!("{} (due)", window(at)),
        (true, _) => format!("{} (over)", window(at)),
    };
    let rows = events.into_iter().map(|(at, who, what)| vec![when(at, who), who.to_owned(), what]);
    let never = never_events(forecast).into_iter().map(|(who, what)| vec!["never".to_owned(), who.to_owned(), what]);
    std::iter::once(head).chain(rows).chain(never).collect()
}

fn cluster_events(forecast: &NodeForecast) -> Vec<(Window, &'static str, String)> {
    let mut events = vec![(
        forecast.cluster.unknown,
        "cluster",
        "Ready becomes Unknown; no new pods, and its pods leave their services".to_owned(),
    )];
    if let Some(tainted) = forecast.cluster.tainted {
        events.push((tainted, "cluster", "taint unreachable:NoExecute; tolerations begin to run".to_owned()));
    }
    if let Some(first) = forecast.pods.iter().filter_map(|pod| pod.deletion).min() {
        events.push((first, "cluster", "the first pods are marked for deletion; their objects stay".to_owned()));
    }
    events
}

fn remediation_events(remediation: &RemediationTimeline) -> Vec<(Window, &'static str, String)> {
    let evidence = remediation.evidence.as_ref().map(|evidence| format!(", and {evidence}")).unwrap_or_default();
    let mut events =
        vec![(remediation.silent, "nodewell", format!("the kubelet's Lease is silent for long enough{evidence}"))];
    if remediation.begins != remediation.silent {
        events.push((
            remediation.begins,
            "nodewell",
            format!("policy {} has held for long enough", remediation.policy),
        ));
    }
    events.extend(remediation.off.map(|at| (at, "nodewell", "power confirmed off (read twice)".to_owned())));
    events.extend(
        remediation.released.map(|at| (at, "nodewell", "taint out-of-service; pods and volumes released".to_owned())),
    );
    events
}

fn never_events(forecast: &NodeForecast) -> Vec<(&'static str, String)> {
    let mut never = Vec::new();
    if forecast.cluster.tainted.is_none() {
        never.push(("cluster", untainted(forecast.cluster.zone).to_owned()));
    }
    let Some(remediation) = &forecast.remediation else {
        never.push(("nodewell", "acts: no policy is about this node".to_owned()));
        return never;
    };
    if remediation.longest.is_none() {
        never.push(("nodewell", "releases pods: this node cannot be fenced".to_owned()));
    }
    if !remediation.blockers.is_empty() {
        never.push(("nodewell", format!("turns it off as things stand: {}", remediation.blockers.join(", "))));
    }
    never
}

fn untainted(zone: ZoneState) -> &'static str {
    match zone {
        ZoneState::AllDown => "evicts: no node would be ready, which it takes for its own fault",
        _ => "evicts: so much of the small zone would be down that it stops there",
    }
}

fn levels(forecast: &NodeForecast) -> Vec<Vec<String>> {
    let head = ["LEVEL", "METHODS", "POWER OFF"].map(str::to_owned).to_vec();
    let row = |one: &FencingLevel| vec![one.level.to_string(), one.methods.join(", "), one.state()];
    std::iter::once(head).chain(forecast.fencing.iter().map(row)).collect()
}

fn pods(forecast: &NodeForecast) -> Vec<Vec<String>> {
    let mut head = vec!["POD", "OWNER", "THE CLUSTER"];
    head.extend(forecast.remediation.iter().map(|_| "NODEWELL"));
    let rows = forecast.pods.iter().map(|pod| {
        let owner = pod.owner.clone().unwrap_or_else(|| "none".to_owned());
        let mut row = vec![pod.pod.clone(), owner, cluster_outcome(pod)];
        row.extend(pod.remediation.map(remediation_outcome));
        row
    });
    std::iter::once(head.into_iter().map(str::to_owned).collect()).chain(rows).collect()
}

fn cluster_outcome(pod: &PodForecast) -> String {
    let mut text = match pod.cluster {
        ClusterOutcome::Replaced(at) => format!("another one starts after {}", window(at)),
        ClusterOutcome::WaitsForVolume { after_removal, .. } => waits(pod, after_removal),
        ClusterOutcome::NeverReplaced => "never: its name is taken while its object is there".to_owned(),
        ClusterOutcome::Lost => "lost: nothing makes another one".to_owned(),
        ClusterOutcome::Stays => "stays with the node".to_owned(),
        ClusterOutcome::NotEvicted => "never: it is not evicted".to_owned(),
        ClusterOutcome::Finished => "had ended before".to_owned(),
        ClusterOutcome::UpToOwner(at) => format!("marked after {}; the rest is up to its owner", window(at)),
    };
    if pod.needs_help() && pod.finalizers {
        text.push_str("; its finalizers hold it too");
    }
    if pod.loses_data && !matches!(pod.cluster, ClusterOutcome::Stays | ClusterOutcome::Finished) {
        text.push_str("; emptyDir is lost");
    }
    text
}

fn waits(pod: &PodForecast, after_removal: Option<Duration>) -> String {
    let volumes = pod.held_volumes.join(", ");
    match after_removal {
        Some(after) => format!("never: {volumes} stays attached until {} after its object is gone", span(after)),
        None => format!("never: {volumes} stays attached (force detach is off)"),
    }
}

fn remediation_outcome(end: RemediationOutcome) -> String {
    match end {
        RemediationOutcome::Released(at) => format!("released after {}", window(at)),
        RemediationOutcome::Lost(at) => format!("deleted after {}: lost", window(at)),
        RemediationOutcome::Stays => "stays".to_owned(),
        RemediationOutcome::AsCluster => "no difference".to_owned(),
    }
}

fn summary(forecast: &NodeForecast) -> String {
    let count = |test: &dyn Fn(&&PodForecast) -> bool| forecast.pods.iter().filter(test).count();
    let stuck = count(&|pod| pod.needs_help());
    let freed = count(&|pod| pod.needs_help() && matches!(pod.remediation, Some(RemediationOutcome::Released(_))));
    let remediation = if forecast.remediation.is_some() && stuck > 0 {
        format!("; nodewell frees {freed} of these")
    } else {
        String::new()
    };
    format!("{stuck} of {} pods never come back by themselves{remediation}.", forecast.pods.len())
}

/// `40s–55s`, or one of them if they are the same to the second.
fn window(window: Window) -> String {
    let (earliest, latest) = (span(window.earliest), span(window.latest));
    if earliest == latest { earliest } else { format!("{earliest}–{latest}") }
}

/// `5m50s`: whole seconds, and no more than two units.
fn span(span: Duration) -> String {
    let total = span.as_secs() + u64::from(span.subsec_millis() >= 500);
    let (hours, minutes, seconds) = (total / 3600, total / 60 % 60, total % 60);
    match (hours, minutes, seconds) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, 0, _) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h{minutes}m"),
    }
}

/// Columns as wide as they need to be; if that is too wide, the widest ones are wrapped.
fn table(rows: &[Vec<String>], width: usize) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let natural = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| chars(cell)).max();
    let mut widths: Vec<usize> = (0..columns).map(|column| natural(column).unwrap_or_default()).collect();
    let room = width.saturating_sub(GAP * columns.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROWEST) else { break };
        *widest -= 1;
    }
    rows.iter().flat_map(|row| row_lines(row, &widths)).collect()
}

fn row_lines(row: &[String], widths: &[usize]) -> Vec<String> {
    let cells: Vec<Vec<String>> = row.iter().zip(widths).map(|(cell, width)| wrap(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let line = |at: usize| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let text = cell.get(at).map(String::as_str).unwrap_or_default();
            line.push_str(text);
            line.push_str(&" ".repeat(width.saturating_sub(chars(text)) + GAP));
        }
        line.trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

/// Breaks between words; a word that is too long for a line, anywhere.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        if let Some(last) = lines.last_mut() {
            let needed = chars(last) + usize::from(!last.is_empty()) + rest.len();
            if needed <= width {
                last.extend((!last.is_empty()).then_some(' '));
                last.extend(rest);
                continue;
            }
        }
        while rest.len() > width {
            let tail = rest.split_off(width);
            lines.push(rest.into_iter().collect());
            rest = tail;
        }
        lines.push(rest.into_iter().collect());
    }
    lines.retain(|line| !line.is_empty());
    lines
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
