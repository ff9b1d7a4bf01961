//! Rounds on a stopped clock.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;
use nodewell_reconcile::cache::Limits;
use serde_json::json;

use super::*;
use crate::{daemon::readiness::looks, kube::convert};

const PACE: Pace = Pace { interval: Duration::from_secs(600), at_once: 16 };

/// Nodes called `dead…` take 20 s and then cannot be fenced, those called `wrong…` cannot either; others answer at once.
#[derive(Default)]
struct Double {
    asked: RefCell<Vec<String>>,
    /// When each question ended.
    at: RefCell<Vec<tokio::time::Instant>>,
    /// Where what was found is written, as on the API server.
    written: Option<Cache>,
    urgent: RefCell<BTreeSet<String>>,
    /// Configured otherwise since it was asked.
    changed: RefCell<BTreeSet<String>>,
    /// The API server.
    is_away: Cell<bool>,
    under_way: Cell<usize>,
    most: Cell<usize>,
    /// The term.
    ended: Cell<bool>,
}

impl Asker for Double {
    fn retain(&self, _: impl Fn(&str) -> bool) {}

    fn end_term(&self) {
        self.ended.set(true);
    }

    fn urgent(&self) -> Urgent {
        Urgent { unwritten: self.urgent.borrow().clone(), changed: self.changed.borrow().clone() }
    }

    async fn find(&self, node: &Node) -> Option<Preflight> {
        self.changed.borrow_mut().remove(&node.name);
        self.under_way.set(self.under_way.get() + 1);
        self.most.set(self.most.get().max(self.under_way.get()));
        let is_dead = node.name.starts_with("dead");
        let is_slow = node.name.starts_with("slow");
        sleep(Duration::from_millis(if is_dead {
            20_000
        } else if is_slow {
            5_000
        } else {
            100
        }))
        .await;
        self.under_way.set(self.under_way.get() - 1);
        let ready = !is_dead && !node.name.starts_with("wrong");
        if let Some(cache) = &self.written {
            add_ready(cache, &node.name, &node.uid, ready);
        }
        self.at.borrow_mut().push(tokio::time::Instant::now());
        self.asked.borrow_mut().push(node.name.clone());
        let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
        Some(Preflight { status, reason: "R".to_owned(), message: "m".to_owned() })
    }

    async fn write(&self, _: &Node, _: &Preflight, _: bool) -> bool {
        !self.is_away.get()
    }

    fn reported(&self, node: &Node, _: &str) {
        self.urgent.borrow_mut().remove(&node.name);
    }
}

impl Double {
    fn times(&self, name: &str) -> usize {
        self.asked.borrow().iter().filter(|asked| *asked == name).count()
    }
}

fn add(cache: &Cache, name: &str, uid: &str) {
    let raw = json!({ "metadata": { "name": name, "uid": uid } });
    cache.apply_node(convert::node(serde_json::from_value(raw).unwrap(), Moment::default()).unwrap());
}

fn add_ready(cache: &Cache, name: &str, uid: &str, ready: bool) {
    let status = if ready { "True" } else { "False" };
    let condition = json!({ "type": FENCE_READY, "status": status, "reason": "R", "message": "m" });
    let raw = json!({ "metadata": { "name": name, "uid": uid }, "status": { "conditions": [condition] } });
    cache.apply_node(convert::node(serde_json::from_value(raw).unwrap(), Moment::default()).unwrap());
}

async fn with(story: impl AsyncFnOnce(&Double, &Cache, &Cell<bool>)) {
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let (double, leads) = (Double::default(), Cell::new(true));
    tokio::select! {
        _ = run(&double, &cache, clock, PACE, || leads.get()) => {}
        () = story(&double, &cache, &leads) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_bmc_delays_no_other_node() {
    with(async |double, cache, _| {
        (0..4).for_each(|at| add(cache, &format!("dead-{at}"), "u"));
        (0..200).for_each(|at| add(cache, &format!("n-{at}"), "u"));
        // Five looks, the first of them perhaps before the nodes were there.
        sleep(Duration::from_secs(6)).await;
        assert_eq!(double.asked.borrow().len(), 200, "{:?}", double.asked.borrow());
        assert_eq!(double.most.get(), PACE.at_once);
        sleep(Duration::from_secs(20)).await;
        assert_eq!(double.asked.borrow().len(), 204);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_new_node_comes_first_and_one_that_could_not_be_fenced_sooner_again() {
    with(async |double, cache, _| {
        ["good", "dead"].into_iter().for_each(|name| add(cache, name, "u"));
        sleep(Duration::from_secs(75)).await;
        assert_eq!((double.times("good"), double.times("dead")), (1, 2));
        add(cache, "good", "another");
        sleep(Duration::from_secs(3)).await;
        assert_eq!(double.times("good"), 2, "another Node of the name");
        // Its moment of the round comes half a round later at the earliest, and from then on once a round.
        sleep(PACE.interval * 3 / 2).await;
        let times = double.times("good");
        sleep(PACE.interval * 4).await;
        assert!((3..=4).contains(&times), "{times}");
        assert_eq!(double.times("good"), times + 4);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_new_term_asks_all_again_and_between_terms_no_node_is_asked() {
    with(async |double, cache, leads| {
        leads.set(false);
        add(cache, "n", "u");
        sleep(Duration::from_secs(5)).await;
        assert_eq!(double.times("n"), 0);
        leads.set(true);
        sleep(Duration::from_secs(3)).await;
        double.ended.set(false);
        sleep(Duration::from_secs(3)).await;
        assert!(!double.ended.get());
        leads.set(false);
        sleep(Duration::from_secs(3)).await;
        assert!(double.ended.get(), "what it found out ends with its term");
        leads.set(true);
        sleep(Duration::from_secs(3)).await;
        assert_eq!(double.times("n"), 2);
    })
    .await;
}

/// `check --node` writes what it found.
#[tokio::test(start_paused = true)]
async fn a_ready_node_that_reads_otherwise_is_asked_soon() {
    with(async |double, cache, _| {
        add_ready(cache, "n", "u", true);
        sleep(PACE.interval * 2).await;
        let before = double.times("n");
        add_ready(cache, "n", "u", false);
        sleep(TICK * 3).await;
        assert_eq!(double.times("n"), before + 1);
    })
    .await;
}

/// A login of an act was refused: the next leader has to know, and the node's turn is minutes away.
#[tokio::test(start_paused = true)]
async fn what_has_to_be_written_does_not_wait_for_its_moment() {
    with(async |double, cache, _| {
        add_ready(cache, "n", "u", true);
        sleep(Duration::from_secs(5)).await;
        let before = double.times("n");
        double.urgent.borrow_mut().insert("n".to_owned());
        sleep(Duration::from_secs(3)).await;
        assert_eq!(double.times("n"), before + 1);
    })
    .await;
}

/// While the API server is away the node's other BMCs are not asked each second, and what was refused is not forgotten.
#[tokio::test(start_paused = true)]
async fn what_could_not_be_written_stays_urgent() {
    with(async |double, cache, _| {
        add_ready(cache, "n", "u", true);
        sleep(Duration::from_secs(5)).await;
        let before = double.times("n");
        double.is_away.set(true);
        double.urgent.borrow_mut().insert("n".to_owned());
        sleep(Duration::from_secs(35)).await;
        assert!((3..=4).contains(&(double.times("n") - before)), "{} times", double.times("n") - before);
        double.is_away.set(false);
        sleep(URGENT_AGAIN + TICK * 3).await;
        assert_eq!(double.urgent.borrow().len(), 0);
        let before = double.times("n");
        double.urgent.borrow_mut().insert("n".to_owned());
        sleep(URGENT_AGAIN + TICK * 3).await;
        assert_eq!((double.times("n") - before, double.urgent.borrow().len()), (1, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_configured_otherwise_does_not_wait_for_its_moment() {
    with(async |double, cache, _| {
        ["n", "m"].into_iter().for_each(|name| add(cache, name, "u"));
        sleep(Duration::from_secs(5)).await;
        double.changed.borrow_mut().insert("n".to_owned());
        sleep(TICK * 2).await;
        assert_eq!([double.times("n"), double.times("m")], [2, 1], "the other one is asked no sooner");
        sleep(Duration::from_secs(60)).await;
        assert_eq!([double.times("n"), double.times("m")], [2, 1], "and none is asked again");
    })
    .await;
}

/// The Secret that they share is another, and half of them have no power: one of either kind is asked at a time.
#[tokio::test(start_paused = true)]
async fn dead_ones_that_are_configured_otherwise_delay_no_other() {
    with(async |double, cache, _| {
        let names = |kind: &str| (0..40).map(|at| format!("{kind}-{at}")).collect::<Vec<_>>();
        names("dead").iter().for_each(|name| add_ready(cache, name, "u", false));
        names("living").iter().for_each(|name| add_ready(cache, name, "u", true));
        sleep(TICK * 2).await;
        double.changed.borrow_mut().extend(names("dead").into_iter().chain(names("living")));
        sleep(TICK * 10).await;
        assert!(
            names("living").iter().filter(|name| double.times(name) == 0).count() > 20,
            "{:?}",
            double.asked.borrow()
        );
        sleep(TICK * 35).await;
        assert!(names("living").iter().all(|name| double.times(name) >= 1), "{:?}", double.asked.borrow());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_slow_ones_that_are_configured_otherwise_one_is_asked_at_a_time() {
    with(async |double, cache, _| {
        let names: Vec<String> = (0..40).map(|at| format!("slow-{at}")).collect();
        names.iter().for_each(|name| add_ready(cache, name, "u", true));
        sleep(TICK * 2).await;
        double.changed.borrow_mut().extend(names);
        sleep(TICK * 30).await;
        let asked = double.asked.borrow().len();
        assert!((4..10).contains(&asked), "{asked}");
        assert!(double.most.get() <= 2, "beside one whose moment it is: {}", double.most.get());
    })
    .await;
}

/// Its turn comes when that has ended.
#[tokio::test(start_paused = true)]
async fn one_that_is_configured_otherwise_while_it_is_asked_delays_no_other() {
    with(async |double, cache, _| {
        add(cache, "n", "u");
        sleep(TICK * 2).await;
        add(cache, "dead", "u");
        sleep(TICK * 2).await;
        double.changed.borrow_mut().extend(["dead", "n"].map(str::to_owned));
        sleep(TICK * 2).await;
        assert_eq!([double.times("dead"), double.times("n")], [0, 2]);
    })
    .await;
}

/// The Secret that they share is another: each look finds that of the nodes that it looks at.
#[tokio::test(start_paused = true)]
async fn nodes_that_are_configured_otherwise_are_asked_one_after_the_other() {
    const NODES: usize = 200;
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let double = Double::default();
    (0..NODES).for_each(|at| add_ready(&cache, &format!("n-{at}"), &format!("uid-{at}"), true));
    let look = async |nodes: Vec<Node>| double.changed.borrow_mut().extend(nodes.into_iter().map(|node| node.name));
    tokio::select! {
        _ = run(&double, &cache, clock, PACE, || true) => {}
        _ = looks::run(look, &cache, clock, || true) => {}
        () = sleep(Duration::from_secs(240)) => {}
    }
    assert_eq!(double.asked.borrow().iter().collect::<BTreeSet<_>>().len(), NODES);
    // One is found, and one in three seconds has its moment.
    let most = most_in_a_second(&double.at.borrow());
    assert!(most <= 4, "{most} in one second");
    assert!(double.most.get() <= 3, "{} at once", double.most.get());
}

/// The most that were asked in any second of these.
fn most_in_a_second(at: &[tokio::time::Instant]) -> usize {
    let ends = at.iter().enumerate();
    ends.map(|(first, start)| at[first..].iter().take_while(|end| **end - *start < Duration::from_secs(1)).count())
        .max()
        .unwrap_or_default()
}

/// 600 BMCs in 600 s are one a second, by every leader; only where all nodes are new are they asked as fast as it may be.
#[tokio::test(start_paused = true)]
async fn a_change_of_leader_asks_no_bmc_sooner() {
    const NODES: usize = 600;
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let double = Double { written: Some(cache.clone()), ..Double::default() };
    (0..NODES).for_each(|at| add(&cache, &format!("n-{at}"), &format!("uid-{at}")));
    let ends = Cell::new(false);
    let story = async {
        sleep(Duration::from_secs(20)).await;
        assert_eq!(double.asked.borrow().len(), NODES, "a cold start ends within 20 s");
        assert!(most_in_a_second(&double.at.borrow()) <= EACH_TICK + PACE.at_once);
        ends.set(true);
    };
    tokio::select! {
        _ = run(&double, &cache, clock, PACE, || true) => {}
        () = story => {}
    }
    assert!(ends.get());
    // Every two minutes another process leads, for 24 minutes.
    double.asked.borrow_mut().clear();
    double.at.borrow_mut().clear();
    for _ in 0..12 {
        let _ = tokio::time::timeout(Duration::from_secs(120), run(&double, &cache, clock, PACE, || true)).await;
    }
    let asked = double.asked.borrow().len();
    assert!((NODES * 2..=NODES * 5 / 2).contains(&asked), "{asked} in 24 minutes");
    let often = (0..NODES).map(|at| double.times(&format!("n-{at}"))).max().unwrap();
    assert!(often <= 4, "one BMC was asked {often} times in 24 minutes");
    let most = most_in_a_second(&double.at.borrow());
    assert!(most <= 8, "{most} in one second");
}

/// Those that failed together, and those whose leader is another now.
#[tokio::test(start_paused = true)]
async fn nodes_that_are_not_ready_do_not_come_in_lumps() {
    const NODES: usize = 600;
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let double = Double::default();
    (0..NODES).for_each(|at| add_ready(&cache, &format!("wrong-{at}"), &format!("uid-{at}"), false));
    let _ = tokio::time::timeout(Duration::from_secs(300), run(&double, &cache, clock, PACE, || true)).await;
    let (asked, most) = (double.asked.borrow().len(), most_in_a_second(&double.at.borrow()));
    assert!((NODES * 3..NODES * 6).contains(&asked), "{asked} of them in 300 s, of 72 s each");
    assert!(most <= 40, "{most} in one second");
}

/// Each leader begins to wait, and none of them lives as long as the wait.
#[tokio::test(start_paused = true)]
async fn leaders_that_are_shorter_than_the_wait_leave_no_node_out() {
    const NODES: usize = 600;
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let double = Double::default();
    (0..NODES).for_each(|at| add_ready(&cache, &format!("wrong-{at}"), &format!("uid-{at}"), false));
    for _ in 0..16 {
        let _ = tokio::time::timeout(Duration::from_secs(20), run(&double, &cache, clock, PACE, || true)).await;
    }
    let fewest = (0..NODES).map(|at| double.times(&format!("wrong-{at}"))).min().unwrap();
    assert!(fewest >= 2, "{fewest} times in 320 s of a wait of 72 s");
}

/// Each counts one more that is unready, so that the wait is another by a moment.
#[tokio::test(start_paused = true)]
async fn leaders_that_count_differently_leave_no_node_out() {
    const NODES: usize = 600;
    let clock = Clock::counted("2026-11-25T19:00:00Z".parse().unwrap());
    let cache = Cache::new(clock, Limits::default());
    let double = Double::default();
    (0..NODES).for_each(|at| add_ready(&cache, &format!("wrong-{at}"), &format!("uid-{at}"), false));
    for leader in 0..16 {
        add_ready(&cache, &format!("wrong-too-{leader}"), "u", false);
        let _ = tokio::time::timeout(Duration::from_secs(20), run(&double, &cache, clock, PACE, || true)).await;
    }
    let fewest = (0..NODES).map(|at| double.times(&format!("wrong-{at}"))).min().unwrap();
    assert!(fewest >= 2, "{fewest} times in 320 s of a wait of 120 s");
}

/// A rack without power, and then some.
#[tokio::test(start_paused = true)]
async fn two_hundred_dead_bmcs_delay_no_living_one() {
    const DEAD: usize = 200;
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let double = Double::default();
    (0..DEAD).for_each(|at| add_ready(&cache, &format!("dead-{at}"), &format!("uid-{at}"), false));
    (0..2 * DEAD).for_each(|at| add_ready(&cache, &format!("n-{at}"), &format!("uid-{at}"), true));
    let _ = tokio::time::timeout(PACE.interval * 2, run(&double, &cache, clock, PACE, || true)).await;
    let living = double.asked.borrow().iter().filter(|name| name.starts_with("n-")).count();
    assert!(living >= 2 * 2 * DEAD - 20, "{living} answers in two rounds");
}
