//! A fleet of BMCs that lock their account after three refused logins within five minutes, some slow, some dead, through everything
//! that people and leaders do to it, on a stopped clock. `NODEWELL_LONG=1` plays 3,000 of them, else 200.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use jiff::Timestamp;
use nodewell_power::native::logins::{Account, Asked, Logins};
use nodewell_reconcile::cache::Limits;
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::kube::convert;

const PACE: Pace = Pace { interval: Duration::from_secs(600), at_once: 16 };
const LOCKED_AFTER: usize = 3;
const LOCK_WINDOW: Duration = Duration::from_secs(300);
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
struct Bmc {
    /// Which password it takes.
    password: u64,
    is_dead: bool,
    refused: Vec<Moment>,
    /// It locked the account once.
    was_locked: bool,
    logins: Vec<Moment>,
    unready_since: Option<Moment>,
    longest_unready: Duration,
}

/// The Secret that all of them share.
#[derive(Debug, Clone, Copy)]
struct Shared {
    current: u64,
    previous: Option<u64>,
    version: u32,
}

struct Fleet {
    clock: Clock,
    cache: Cache,
    bmcs: RefCell<Vec<Bmc>>,
    secret: Cell<Shared>,
}

/// One process: what it has learnt ends with it.
struct Leader<'a> {
    fleet: &'a Fleet,
    logins: RefCell<Logins>,
    /// One login to a BMC at a time.
    turns: Vec<tokio::sync::Mutex<()>>,
}

impl Fleet {
    fn new(size: usize) -> Self {
        let clock = Clock::counted(Timestamp::UNIX_EPOCH);
        let cache = Cache::new(clock, Limits::default());
        let bmcs = vec![Bmc { password: 1, ..Bmc::default() }; size];
        let secret = Shared { current: 1, previous: None, version: 1 };
        let fleet = Self { clock, cache, bmcs: bmcs.into(), secret: secret.into() };
        (0..size).for_each(|at| fleet.write(at, None));
        fleet
    }

    fn size(&self) -> usize {
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

    fn edit(&self, current: u64, previous: Option<u64>) {
        self.secret.set(Shared { current, previous, version: self.secret.get().version + 1 });
    }

    /// Whether it takes the password; nothing if it is dead.
    async fn log_in(&self, at: usize, password: u64) -> Option<bool> {
        let now = self.clock.moment();
        let bmc = self.bmcs.borrow()[at].clone();
        if bmc.is_dead {
            sleep(Duration::from_secs(20)).await;
            return None;
        }
        // Some answer only after seconds.
        sleep(Duration::from_millis(if at.is_multiple_of(50) { 5000 } else { 150 })).await;
        let bmc = &mut self.bmcs.borrow_mut()[at];
        bmc.logins.push(now);
        let is_taken = bmc.password == password;
        if !is_taken {
            bmc.refused.retain(|then| now.since(*then) < LOCK_WINDOW);
            bmc.refused.push(now);
            bmc.was_locked |= bmc.refused.len() >= LOCKED_AFTER;
        }
        Some(is_taken)
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

    /// So long, with another leader each so often, each of which is killed as it stands.
    async fn lead(&self, minutes: u32, term: Duration) {
        let end = self.clock.moment().plus(MINUTE * minutes);
        while self.clock.moment() < end {
            let leader = Leader::new(self, Logins::default());
            let most = term.min(end.since(self.clock.moment()));
            let work = async { tokio::join!(run(&leader, &self.cache, self.clock, PACE, || true), leader.remediate()) };
            let _ = timeout(most, work).await;
        }
    }

    fn assert_not_locked(&self, when: &str) {
        let locked = self.bmcs.borrow().iter().filter(|bmc| bmc.was_locked).count();
        assert_eq!(locked, 0, "locked {when}");
    }

    fn unready(&self) -> usize {
        let ready = |node: &&Node| node.condition(FENCE_READY).is_some_and(|it| it.status == ConditionStatus::True);
        self.size() - self.cache.with(|snapshot| snapshot.nodes.values().filter(ready).count())
    }

    /// Of the hour before now: the median, and the most.
    fn logins_in_the_last_hour(&self) -> (usize, usize) {
        let now = self.clock.moment();
        let in_hour = |bmc: &Bmc| bmc.logins.iter().filter(|at| now.since(**at) < MINUTE * 60).count();
        let mut all: Vec<usize> = self.bmcs.borrow().iter().map(in_hour).collect();
        all.sort_unstable();
        (all[all.len() / 2], all[all.len() - 1])
    }

    fn forget_times(&self) {
        self.bmcs.borrow_mut().iter_mut().for_each(|bmc| bmc.longest_unready = Duration::ZERO);
    }

    fn longest_unready(&self) -> Duration {
        let now = self.clock.moment();
        let of = |bmc: &Bmc| bmc.unready_since.map_or(bmc.longest_unready, |at| bmc.longest_unready.max(now.since(at)));
        self.bmcs.borrow().iter().map(of).max().unwrap_or_default()
    }
}

impl<'a> Leader<'a> {
    fn new(fleet: &'a Fleet, logins: Logins) -> Self {
        let turns = (0..fleet.size()).map(|_| tokio::sync::Mutex::default()).collect();
        Self { fleet, logins: logins.into(), turns }
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
                nodewell_power::native::logins::Role::Current => current,
                nodewell_power::native::logins::Role::Previous => previous.unwrap(),
            };
            match self.fleet.log_in(at, password).await {
                Some(true) => {
                    self.logins.borrow_mut().taken(&asked, role);
                    return true;
                }
                Some(false) => self.logins.borrow_mut().refused(&asked, role, self.fleet.clock.now(), "401"),
                None => return false,
            }
        }
    }

    fn found(&self, node: &Node, ready: bool) -> Preflight {
        self.fleet.note(at(node), ready);
        let stamps = self.logins.borrow().stamps(&node.name, self.fleet.clock.now());
        let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
        Preflight { status, reason: "R".to_owned(), message: format!("{stamps}found") }
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

    fn urgent(&self) -> BTreeSet<String> {
        self.logins.borrow().unreported()
    }

    fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.logins.borrow_mut().forget(is_there);
    }

    async fn find(&self, node: &Node) -> Option<Preflight> {
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
async fn checks(fleet: &Fleet) {
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

fn size() -> usize {
    if std::env::var_os("NODEWELL_LONG").is_some() { 3000 } else { 200 }
}

#[tokio::test(start_paused = true)]
async fn no_bmc_of_a_fleet_is_ever_locked() {
    let fleet = Fleet::new(size());
    tokio::select! {
        () = checks(&fleet) => {}
        () = story(&fleet) => {}
    }
}

#[allow(clippy::print_stdout)]
async fn story(fleet: &Fleet) {
    fleet.lead(75, MINUTE * 75).await;
    assert_eq!(fleet.unready(), 0);
    let (median, most) = fleet.logins_in_the_last_hour();
    println!("{} BMCs, one leader: {median} logins an hour, {most} at most", fleet.size());
    assert!((5..=7).contains(&median), "{median}");

    fleet.lead(61, MINUTE * 2).await;
    let (median, most) = fleet.logins_in_the_last_hour();
    println!("another leader every two minutes: {median} logins an hour, {most} at most");
    assert!((5..=7).contains(&median), "{median}");

    let die = |is_dead| fleet.bmcs.borrow_mut().iter_mut().step_by(10).for_each(|bmc| bmc.is_dead = is_dead);
    die(true);
    fleet.lead(30, MINUTE * 30).await;
    assert_eq!(fleet.unready(), fleet.size() / 10);
    die(false);
    fleet.lead(20, MINUTE * 20).await;
    assert_eq!(fleet.unready(), 0);
    fleet.assert_not_locked("before the rotation");

    rotate(fleet).await;
    mistype(fleet).await;
    println!("locked: 0 of {}", fleet.size());
}

/// The Secret gets both passwords, the BMCs the new one within an hour, and then the old one goes.
#[allow(clippy::print_stdout)]
async fn rotate(fleet: &Fleet) {
    fleet.forget_times();
    fleet.edit(2, Some(1));
    fleet.lead(10, MINUTE * 3).await;
    let each_minute = fleet.size().div_ceil(60);
    for minute in 0..60 {
        let ends = (minute * each_minute..(minute + 1) * each_minute).take_while(|at| *at < fleet.size());
        ends.for_each(|at| fleet.bmcs.borrow_mut()[at].password = 2);
        fleet.lead(1, Duration::from_secs(if minute % 10 < 5 { 45 } else { 60 })).await;
    }
    fleet.lead(20, MINUTE * 5).await;
    fleet.edit(2, None);
    fleet.lead(20, MINUTE * 5).await;
    let longest = fleet.longest_unready();
    println!("a rotation: unready for {} s at most", longest.as_secs());
    assert!(longest <= Duration::from_secs(600), "{longest:?}");
    assert_eq!(fleet.unready(), 0);
    fleet.assert_not_locked("in the rotation");
}

/// A wrong password in the Secret, three more, and the right one half an hour later.
#[allow(clippy::print_stdout)]
async fn mistype(fleet: &Fleet) {
    for wrong in [90, 91, 92, 93] {
        fleet.edit(wrong, None);
        fleet.lead(2, MINUTE * 2).await;
    }
    fleet.lead(30, MINUTE * 4).await;
    let refused: BTreeMap<usize, usize> =
        fleet.bmcs.borrow().iter().map(|bmc| bmc.refused.len()).fold(BTreeMap::new(), |mut counts, refused| {
            *counts.entry(refused).or_default() += 1;
            counts
        });
    println!("a wrong password for 38 minutes: BMCs by their refused logins of the last five minutes: {refused:?}");
    fleet.edit(2, None);
    fleet.lead(15, MINUTE * 15).await;
    assert_eq!(fleet.unready(), 0, "15 minutes after it was corrected");
    fleet.assert_not_locked("by a wrong password");
}
