//! One fault of others than the peer: planted, followed to where it has to come through, and ended.

use jiff::Timestamp;
use nodewell_model::ConditionStatus;
use nodewell_tests::{agent::Agent, cluster::Cluster, intruder::GRANTED, wait::until};
use serde_json::{Value, json};

use super::{NODE, latency::Latency};
use crate::{api_conditions::wait_published, lines::TEST_RULES};

/// Condition types that the peer does not hold; an odd number, so that each has faults of the kernel's and of root's.
const OWN_TYPES: usize = 7;
const OWN: &str = "TestOwn";

/// Who reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Kernel,
    Root,
}

#[derive(Debug, Clone)]
pub(super) struct Fault {
    by: By,
    pub(super) condition: String,
    pub(super) reason: String,
    subject: String,
}

/// Those of the shared condition, and for each of the others one more of the same kind.
pub(super) fn rules() -> String {
    let own = |n: usize| {
        format!(
            r#"
[[condition]]
type = "{OWN}{n}"
healthy-reason = "{OWN}{n}IsHealthy"
healthy-message = "all is well"

[[rule]]
reason = "{OWN}{n}Fault"
type = "permanent"
condition = "{OWN}{n}"
source = "kmsg"
severity = "error"
pattern = '^test: own{n} fault on (?P<subject>\w+)'
clears = {{ pattern = '^test: own{n} end on (?P<subject>\w+)' }}
matches = [{{ text = "test: own{n} fault on a", subject = "a" }}]
ignores = ["a test: own{n} fault on a"]
recovers = ["test: own{n} end on a"]
"#
        )
    };
    (0..OWN_TYPES).fold(TEST_RULES.to_owned(), |all, n| all + &own(n))
}

/// All condition types of [`rules`].
pub(super) fn types() -> Vec<String> {
    own_types().chain([GRANTED.to_owned()]).collect()
}

/// Those that the peer does not hold.
pub(super) fn own_types() -> impl Iterator<Item = String> {
    (0..OWN_TYPES).map(|n| format!("{OWN}{n}"))
}

impl Fault {
    /// The kernel's and root's in turn, two in types that the peer does not hold, and two in the one that it does.
    pub(super) fn numbered(number: usize) -> Self {
        let by = if number.is_multiple_of(2) { By::Kernel } else { By::Root };
        let is_own = number % 4 < 2;
        let condition =
            if is_own { format!("{OWN}{}", (number / 4 * 2 + number % 2) % OWN_TYPES) } else { GRANTED.to_owned() };
        let (reason, subject) = match by {
            By::Kernel if is_own => (format!("{condition}Fault"), format!("sd{number}")),
            By::Kernel => ("TestFault".to_owned(), format!("sd{number}")),
            By::Root => ("RaidFailed".to_owned(), format!("md{number}")),
        };
        Self { by, condition, reason, subject }
    }

    /// Plants it, and waits until it has come through.
    pub(super) fn follow(&self, cluster: &Cluster, agent: &Agent) -> Latency {
        if self.is_own() {
            wait_published(cluster, NODE, &self.condition, "False");
        }
        let planted = self.plant(agent);
        let held = until(&format!("{self:?} is in the condition"), || self.is_held(agent).then(Timestamp::now));
        let condition = if self.is_own() { self.wait_turned(cluster) } else { held };
        wait_published(cluster, NODE, &self.condition, "True");
        let event = until(&format!("{self:?} is an Event"), || self.events(cluster).pop());
        let name = event["metadata"]["name"].as_str().unwrap_or_default();
        let event = cluster.as_double().event_arrived(name).unwrap();
        Latency::new(planted, condition, event)
    }

    fn is_own(&self) -> bool {
        self.condition != GRANTED
    }

    /// When the Node's condition turned by it: nothing else is wrong there.
    fn wait_turned(&self, cluster: &Cluster) -> Timestamp {
        until(&format!("{self:?} is in the Node's condition"), || self.is_published(cluster).then_some(()));
        cluster.as_double().condition_turned(NODE, &self.condition, "True").unwrap()
    }

    fn plant(&self, agent: &Agent) -> Timestamp {
        let planted = Timestamp::now();
        match self.by {
            By::Kernel => agent.kmsg().write(&self.line("fault")),
            By::Root => self.report(agent, true),
        }
        planted
    }

    pub(super) fn end(&self, agent: &Agent) {
        match self.by {
            By::Kernel => agent.kmsg().write(&self.line("end")),
            By::Root => self.report(agent, false),
        }
    }

    fn line(&self, what: &str) -> String {
        let own = self.condition.strip_prefix(OWN).map(|n| format!("own{n} ")).unwrap_or_default();
        format!("test: {own}{what} on {}", self.subject)
    }

    /// A report that holds until the next one: root's daemon has nothing to say in between.
    fn report(&self, agent: &Agent, status: bool) {
        let what = if status { "failed" } else { "is whole again" };
        let condition = json!({"type": self.condition, "status": status, "reason": self.reason, "subject": self.subject,
            "severity": "error", "transition": Timestamp::now().to_string(),
            "message": format!("{} {what}", self.subject)});
        let report = json!({"source": "raid", "ttl": 0, "conditions": [condition]});
        assert_eq!(agent.post("/v1/status", &report.to_string()).code(), 200, "root's own report");
    }

    /// Whether the agent's account of the condition has it.
    pub(super) fn is_held(&self, agent: &Agent) -> bool {
        agent.condition(&self.condition).is_some_and(|condition| {
            condition.status == ConditionStatus::True
                && condition.problems.iter().any(|problem| {
                    problem.reason.as_str() == self.reason && problem.subject.as_deref() == Some(self.subject.as_str())
                })
        })
    }

    /// Whether the Node's condition names it, before all others.
    pub(super) fn is_published(&self, cluster: &Cluster) -> bool {
        cluster.condition(NODE, &self.condition).is_some_and(|condition| {
            condition["status"] == "True" && condition["reason"] == self.reason && self.is_named_in(&condition)
        })
    }

    /// All Events about it.
    pub(super) fn events(&self, cluster: &Cluster) -> Vec<Value> {
        let mut events = cluster.events(NODE, &self.reason);
        events.retain(|event| self.is_named_in(event));
        events
    }

    fn is_named_in(&self, object: &Value) -> bool {
        let message = object["message"].as_str().unwrap_or_default();
        message.split(|c: char| !c.is_alphanumeric()).any(|word| word == self.subject)
    }
}
