//! What the cases about the state directory share: an agent whose state lies where the case wants it, and the reports
//! that it gets.

use std::{os::unix::fs::symlink, path::Path};

use nodewell_model::view::ConditionView;
use nodewell_tests::{
    agent::{Agent, Plan},
    wait::until,
};
use serde_json::json;

use crate::report_api::{self, raid};

pub(crate) const UNWRITABLE: &str = "AgentStateUnwritable";

/// An agent that saves its state in `folder`, and takes reports on arrays.
pub(crate) fn plan_on(folder: &Path) -> Plan {
    let plan = report_api::plan("[socket]\nrate = 10000\n");
    symlink(folder, plan.folder().join("state")).unwrap();
    plan
}

/// Reports that this array is degraded; returns whether the answer promises that it is saved.
pub(crate) fn report_array(agent: &Agent, name: &str) -> bool {
    let report = json!({"source": "raid-monitor", "conditions": [raid("True", name)]});
    let answer = agent.post("/v1/status", &report.to_string());
    let durable = answer.json()["durable"] == true;
    assert_eq!(answer.status.as_u16(), if durable { 200 } else { 202 }, "{}", answer.body);
    durable
}

/// The same until it is durable: a disk that others write to may take more than the second that an answer waits.
pub(crate) fn report_durably(agent: &Agent, name: &str) {
    until("the report is durable", || report_array(agent, name).then_some(()));
}

/// The arrays that are known to be degraded.
pub(crate) fn arrays(agent: &Agent) -> Vec<String> {
    let problems = agent.condition("RaidProblem").map(|condition| condition.problems).unwrap_or_default();
    let mut arrays: Vec<String> = problems.into_iter().filter_map(|problem| problem.subject).collect();
    arrays.sort();
    arrays
}

/// Waits until the agent reports this reason for its state directory.
pub(crate) fn wait_save_error(agent: &Agent, reason: &str) -> ConditionView {
    until(&format!("{UNWRITABLE} for {reason}"), || {
        let condition = agent.condition(UNWRITABLE)?;
        (condition.status.as_str() == "True" && condition.reason.as_str() == reason).then_some(condition)
    })
}

/// Waits until all is saved again.
pub(crate) fn wait_saved(agent: &Agent) {
    agent.wait_condition(UNWRITABLE, "False");
}
