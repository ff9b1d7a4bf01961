//! One node in full: nothing of it is cut.

use super::{
    Page, controller,
    fleet::silence,
    look::{Paint, one_line},
    notes,
    table::Table,
};
use crate::view::{
    agent::{AgentState, AgentView},
    health::Health,
    node::{ConditionView, NodeView},
    remediation::RemediationView,
};

pub(crate) fn text(view: &NodeView, page: &Page) -> String {
    let controller = controller::lines(&view.controller, page);
    let head = format!("{}{controller}{}", facts(view, page), remediation(view.remediation.as_ref(), page));
    let mut blocks = vec![head, conditions(&view.conditions, page), notes(&view.notes)];
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

/// `name:  value`, each on a line.
fn line(name: &str, value: &str) -> String {
    format!("{:<12} {value}\n", format!("{name}:"))
}

fn facts(view: &NodeView, page: &Page) -> String {
    let places = [("zone", &view.zone), ("rack", &view.rack)];
    let places = places.into_iter().filter_map(|(what, name)| Some(format!(", {what} {}", one_line(name.as_ref()?))));
    let name = page.look.paint(Paint::Strong, &one_line(&view.node));
    let mut text = line("node", &format!("{name}{}", places.collect::<String>()));
    let since = view.state_since.map(|_| format!(" for {}", page.age(view.state_since))).unwrap_or_default();
    text.push_str(&line("state", &format!("{}{since}", view.state)));
    if let Some(why) = &view.not_ready {
        text.push_str(&line("not ready", &page.look.paint(Paint::Bad, &one_line(why))));
    }
    if let Some(by) = &view.cordoned {
        text.push_str(&line("cordoned", &page.look.paint(Paint::Warning, &one_line(by))));
    }
    for one in &view.taints {
        let explained = one.explained.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        text.push_str(&line("taint", &one_line(&format!("{}{explained}", one.taint))));
    }
    if let Some(why) = &view.skipped {
        text.push_str(&line("skipped", &format!("a person keeps the controller away: {}", one_line(why))));
    }
    text + &line("agent", &agent(&view.agent, page))
}

fn agent(view: &AgentView, page: &Page) -> String {
    let last = view.last_seen.map(|_| format!("last seen {} ago", page.age(view.last_seen)));
    let last = last.unwrap_or_else(|| "never seen".to_owned());
    match view.state {
        AgentState::Reports if view.has_lease => format!("reports, {last}"),
        AgentState::Reports => format!("reports, {last}, by its heartbeats; it has no Lease"),
        AgentState::Starts | AgentState::Silent => {
            page.look.paint(Paint::Warning, &format!("silent, {last}: {}", one_line(&silence(view))))
        }
        AgentState::Absent => page.look.paint(Paint::Warning, "none: no condition and no Lease of one is there"),
    }
}

fn remediation(view: Option<&RemediationView>, page: &Page) -> String {
    let Some(view) = view else { return line("remediation", "none") };
    let policy = if view.policy.is_empty() { "asked for by a person" } else { &view.policy };
    let cause = if view.cause.is_empty() { String::new() } else { format!(": {}", view.cause) };
    let mut text = line("remediation", &one_line(&format!("{policy}{cause}")));
    if let (Some(phase), Some(doing)) = (view.phase, view.doing) {
        text.push_str(&line("phase", &format!("{phase:?} for {}: {doing}", page.age(view.since))));
    }
    if let Some(next) = &view.next {
        text.push_str(&line("next", &one_line(next)));
    }
    if let Some(at) = view.restored_at {
        text.push_str(&line("next", &format!("given back at {at:.0}, if it stays healthy")));
    }
    if view.aborted {
        text.push_str(&line("aborted", "by a person (spec.abort)"));
    }
    for blocker in &view.blocked_by {
        let reason = page.look.paint(Paint::Warning, &one_line(&blocker.reason));
        text.push_str(&line("blocked", &format!("{reason}: {}", one_line(&blocker.message))));
    }
    view.refused_evictions.iter().for_each(|pod| text.push_str(&line("refused", &one_line(pod))));
    text
}

fn conditions(all: &[ConditionView], page: &Page) -> String {
    let mut table = Table::new(&["CONDITION", "STATUS", "AGE", "REASON", "REPORTED BY", "MESSAGE"]);
    for one in all {
        let paint = match one.health {
            Health::Problem => Some(Paint::Bad),
            Health::Unknown => Some(Paint::Warning),
            Health::Healthy => None,
        };
        // That the agent reports is the rule, and no column.
        let reported_by =
            if page.is_wide() || one.reported_by != "agent" { one.reported_by.clone() } else { String::new() };
        let (status, age) = (one.status.to_string(), page.age(one.since));
        table.row(paint, [one.condition.clone(), status, age, one.reason.clone(), reported_by, one.message.clone()]);
    }
    table.text(0, page.uncut())
}
