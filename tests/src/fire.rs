//! An agent that is killed at random moments while lines arrive in its kernel log: every line must be counted once, and
//! nothing may look healthier for it.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use hyper::Method;
use nodewell_model::problem::stable_hash;
use serde_json::Value;

use crate::{agent::Plan, cluster::Cluster, http::over_socket, wait::until_within};

/// Each is a disk of its own.
const SUBJECTS: u64 = 6;
/// The longest life of an agent under fire: from before its first line of code to long after its first request.
const LONGEST_LIFE_MILLIS: u64 = 120;
/// Limits on writes start from zero with the agent: the last reports need not wait for them.
const LAST_LIFE: Duration = Duration::from_secs(4);
/// For the last reports.
const PATIENCE: Duration = Duration::from_secs(180);

/// Two things that a line can report: a fault that lasts, and something that happened.
pub const RULES: &str = r#"
[[condition]]
type = "FireUnhealthy"
healthy-reason = "FireIsHealthy"
healthy-message = "all is well"

[[rule]]
reason = "FireFault"
type = "permanent"
condition = "FireUnhealthy"
source = "kmsg"
severity = "error"
pattern = '^fire: fault on (?P<subject>\w+)'
clears = { pattern = '^fire: end on (?P<subject>\w+)' }
matches = [{ text = "fire: fault on a", subject = "a" }]
ignores = ["a fire: fault on a"]
recovers = ["fire: end on a"]

[[rule]]
reason = "FireSeen"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^fire: seen on (?P<subject>\w+)'
matches = [{ text = "fire: seen on a", subject = "a" }]
ignores = ["a fire: seen on a"]
"#;

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toll {
    /// How often the agent was killed.
    pub kills: u64,
    /// Lines that reported something that happened, and how many of them the API server counts.
    pub seen: u64,
    pub seen_counted: u64,
    /// Lines that reported the fault, and how many of them the ledger counts.
    pub faults: u64,
    pub faults_counted: u64,
    /// Starts of the fault that the API server knows; there is one for each subject.
    pub starts: u64,
    pub starts_counted: u64,
    /// How often the Node looked healthier than it was.
    pub looked_healthier: u64,
}

impl Toll {
    /// Occurrences that are missing or too many.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.seen.abs_diff(self.seen_counted)
            + self.faults.abs_diff(self.faults_counted)
            + self.starts.abs_diff(self.starts_counted)
            + self.looked_healthier
    }
}

/// How often an agent is killed; the same seed makes the same run, as far as clocks allow.
#[derive(Debug)]
pub struct Fire {
    pub kills: u64,
    pub seed: u64,
}

/// Kills the agent of `plan`, which has [`RULES`], as `fire` orders; the double is away in a fourth of its lives.
///
/// # Panics
/// If the agent cannot be started.
#[must_use]
pub fn under_fire(cluster: &Cluster, node: &str, plan: &Plan, fire: &Fire) -> Toll {
    let Fire { kills, seed } = *fire;
    let mut toll = Toll { kills, starts: SUBJECTS, ..Toll::default() };
    let mut jitter = Jitter(seed);
    let mut knows = false;
    for _ in 0..kills {
        // A real one takes seconds to come back.
        let outage = cluster.is_double() && jitter.below(4) == 0;
        if outage {
            cluster.stop();
        }
        let mut process = plan.launch();
        let end = Instant::now() + Duration::from_millis(jitter.below(LONGEST_LIFE_MILLIS));
        while Instant::now() < end {
            if jitter.below(3) == 0 {
                toll.write(plan, &mut jitter);
            }
            thread::sleep(Duration::from_millis(jitter.below(12)));
        }
        process.kill();
        if outage {
            cluster.start_again();
        }
        let status = cluster.condition(node, "FireUnhealthy").map(|condition| condition["status"].clone());
        knows |= status == Some("True".into());
        toll.looked_healthier += u64::from(knows && status != Some("True".into()));
    }
    (0..SUBJECTS).for_each(|disk| toll.fault(plan, disk));
    toll.wait_delivered(cluster, node, plan);
    toll
}

impl Toll {
    fn write(&mut self, plan: &Plan, jitter: &mut Jitter) {
        let disk = jitter.below(SUBJECTS);
        if jitter.below(2) == 0 {
            return self.fault(plan, disk);
        }
        self.seen += 1;
        plan.kmsg().write(&format!("fire: seen on d{disk}"));
    }

    fn fault(&mut self, plan: &Plan, disk: u64) {
        self.faults += 1;
        plan.kmsg().write(&format!("fire: fault on d{disk}"));
    }

    /// Lets the agent report what it has to report.
    fn wait_delivered(&mut self, cluster: &Cluster, node: &str, plan: &Plan) {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut process = plan.launch();
            thread::sleep(LAST_LIFE);
            self.faults_counted = faults(&plan.folder().join("socket"));
            process.kill();
            self.seen_counted = counted(&cluster.events(node, "FireSeen"));
            self.starts_counted = cluster.events(node, "FireFault").len() as u64;
            if self.wrong() == 0 || Instant::now() > end {
                return;
            }
        }
    }
}

fn counted(events: &[Value]) -> u64 {
    events.iter().filter_map(|event| event["count"].as_u64()).sum()
}

/// How many faults the account of a running agent counts.
fn faults(socket: &Path) -> u64 {
    let problems = until_within(PATIENCE, "the account of the agent", || {
        let answer = over_socket(socket, Method::GET, "/v1/problems", "")?;
        serde_json::from_str::<Vec<Value>>(&answer.body).ok()
    });
    problems.iter().filter(|problem| problem["reason"] == "FireFault").filter_map(|one| one["count"].as_u64()).sum()
}

/// Numbers that look random.
struct Jitter(u64);

impl Jitter {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        stable_hash(&[self.0.to_le_bytes()]) % limit
    }
}
