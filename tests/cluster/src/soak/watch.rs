//! Looks every second at all Nodes, records and BMCs, and judges what is new there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    act::{Act, Planted, Verdict, judge},
    say,
};
use crate::{api::Api, cluster::Cluster, worker::OrderLog};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A condition is False on the Node half a minute after it is over, and some begin that late.
const AFTERMATH: Duration = Duration::from_secs(60);
pub(super) const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/pods";
/// Off has to be read so often before pods are released.
const READ_OFF: usize = 2;
pub(super) const RECORDS: &str = "/apis/nodewell.dev/v1alpha1/nodefences";

/// What should not have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub at: Timestamp,
    pub node: String,
    /// What was done or reported, with a condition's reason and message, and how Ready the node was.
    pub what: String,
    pub verdict: Verdict,
    /// What was planted then.
    pub planted: String,
}

impl Finding {
    /// Whether a run that has it is no proof.
    #[must_use]
    pub fn counts(&self) -> bool {
        matches!(self.verdict, Verdict::Wrong | Verdict::False)
    }

    /// A line of the report, and of progress.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { at, node, what, verdict, planted } = self;
        let verdict = match verdict {
            Verdict::Wrong => "WRONG ACT",
            Verdict::False => "FALSE REPORT",
            Verdict::Outer => "of the outer machine",
            Verdict::Caused => "caused",
        };
        format!("{verdict}: {at} {node}: {what}; planted was: {planted}")
    }
}

/// Ends when dropped.
#[derive(Debug)]
pub(super) struct Watch {
    state: Arc<Mutex<State>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// What is there already has no cause, and is not judged.
    pub(super) fn start(cluster: &Cluster) -> Self {
        let eyes = Eyes {
            api: cluster.api().clone(),
            logs: cluster.workers().iter().map(|worker| (worker.name().to_owned(), worker.order_log())).collect(),
        };
        let state = Arc::new(Mutex::new(State::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        while !eyes.look(&state) {
            thread::sleep(LOOK_EVERY);
        }
        state.lock().unwrap_or_else(PoisonError::into_inner).findings.clear();
        let (seen, ends) = (Arc::clone(&state), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            let mut printed = 0;
            while !ends.load(Ordering::Relaxed) {
                thread::sleep(LOOK_EVERY);
                eyes.look(&seen);
                printed = print_new(&seen, printed);
            }
        });
        Self { state, is_over, thread: Some(thread) }
    }

    /// From here on it may be the cause of what is done.
    pub(super) fn plant(&self, planted: Planted) {
        let mut state = self.lock();
        state.plant(planted);
    }

    /// What was planted is over: the cluster is as it was before.
    pub(super) fn over(&self) {
        self.lock().over_since = Some(Instant::now());
    }

    /// What should not have been, until now.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.lock().findings.clone()
    }

    /// Whether it looks.
    pub(super) fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// How many findings count, until now.
    pub(super) fn wrong(&self) -> usize {
        self.lock().findings.iter().filter(|finding| finding.counts()).count()
    }

    /// How many acts of power were ordered that a planted fault has caused, and how many looks there were.
    pub(super) fn counts(&self) -> (u64, u64) {
        let state = self.lock();
        (state.powers_off, state.looks)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Prints at once what counts of the findings after the first `printed`: the report may be hours away. Gives how many
/// findings there are.
fn print_new(state: &Mutex<State>, printed: usize) -> usize {
    let new: Vec<Finding> = {
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.findings.iter().skip(printed).cloned().collect()
    };
    // Without the lock: a terminal may be stopped.
    let counted = new.iter().filter(|finding| finding.counts());
    counted.for_each(|finding| say(format!("soak: {}", finding.line())));
    printed + new.len()
}

/// What it looks with.
#[derive(Debug)]
struct Eyes {
    api: Api,
    logs: BTreeMap<String, OrderLog>,
}

impl Eyes {
    /// Whether Nodes, records and pods could be read.
    fn look(&self, state: &Mutex<State>) -> bool {
        // Asked without the lock: an API server that is away is waited for.
        let shown = self.shown();
        let orders: Vec<_> = self.logs.iter().map(|(node, log)| (node.clone(), log.read())).collect();
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.looks += 1;
        for (node, orders) in orders {
            let texts = orders.iter().map(|order| order.text.as_str());
            state.ordered(&node, &texts.collect::<Vec<_>>());
        }
        // What cannot be read is as it was.
        shown.inspect(|shown| state.shown(shown)).is_some()
    }

    fn shown(&self) -> Option<BTreeMap<String, Shown>> {
        Some(shown(&self.api.get(NODES)?, &self.api.get(RECORDS)?, &self.api.get(PODS)?))
    }
}

/// What a look at a Node and its record showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    pub acts: BTreeSet<Act>,
    /// The status of its condition Ready.
    pub ready: String,
    /// Names of the pods bound to it that are not being deleted, by their UIDs.
    pub pods: BTreeMap<String, String>,
    /// Of each condition.
    pub whys: BTreeMap<String, Why>,
}

/// What a condition gives as its cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Why {
    pub reason: String,
    pub message: String,
}

/// Of each Node by its name; copies of records that ended have other names.
#[must_use]
pub fn shown(nodes: &Value, records: &Value, pods: &Value) -> BTreeMap<String, Shown> {
    let items = |list: &Value| list["items"].as_array().cloned().unwrap_or_default();
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let recorded: BTreeSet<String> = items(records).iter().map(name).collect();
    let pods = items(pods);
    let pods_of = |node: &str| {
        let there = pods.iter().filter(|pod| pod["spec"]["nodeName"] == node);
        let there = there.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        there.map(|pod| (pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned(), name(pod))).collect()
    };
    let of_node = |node: Value| {
        let name = name(&node);
        let mut acts = Act::shown(&node);
        acts.extend(recorded.contains(&name).then_some(Act::Record));
        let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        let ready = ready.and_then(|ready| ready["status"].as_str()).unwrap_or("not there").to_owned();
        let pods = pods_of(&name);
        let whys = conditions.iter().map(why).collect();
        (name, Shown { acts, ready, pods, whys })
    };
    items(nodes).into_iter().map(of_node).collect()
}

/// Of one condition, by its type.
fn why(condition: &Value) -> (String, Why) {
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    (text("type"), Why { reason: text("reason"), message: text("message") })
}

/// What was seen, and what is planted.
#[derive(Debug, Default)]
pub struct State {
    pub planted: Option<Planted>,
    pub over_since: Option<Instant>,
    pub findings: Vec<Finding>,
    seen: BTreeMap<String, Shown>,
    /// How many lines of a BMC's log were read.
    read: BTreeMap<String, usize>,
    powers_off: u64,
    looks: u64,
    /// What BMCs were ordered since the last fault was planted, and how often each was asked since it was last ordered
    /// to turn its node off, until it was to turn it on.
    ordered: BTreeSet<(String, Act)>,
    asked: BTreeMap<String, usize>,
    /// Which were turned on again, and how many looks ago.
    turned_on: BTreeMap<String, u32>,
}

impl State {
    /// From here on it may be the cause of what is done.
    pub fn plant(&mut self, planted: Planted) {
        (self.planted, self.over_since) = (Some(planted), None);
        self.ordered.clear();
        self.asked.clear();
        self.turned_on.clear();
    }

    /// Nothing was seen yet, and this is planted.
    #[must_use]
    pub fn with(planted: Option<Planted>) -> Self {
        Self { planted, ..Self::default() }
    }

    /// All that a BMC was ordered or asked since its start.
    pub fn ordered(&mut self, node: &str, texts: &[&str]) {
        let read = self.read.insert(node.to_owned(), texts.len()).unwrap_or_default();
        for text in texts.iter().skip(read) {
            let Some(act) = Act::ordered(text) else {
                self.count_asked(node, text);
                continue;
            };
            if act == Act::PowerOn {
                self.turned_on.insert(node.to_owned(), 0);
            } else {
                self.asked.remove(node);
                self.turned_on.remove(node);
            }
            self.powers_off += u64::from(act == Act::PowerOff);
            self.begun(node, &act);
            if !self.ordered.insert((node.to_owned(), act.clone())) {
                self.find(node, &format!("{act}, for the second time"), Verdict::Wrong);
            }
        }
    }

    /// What is read after it was turned on tells nothing of its being off.
    fn count_asked(&mut self, node: &str, text: &str) {
        if text.starts_with("get power") && !self.turned_on.contains_key(node) {
            *self.asked.entry(node.to_owned()).or_default() += 1;
        }
    }

    /// What there is now; what began since the last look is judged.
    pub fn shown(&mut self, now: &BTreeMap<String, Shown>) {
        let before = std::mem::replace(&mut self.seen, now.clone());
        for (node, shown) in now {
            let known = before.get(node).map(|shown| &shown.acts);
            let new = shown.acts.iter().filter(|act| known.is_none_or(|known| !known.contains(act)));
            new.for_each(|act| self.begun(node, act));
        }
        let there: BTreeSet<&String> = now.values().flat_map(|shown| shown.pods.keys()).collect();
        for (node, shown) in &before {
            let gone = shown.pods.iter().filter(|(uid, _)| !there.contains(uid));
            gone.for_each(|(_, pod)| self.begun(node, &Act::PodDeleted(pod.clone())));
        }
        self.turned_on.values_mut().for_each(|looks| *looks += 1);
    }

    fn begun(&mut self, node: &str, act: &Act) {
        let why = self.why(node, act);
        let verdict = judge(act, node, self.cause().as_ref());
        let verdict = verdict.because(act, why.as_ref().map_or("", |why| why.reason.as_str()));
        if verdict != Verdict::Caused {
            let why = why.map_or_else(String::new, |why| format!(": {}: {}", why.reason, why.message));
            self.find(node, &format!("{act}{why}"), verdict);
        }
        if *act == Act::OutOfService {
            self.released(node, act);
        }
    }

    /// Of a condition, as the newest look has it.
    fn why(&self, node: &str, act: &Act) -> Option<Why> {
        let Act::Condition(name) = act else { return None };
        self.seen.get(node)?.whys.get(name).cloned()
    }

    fn released(&mut self, node: &str, act: &Act) {
        let asked = self.asked.get(node).copied().unwrap_or_default();
        if asked < READ_OFF {
            self.find(node, &format!("{act} after its BMC was asked {asked} times"), Verdict::Wrong);
        }
        // An order that the look before this one read may be later than what that look saw of the Node.
        if self.turned_on.get(node).is_some_and(|looks| *looks > 1) {
            self.find(node, &format!("{act} after it was turned on again"), Verdict::Wrong);
        }
    }

    fn find(&mut self, node: &str, what: &str, verdict: Verdict) {
        let planted = self.cause();
        let ready = self.seen.get(node).map_or("unknown", |shown| &shown.ready);
        self.findings.push(Finding {
            at: Timestamp::now(),
            node: node.to_owned(),
            what: format!("{what} (Ready is {ready})"),
            verdict,
            planted: planted.map_or_else(|| "nothing".to_owned(), |planted| planted.to_string()),
        });
    }

    fn cause(&self) -> Option<Planted> {
        let planted = self.planted.clone()?;
        match self.over_since {
            None => Some(planted),
            Some(since) if since.elapsed() < AFTERMATH => Some(Planted { is_over: true, ..planted }),
            Some(_) => None,
        }
    }
}
