//! The real agent inside a guest: it runs as root without a cluster, and is asked as a person would ask it.

use nodewell_model::view::{ConditionView, EventView, HardwareView, NodeView, ProblemView};

use crate::guest::Guest;

/// The path of its log is also in `guest.rs`.
const START: &str = "
setsid nodewelld --standalone --node-name guest --metrics-address off --state-dir /var/lib/nodewell \
  --config /etc/nodewell.toml </dev/null >>/run/agent.log 2>&1 &
";

impl Guest {
    /// Starts the agent with this configuration, and waits until it answers.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn start_agent(&self, config: &str) {
        self.write("/etc/nodewell.toml", config);
        self.sh(START);
        self.until("the agent answers", || self.status());
    }

    /// `nodewell status --json`, if the agent answers.
    #[must_use]
    pub fn status(&self) -> Option<NodeView> {
        let outcome = self.run("nodewell status --json");
        (outcome.code == 0).then(|| serde_json::from_str(&outcome.stdout).unwrap())
    }

    /// One condition, if the agent answers and has it.
    #[must_use]
    pub fn condition(&self, name: &str) -> Option<ConditionView> {
        let conditions = self.status()?.conditions;
        conditions.into_iter().map(std::sync::Arc::unwrap_or_clone).find(|one| one.condition.as_str() == name)
    }

    /// Waits until condition `name` has `status`.
    #[track_caller]
    pub fn wait_condition(&self, name: &str, status: &str) -> ConditionView {
        self.until(&format!("{name} is {status}"), || {
            self.condition(name).filter(|condition| condition.status.as_str() == status)
        })
    }

    /// Waits until condition `name` is held by a problem with this reason.
    #[track_caller]
    pub fn wait_problem(&self, name: &str, reason: &str) -> ProblemView {
        self.until(&format!("{name} is held by {reason}"), || {
            self.condition(name)?.problems.into_iter().find(|problem| problem.reason.as_str() == reason)
        })
    }

    /// Waits until the devices of `class` are as they are `sought`.
    #[track_caller]
    pub fn wait_hardware(&self, class: &str, sought: impl Fn(&HardwareView) -> bool) -> HardwareView {
        self.until(&format!("the {class} are as they should"), || {
            self.status()?.hardware.into_iter().find(|one| one.class == class && sought(one))
        })
    }

    /// Waits until something with this reason has happened that is `sought`.
    #[track_caller]
    pub fn wait_event(&self, reason: &str, sought: impl Fn(&EventView) -> bool) -> EventView {
        self.until(&format!("an event {reason}"), || {
            self.events()?.into_iter().find(|event| event.reason.as_str() == reason && sought(event))
        })
    }

    /// `nodewell events --json`, if the agent answers.
    #[must_use]
    pub fn events(&self) -> Option<Vec<EventView>> {
        serde_json::from_str(&self.run("nodewell events --json").stdout).ok()
    }
}
