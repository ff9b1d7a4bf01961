//! One granted peer that does its worst, for `NODEWELL_HOSTILE_MINUTES` (an hour is the proof; seconds without it):
//! each fault that root reports and each of the kernel's reaches its condition and its Event, in the long proof within
//! 5 s, and no counter is wrong. Half of the faults are in condition types that the peer does not hold: there the
//! Node's condition turns by the fault alone. The others are in the one that it holds, which is True by the peer all
//! the time: there the condition is the agent's account of it. `NODEWELL_BIN_DIR`, an absolute path, has it done to
//! other programs than those that cargo builds for the tests: `make build`'s, in `target/release`.

mod counters;
mod fault;
mod latency;

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use nix::unistd::geteuid;
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
use latency::Latencies;

pub(crate) fn list(suite: &mut Suite) {
    // A proof that was asked for must not be skipped: it would look as if it had passed.
    let needs: &'static [Need] = if env::var_os(MINUTES).is_some() { &[] } else { &[Need::Root] };
    suite.behaviour("hostile_peer").case_with(needs, "delays_no_fault_of_others", delays_no_fault_of_others);
}

const MINUTES: &str = "NODEWELL_HOSTILE_MINUTES";
/// What one type reports turns once in 14 faults, and the agent holds a relapse's end back for 30 s.
const LEAST_MINUTES: u64 = 6;
/// The agent's stdout has a line for each event, which would fill the disk within the hour; its own warnings are on
/// stderr.
const QUIET: [&str; 4] = ["sh", "-c", "exec \"$@\" >/dev/null", "sh"];

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
        let Ok(minutes) = env::var(MINUTES) else {
            return Self { faults: FEW_FAULTS, pause: Duration::from_millis(200), is_proof: false };
        };
        assert!(geteuid().is_root(), "{MINUTES}: it needs root");
        let minutes: u64 = minutes.parse().unwrap_or_else(|why| panic!("{MINUTES} is a number of minutes: {why}"));
        assert!(
            minutes >= LEAST_MINUTES,
            "{MINUTES} is {minutes}: in less than {LEAST_MINUTES} a type turns while the agent still holds it back"
        );
        Self { faults: 100, pause: Duration::from_mins(minutes) / 100, is_proof: true }
    }
}

fn delays_no_fault_of_others() {
    let length = Length::asked_for();
    let cluster = Cluster::double();
    let grant = format!(
        "[[grant]]\nuser = \"{}\"\nconditions = [\"{GRANTED}\"]\nevents = true\nrate = \"100/s\"\n",
        HOSTILE.uid
    );
    let quiet = QUIET.map(OsString::from).to_vec();
    let plan = plan_on(&cluster, NODE).rules(&fault::rules()).config(&grant).wrapped_in(quiet);
    fs::set_permissions(plan.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let agent = plan.start();
    fault::types().iter().for_each(|name| _ = wait_published(&cluster, NODE, name, "False"));
    let begun = Instant::now();
    let mut flood = HOSTILE.flood(&agent.socket(), DAEMONS);
    until("its reports count", || {
        number(&agent.metrics(), "problem_counter", &[("reason", "Others")]).filter(|count| *count > 0)
    });
    let faults: Vec<Fault> = (0..length.faults).map(Fault::numbered).collect();
    let mut latencies = Latencies::default();
    plant_all(&cluster, &agent, &mut flood, &faults, &length, &mut latencies);
    let refused = wait_refused(&mut flood);
    eprintln!("    the peer was answered {refused:?}");
    counters::check(&cluster, &agent, &faults, &refused, begun);
    if length.is_proof {
        latencies.judge(REACHED);
    }
}

/// One after the other, spread over the whole attack, which goes on beside each.
fn plant_all(
    cluster: &Cluster,
    agent: &Agent,
    flood: &mut Flood,
    faults: &[Fault],
    length: &Length,
    latencies: &mut Latencies,
) {
    let mut answered = 0;
    for (number, fault) in faults.iter().enumerate() {
        let next = Instant::now() + length.pause;
        let latency = fault.follow(cluster, agent);
        if length.is_proof {
            eprintln!("    {:>3} {} of {}: {latency}", number + 1, fault.reason, fault.condition);
        }
        latencies.push(latency);
        if number + 1 == faults.len() {
            // The peer's own faults change the text all the time, so that the Node's waits for its turn.
            until("the Node's condition names the last fault", || fault.is_published(cluster).then_some(()));
        }
        fault.end(agent);
        thread::sleep(next.saturating_duration_since(Instant::now()));
        answered =
            until("the attack goes on", || Some(flood.answers().values().sum::<u64>()).filter(|now| *now > answered));
    }
}

/// What the peer was answered, once it has been refused for all of it: what it had no right to, what was too much, what
/// was no report, and connections.
fn wait_refused(flood: &mut Flood) -> BTreeMap<u16, u64> {
    until("the peer is refused in every way", || {
        let answers = flood.answers();
        [400, 403, 409, 429].iter().all(|code| answers.contains_key(code)).then_some(answers)
    })
}
