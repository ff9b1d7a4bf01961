//! One granted peer that does its worst, for `NODEWELL_HOSTILE_MINUTES` (an hour is the proof; seconds without it):
//! each fault that root reports and each of the kernel's reaches its condition and its Event, in the long proof within
//! 5 s, and no counter is wrong. Half of the faults are in condition types that the peer does not hold: there the
//! Node's condition turns by the fault alone. The others are in the one that it holds, which is True by the peer all
//! the time: there the condition is the agent's account of it.

mod counters;
mod fault;
mod latency;

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{
    agent::Agent,
    cluster::Cluster,
    intruder::{Flood, GRANTED, Intruder},
    suite::{Need, Suite},
    wait::until,
};

use crate::api_conditions::{plan_on, wait_published};
use counters::number;
use fault::Fault;
use latency::Latency;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("hostile_peer").case_with(&[Need::Root], "delays_no_fault_of_others", delays_no_fault_of_others);
}

const HOSTILE: Intruder = Intruder { uid: 471_300, capabilities: &[] };
/// As many as one peer may have.
const DAEMONS: usize = 64;
const NODE: &str = "hostile-peer";
/// What is promised; the ordinary run decides nothing by time.
const REACHED: Duration = Duration::from_secs(5);
/// Half of them in types that the peer does not hold; so few that in the ordinary run none of these turns twice, which
/// the agent would hold back for a while.
const FEW_FAULTS: usize = 12;

/// How many faults, and how long between two of them.
struct Length {
    faults: usize,
    pause: Duration,
    is_proof: bool,
}

impl Length {
    fn asked_for() -> Self {
        let Ok(minutes) = env::var("NODEWELL_HOSTILE_MINUTES") else {
            return Self { faults: FEW_FAULTS, pause: Duration::from_millis(200), is_proof: false };
        };
        let minutes = minutes.parse().expect("NODEWELL_HOSTILE_MINUTES is a number of minutes");
        Self { faults: 100, pause: Duration::from_mins(minutes) / 100, is_proof: true }
    }
}

fn delays_no_fault_of_others() {
    let cluster = Cluster::double();
    let grant = format!(
        "[[grant]]\nuser = \"{}\"\nconditions = [\"{GRANTED}\"]\nevents = true\nrate = \"100/s\"\n",
        HOSTILE.uid
    );
    let plan = plan_on(&cluster, NODE).rules(&fault::rules()).config(&grant);
    fs::set_permissions(plan.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let agent = plan.start();
    fault::types().iter().for_each(|name| _ = wait_published(&cluster, NODE, name, "False"));
    let begun = Instant::now();
    let mut flood = HOSTILE.flood(&agent.socket(), DAEMONS);
    until("its reports count", || {
        number(&agent.metrics(), "problem_counter", &[("reason", "Others")]).filter(|count| *count > 0)
    });
    let length = Length::asked_for();
    let faults: Vec<Fault> = (0..length.faults).map(Fault::numbered).collect();
    let latencies = plant_all(&cluster, &agent, &mut flood, &faults, length.pause);
    let refused = wait_refused(&mut flood);
    eprintln!("{}    the peer was answered {refused:?}", latency::table(&latencies));
    counters::check(&cluster, &agent, &faults, &refused, begun);
    if length.is_proof {
        latency::judge(&latencies, REACHED);
    }
}

/// One after the other, spread over the whole attack, which goes on beside each.
fn plant_all(cluster: &Cluster, agent: &Agent, flood: &mut Flood, faults: &[Fault], pause: Duration) -> Vec<Latency> {
    let mut answered = 0;
    let mut latencies = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let next = Instant::now() + pause;
        latencies.push(fault.follow(cluster, agent));
        if number + 1 == faults.len() {
            // The peer's own faults change the text all the time, so that the Node's waits for its turn.
            until("the Node's condition names the last fault", || fault.is_published(cluster).then_some(()));
        }
        fault.end(agent);
        thread::sleep(next.saturating_duration_since(Instant::now()));
        answered =
            until("the attack goes on", || Some(flood.answers().values().sum::<u64>()).filter(|now| *now > answered));
    }
    latencies
}

/// What the peer was answered, once it has been refused for all of it: what it had no right to, what was too much, what
/// was no report, and connections.
fn wait_refused(flood: &mut Flood) -> BTreeMap<u16, u64> {
    until("the peer is refused in every way", || {
        let answers = flood.answers();
        [400, 403, 409, 429].iter().all(|code| answers.contains_key(code)).then_some(answers)
    })
}
