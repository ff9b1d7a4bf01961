//! Runs of a node's agents: acts, readings of the power, and those of the preflight. There the BMC's own answer to the controller is
//! enough, for an agent is a start of Python; but one that is never run is found broken when it is needed.

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    time::Duration,
};

use nodewell_reconcile::{cluster::Configuration, lease_deadline::LeaseDeadline, power::READING_TIMEOUT};
use nodewell_remediation::{
    action::Failed,
    facts::{ConditionStatus, FENCE_READY, Node},
    method::{AgentAction, ValidatedMethod, ValidatedMethods},
    snapshot::{Level, PowerState},
    time::Moment,
};

use super::{By, NativePower, Outcome, States, together};
use crate::{
    agent::{Answer, Options},
    identity::Protocol,
};

/// In the preflight an agent is run once in so long for each method, and at once for another configuration.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What the BMCs of a level report of the power when the controller itself asks them, by method.
pub(super) type Readings = BTreeMap<String, PowerState>;

impl<C: Configuration> NativePower<C> {
    pub(super) async fn run(
        &self,
        node: &Node,
        call: &ValidatedMethod,
        action: AgentAction,
        lease_deadline: &LeaseDeadline,
    ) -> Result<(), Failed> {
        let options = self.options(node, call).await.map_err(Failed::NotBegun)?;
        let done = self.agents.perform(call, action, &options, lease_deadline).await;
        if !matches!(done, Err(Failed::NotBegun(_))) {
            self.count_agent(node, call, done.is_ok());
        }
        done
    }

    /// What the method's agent reports.
    pub(super) async fn status(&self, node: &Node, call: &ValidatedMethod) -> Answer {
        let options = match self.options(node, call).await {
            Ok(options) => options,
            Err(why) => return Answer::none(why),
        };
        self.report_question(call, &call.agent, "for the power");
        // One that is given up may have been refused as well.
        self.memory().logins.agent_failed(&node.name, &call.name, self.now());
        let answer = self.agents.status(call, &options).await;
        self.count_agent(node, call, answer.state != PowerState::Unknown);
        answer
    }

    /// The state that each method of the level reports by its agent, all of them merged, and the first complaint.
    pub(super) async fn states(&self, node: &Node, validated: &ValidatedMethods, level: Level) -> States {
        let mut states = States::none();
        for call in validated.power(level, AgentAction::Status) {
            let Answer { state, why, .. } = self.status(node, call).await;
            states.add(call, state, why);
        }
        states.merged()
    }

    /// The same for the preflight alone, which releases nothing: the BMC's own answer stands for its agent's, and the agent is
    /// run beside it when it is due.
    pub(super) async fn preflight_states(
        &self,
        node: &Node,
        validated: &ValidatedMethods,
        level: Level,
        readings: &Readings,
    ) -> States {
        let mut states = States::none();
        for call in validated.power(level, AgentAction::Status) {
            let native = readings.get(&call.name).copied().unwrap_or(PowerState::Unknown);
            let now = self.runner.now();
            if native != PowerState::Unknown && !self.memory().runs.is_due(node, call, now) {
                states.add(call, native, None);
                continue;
            }
            let Answer { state, why, took } = self.status(node, call).await;
            let (state, why) = match agreed(call, native, state) {
                Ok(()) => (state, why),
                Err(why) => (PowerState::Unknown, Some(why)),
            };
            self.memory().runs.ran(node, call, now, (state != PowerState::Unknown).then_some(took));
            states.add(call, state, why);
        }
        self.complain_of_slowness(node, validated, level, &mut states);
        states.merged()
    }

    /// Agents that answer, and later than a reading is waited for: what they report would never be believed.
    fn complain_of_slowness(&self, node: &Node, validated: &ValidatedMethods, level: Level, states: &mut States) {
        let calls = || validated.power(level, AgentAction::Status);
        let mut memory = self.memory();
        let took: Duration = calls().map(|call| memory.runs.took(node, call)).sum();
        if took <= READING_TIMEOUT || states.complaint.is_some() {
            return;
        }
        // The next preflight runs them again.
        calls().for_each(|call| memory.runs.ran(node, call, Moment::default(), None));
        let names: Vec<&str> = calls().map(|call| call.name.as_str()).collect();
        states.complaint = Some(format!(
            "{} took {} s to report it, and a reading is waited for {} s; use a faster way, or fewer methods in one level",
            names.join(", "),
            took.as_secs(),
            READING_TIMEOUT.as_secs()
        ));
    }

    /// The method's options by the account that the BMC took last.
    async fn options(&self, node: &Node, call: &ValidatedMethod) -> Result<Options, String> {
        let accounts = self.accounts(&node.name, call).await?;
        let role = self.memory().logins.role(&accounts.asked(node, &call.name));
        Ok(accounts.into_options(role))
    }

    fn count_agent(&self, node: &Node, call: &ValidatedMethod, has_answer: bool) {
        self.count(&node.name, call, By::Agent, if has_answer { Outcome::Answered } else { Outcome::Failed });
        let now = self.now();
        match has_answer {
            true => self.memory().logins.agent_answered(&node.name, &call.name),
            false => self.memory().logins.agent_failed(&node.name, &call.name, now),
        }
    }

    pub(super) fn count(&self, node: &str, call: &ValidatedMethod, by: By, outcome: Outcome) {
        let kind = super::Kind { by, protocol: Protocol::of(&call.agent), outcome };
        self.logins.count(node, &call.name, kind, self.runner.now());
    }
}

/// An agent that reads another machine than the controller does, or reads it wrongly, cannot fence it.
fn agreed(call: &ValidatedMethod, native: PowerState, agent: PowerState) -> Result<(), String> {
    if native == agent || [native, agent].contains(&PowerState::Unknown) {
        return Ok(());
    }
    Err(format!("the BMC itself reports {native:?} and {} {agent:?}; they may ask different machines", call.agent))
}

/// When agents were run in a preflight.
#[derive(Debug, Default)]
pub(super) struct AgentRuns {
    /// Those that have brought a state on this host.
    proven: BTreeSet<String>,
    methods: BTreeMap<(String, String), Run>,
}

#[derive(Debug)]
struct Run {
    /// Of all that the agent is given but secrets.
    call: u64,
    again: Moment,
    took: Duration,
}

impl AgentRuns {
    /// A leader that begins takes over what `FenceReady` reports once the agent has run on this host: each node's turn comes within
    /// a day, at another moment for each leader, so that it comes under many leaders as often as under one.
    fn is_due(&mut self, node: &Node, call: &ValidatedMethod, now: Moment) -> bool {
        let of_call = hash(&(&call.agent, &call.options, &call.secret));
        let key = (node.name.clone(), call.name.clone());
        if let Some(run) = self.methods.get(&key) {
            return run.call != of_call || now >= run.again;
        }
        let is_ready = node.condition(FENCE_READY).is_some_and(|there| there.status == ConditionStatus::True);
        if !is_ready || !self.proven.contains(&call.agent) {
            return true;
        }
        let jitter = hash(&(&key, now.0.as_nanos())) % DAY.as_secs();
        let again = now.plus(Duration::from_secs(jitter));
        self.methods.insert(key, Run { call: of_call, again, took: Duration::ZERO });
        false
    }

    /// For so long, if it brought a state.
    fn ran(&mut self, node: &Node, call: &ValidatedMethod, now: Moment, took: Option<Duration>) {
        let key = (node.name.clone(), call.name.clone());
        let Some(took) = took else {
            self.methods.remove(&key);
            return;
        };
        self.proven.insert(call.agent.clone());
        let of_call = hash(&(&call.agent, &call.options, &call.secret));
        self.methods.insert(key, Run { call: of_call, again: now.plus(DAY), took });
    }

    /// How long it ran the last time; nothing, if it has not under this leader.
    fn took(&self, node: &Node, call: &ValidatedMethod) -> Duration {
        self.methods.get(&(node.name.clone(), call.name.clone())).map_or(Duration::ZERO, |run| run.took)
    }

    pub(super) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.methods.retain(|(node, _), _| is_there(node));
    }
}

impl States {
    fn none() -> Self {
        Self { all: PowerState::Unknown, each: Vec::new(), complaint: None }
    }

    fn add(&mut self, call: &ValidatedMethod, state: PowerState, why: Option<String>) {
        self.each.push((call.name.clone(), state));
        if self.complaint.is_none() {
            self.complaint = why.map(|why| format!("{}: {why}", call.name));
        }
    }

    fn merged(mut self) -> Self {
        let all: Vec<PowerState> = self.each.iter().map(|(_, state)| *state).collect();
        self.all = together(&all);
        self
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
