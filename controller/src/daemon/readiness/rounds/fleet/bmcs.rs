//! The BMCs of the fleet, and the processes that ask them.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;
use nodewell_power::native::logins::{Account, Asked, Logins, Role};
use nodewell_reconcile::cache::Limits;
use serde_json::json;
use tokio::time::timeout;

use super::super::*;
use crate::{daemon::readiness::looks, kube::convert};

const PACE: Pace = Pace { interval: Duration::from_secs(600), at_once: 16 };
const LOCKED_AFTER: usize = 3;
const LOCK_WINDOW: Duration = Duration::from_secs(300);
/// Where there are further levels.
const ASKED_FOR: Duration = Duration::from_secs(10);
pub(super) const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
pub(super) struct Bmc {
    /// Which password it takes.
    pub(super) password: u64,
    pub(super) is_dead: bool,
    /// It refuses a login after longer than it is asked for.
    pub(super) is_late: bool,
    pub(super) refused: Vec<Moment>,
    /// It locked the account once.
    was_locked: bool,
    logins: Vec<Moment>,
    unready_since: Option<Moment>,
    longest_unready: Duration,
}

/// The Secret that all of them share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    pub(super) current: u64,
    previous: Option<u64>,
    version: u32,
}

/// What a process sees of a login.
enum Answer {
    Taken,
    Refused,
    /// It was given up before there was one.
    Late,
    /// Nothing was sent.
    Away,
}

pub(super) struct Fleet {
    clock: Clock,
    cache: Cache,
    pub(super) bmcs: RefCell<Vec<Bmc>>,
    pub(super) secret: Cell<Shared>,
}

/// One process: what it has learnt ends with it.
struct Leader<'a> {
    fleet: &'a Fleet,
    logins: RefCell<Logins>,
    /// By node: the version of the Secret by which it was asked, and that of the last look.
    seen: RefCell<BTreeMap<String, (u32, u32)>>,
    /// One login to a BMC at a time.
    turns: Vec<tokio::sync::Mutex<()>>,
}

impl Fleet {
    pub(super) fn new(size: usize) -> Self {
        let clock = Clock::counted(Timestamp::UNIX_EPOCH);
        let cache = Cache::new(clock, Limits::default());
        let bmcs = vec![Bmc { password: 1, ..Bmc::default() }; size];
        let secret = Shared { current: 1, previous: None, version: 1 };
        let fleet = Self { clock, cache, bmcs: bmcs.into(), secret: secret.into() };
        (0..size).for_each(|at| fleet.write(at, None));
        fleet
    }

    pub(super) fn size(&self) -> usize {
        self.bmcs.borrow().len()
    }

    fn write(&self, at: usize, condition: Option<&Preflight>) {
        let written = |Preflight { status, reason, message }: &Preflight| json!({ "type": FENCE_READY, "status": status.to_string(), "reason": reason, "message": message });
        let conditions: Vec<_> = condition.map(written).into_iter().collect();
        let metadata = json!({ "name": format!("n-{at}"), "uid": format!("uid-{at}") });
        let raw = json!({ "metadata": metadata, "status": { "conditions": conditions } });
        self.cache.apply_node(convert::node(serde_json::from_value(raw).unwrap(), self.clock.moment()).unwrap());
    }

    fn node(&self, at: usize) -> Node {
        self.cache.with(|snapshot| snapshot.nodes[&format!("n-{at}")].clone())
    }

    pub(super) fn edit(&self, current: u64, previous: Option<u64>) {
        self.secret.set(Shared { current, previous, version: self.secret.get().version + 1 });
    }

    async fn log_in(&self, at: usize, password: u64) -> Answer {
        let now = self.clock.moment();
        let bmc = self.bmcs.borrow()[at].clone();
        if bmc.is_dead {
            sleep(Duration::from_secs(20)).await;
            return Answer::Away;
        }
        // Some answer only after seconds.
        sleep(Duration::from_millis(if at.is_multiple_of(50) { 5000 } else { 150 })).await;
        let is_late = {
            let bmc = &mut self.bmcs.borrow_mut()[at];
            bmc.logins.push(now);
            if bmc.password == password {
                return Answer::Taken;
            }
            bmc.refused.retain(|then| now.since(*then) < LOCK_WINDOW);
            bmc.refused.push(now);
            bmc.was_locked |= bmc.refused.len() >= LOCKED_AFTER;
            bmc.is_late
        };
        if !is_late {
            return Answer::Refused;
        }
        sleep(ASKED_FOR).await;
        Answer::Late
    }

    fn note(&self, at: usize, ready: bool) {
        let now = self.clock.moment();
        let bmc = &mut self.bmcs.borrow_mut()[at];
        if ready {
            let unready = bmc.unready_since.take().map_or(Duration::ZERO, |since| now.since(since));
            bmc.longest_unready = bmc.longest_unready.max(unready);
        } else {
            bmc.unready_since.get_or_insert(now);
        }
    }

    /// So long, under leaders of these terms in turn, each of which is killed as it stands.
    pub(super) async fn lead(&self, minutes: u32, terms_secs: &[u64]) {
        let end = self.clock.moment().plus(MINUTE * minutes);
        for secs in terms_secs.iter().cycle() {
            let left = end.since(self.clock.moment());
            if left.is_zero() {
                break;
            }
            let leader = Leader::new(self, Logins::default());
            let look = async |nodes: Vec<Node>| leader.look(&nodes);
            let work = async {
                tokio::join!(
                    run(&leader, &self.cache, self.clock, PACE, || true),
                    looks::run(look, &self.cache, self.clock, || true),
                    leader.remediate()
                )
            };
            let _ = timeout(Duration::from_secs(*secs).min(left), work).await;
        }
    }

    pub(super) fn assert_not_locked(&self, when: &str) {
        let locked = self.bmcs.borrow().iter().filter(|bmc| bmc.was_locked).count();
        assert_eq!(locked, 0, "locked {when}");
    }

    pub(super) fn unready(&self) -> usize {
        let ready = |node: &&Node| node.condition(FENCE_READY).is_some_and(|it| it.status == ConditionStatus::True);
        self.size() - self.cache.with(|snapshot| snapshot.nodes.values().filter(ready).count())
    }

    /// Of the hour before now: the median, and the most.
    pub(super) fn logins_in_the_last_hour(&self) -> (usize, usize) {
        let now = self.clock.moment();
        let in_hour = |bmc: &Bmc| bmc.logins.iter().filter(|at| now.since(**at) < MINUTE * 60).count();
        let mut all: Vec<usize> = self.bmcs.borrow().iter().map(in_hour).collect();
        all.sort_unstable();
        (all[all.len() / 2], all[all.len() - 1])
    }

    pub(super) fn forget_times(&self) {
        self.bmcs.borrow_mut().iter_mut().for_each(|bmc| bmc.longest_unready = Duration::ZERO);
    }

    pub(super) fn longest_unready(&self) -> Duration {
        let now = self.clock.moment();
        let of = |bmc: &Bmc| bmc.unready_since.map_or(bmc.longest_unready, |at| bmc.longest_unready.max(now.since(at)));
        self.bmcs.borrow().iter().map(of).max().unwrap_or_default()
    }
}

impl<'a> Leader<'a> {
    fn new(fleet: &'a Fleet, logins: Logins) -> Self {
        let turns = (0..fleet.size()).map(|_| tokio::sync::Mutex::default()).collect();
        Self { fleet, logins: logins.into(), seen: RefCell::default(), turns }
    }

    async fn prove(&self, node: &Node) -> bool {
        let at = at(node);
        let _turn = self.turns[at].lock().await;
        loop {
            let Shared { current, previous, version } = self.fleet.secret.get();
            let account =
                |password: u64| Account { login: (at as u64) << 32 | password, shared: password, counter: at as u64 };
            let asked = Asked {
                node,
                method: "bmc",
                secret: "secret-fence-method-all",
                fingerprint: version,
                address: (at as u64) << 32,
                current: account(current),
                previous: previous.map(account),
            };
            let Ok(role) = self.logins.borrow_mut().next(&asked, self.fleet.clock.now()) else { return false };
            let password = match role {
                Role::Current => current,
                Role::Previous => previous.unwrap(),
            };
            match self.fleet.log_in(at, password).await {
                Answer::Taken => {
                    self.logins.borrow_mut().taken(&asked, role);
                    return true;
                }
                Answer::Refused => self.logins.borrow_mut().refused(&asked, role, self.fleet.clock.now(), "401"),
                Answer::Late => {
                    self.logins.borrow_mut().unanswered(&asked, role, self.fleet.clock.now());
                    return false;
                }
                Answer::Away => return false,
            }
        }
    }

    fn found(&self, node: &Node, ready: bool) -> Preflight {
        self.fleet.note(at(node), ready);
        let stamps = self.logins.borrow().stamps(&node.name, self.fleet.clock.now());
        let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
        Preflight { status, reason: "R".to_owned(), message: format!("{stamps}found") }
    }

    fn look(&self, nodes: &[Node]) {
        let version = self.fleet.secret.get().version;
        let mut seen = self.seen.borrow_mut();
        nodes.iter().for_each(|node| seen.entry(node.name.clone()).or_insert((version, version)).1 = version);
    }

    /// Ten nodes are under remediation, whose identity is proven every minute.
    async fn remediate(&self) {
        loop {
            for at in 0..10 {
                let node = self.fleet.node(at * 7);
                self.prove(&node).await;
            }
            sleep(MINUTE).await;
        }
    }
}

impl Asker for Leader<'_> {
    fn end_term(&self) {}

    fn urgent(&self) -> Urgent {
        let seen = self.seen.borrow();
        let changed = seen.iter().filter(|(_, (asked, found))| asked != found).map(|(name, _)| name.clone());
        Urgent { unwritten: self.logins.borrow().unreported(), changed: changed.collect() }
    }

    fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.logins.borrow_mut().forget(is_there);
    }

    async fn find(&self, node: &Node) -> Option<Preflight> {
        if let Some((asked, found)) = self.seen.borrow_mut().get_mut(&node.name) {
            *asked = *found;
        }
        Some(self.found(node, self.prove(node).await))
    }

    async fn write(&self, node: &Node, found: &Preflight, _: bool) -> bool {
        self.fleet.write(at(node), Some(found));
        true
    }

    fn reported(&self, node: &Node, message: &str) {
        self.logins.borrow_mut().reported(&node.name, message, self.fleet.clock.now());
    }
}

/// `check --node` of a person, again and again: a process of its own each time.
pub(super) async fn checks(fleet: &Fleet) {
    for turn in 0.. {
        let node = fleet.node(turn / 2 % fleet.size());
        let command = Leader::new(fleet, Logins::of_a_command());
        let ready = command.prove(&node).await;
        if command.logins.borrow().is_refused_here(&node.name) {
            fleet.write(at(&node), Some(&command.found(&node, ready)));
        }
        sleep(Duration::from_secs(40)).await;
    }
}

fn at(node: &Node) -> usize {
    node.name[2..].parse().unwrap()
}
