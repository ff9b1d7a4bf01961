//! Which node to ask next: many at once, new ones first, and none waits for one that does not answer.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    pin::pin,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_remediation::{facts::Node, snapshot::Snapshot, time::Moment};
use tokio::time::sleep;

/// BMCs that are asked at once: one that is dead occupies its slot for 20 s.
const AT_ONCE: usize = 16;
/// Between two looks at who is there.
const TICK: Duration = Duration::from_secs(1);
/// Asked between two looks at most: after a change of leader every node is due, and acts come first.
const EACH_TICK: usize = 48;
/// One that could be fenced is asked again after so long: BMCs are slow and log every login.
const ROUND: Duration = Duration::from_secs(600);
/// One that could not is asked sooner, for a person may be mending it; the more of them, the later.
const SOON: Duration = Duration::from_secs(30);
/// Each reads a handful of ConfigMaps: 5,000 of them are 33 requests a second.
const EACH: Duration = Duration::from_millis(120);

/// Who asks.
pub(super) trait Asker {
    /// Nodes that are gone are forgotten.
    fn retain(&self, is_there: impl Fn(&str) -> bool);
    /// Asks, and writes down; whether it could be fenced. `wanted`: some policy would turn it off.
    fn ask(&self, node: Node, wanted: bool) -> impl Future<Output = bool>;
}

/// What was asked last about a node.
#[derive(Debug, Clone)]
struct Asked {
    uid: String,
    wanted: bool,
    /// Nothing while it is being asked.
    ended: Option<(Moment, bool)>,
}

#[derive(Debug, Default)]
pub(super) struct Rounds(BTreeMap<String, Asked>);

impl Rounds {
    /// Those whose turn it is, the most urgent first: new ones and those that policies began or ceased to want, then
    /// those that wait longest.
    fn due(&self, snapshot: &Snapshot, wanted: bool, now: Moment) -> VecDeque<Node> {
        let again = self.again();
        let mut due: Vec<(Moment, &Node)> = snapshot
            .nodes
            .values()
            .filter_map(|node| {
                let Some(asked) = self.0.get(&node.name) else { return Some((Moment::default(), node)) };
                let (at, ready) = asked.ended?;
                if asked.uid != node.uid || asked.wanted != wanted {
                    return Some((Moment::default(), node));
                }
                let turn = at.plus(if ready { ROUND } else { again });
                (turn <= now).then_some((turn, node))
            })
            .collect();
        due.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        due.into_iter().take(EACH_TICK).map(|(_, node)| node.clone()).collect()
    }

    fn again(&self) -> Duration {
        let bad = self.0.values().filter(|asked| asked.ended.is_some_and(|(_, ready)| !ready)).count();
        (EACH * u32::try_from(bad).unwrap_or(u32::MAX)).clamp(SOON, ROUND)
    }

    fn begin(&mut self, node: &Node, wanted: bool) {
        self.0.insert(node.name.clone(), Asked { uid: node.uid.clone(), wanted, ended: None });
    }

    fn end(&mut self, name: &str, ready: bool, now: Moment) {
        if let Some(asked) = self.0.get_mut(name) {
            asked.ended = Some((now, ready));
        }
    }
}

/// While `leads`; never returns.
pub(super) async fn run<A: Asker>(asker: &A, cache: &Cache, clock: Clock, leads: impl Fn() -> bool) -> ! {
    let (mut rounds, mut under_way) = (Rounds::default(), FuturesUnordered::new());
    loop {
        let (mut due, mut wanted) = (VecDeque::new(), false);
        if leads() {
            wanted = cache.with(|snapshot| is_wanted(snapshot));
            due = cache.with(|snapshot| {
                asker.retain(|name| snapshot.nodes.contains_key(name));
                rounds.0.retain(|name, _| snapshot.nodes.contains_key(name));
                rounds.due(snapshot, wanted, clock.moment())
            });
        } else {
            (rounds, under_way) = (Rounds::default(), FuturesUnordered::new());
        }
        let mut tick = pin!(sleep(TICK));
        loop {
            while let Some(node) = due.pop_front_if(|_| under_way.len() < AT_ONCE) {
                rounds.begin(&node, wanted);
                under_way.push(async move {
                    let name = node.name.clone();
                    (name, asker.ask(node, wanted).await)
                });
            }
            tokio::select! {
                Some((name, ready)) = under_way.next() => rounds.end(&name, ready, clock.moment()),
                () = &mut tick => break,
            }
        }
    }
}

/// Whether any policy would turn a node off: only then is one without methods worth a report.
fn is_wanted(snapshot: &Snapshot) -> bool {
    let powers =
        |step: &nodewell_remediation::api::policy::StepSpec| step.reboot.is_some() || step.power_cycle.is_some();
    snapshot.policies.iter().any(|policy| policy.steps.iter().any(powers))
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use jiff::Timestamp;
    use nodewell_reconcile::cache::Limits;
    use serde_json::json;

    use super::*;
    use crate::kube::convert;

    /// Nodes called `dead…` take 20 s and then cannot be fenced; others answer at once.
    #[derive(Default)]
    struct Double {
        asked: RefCell<Vec<String>>,
        under_way: Cell<usize>,
        most: Cell<usize>,
    }

    impl Asker for Double {
        fn retain(&self, _: impl Fn(&str) -> bool) {}

        async fn ask(&self, node: Node, _: bool) -> bool {
            self.under_way.set(self.under_way.get() + 1);
            self.most.set(self.most.get().max(self.under_way.get()));
            let is_dead = node.name.starts_with("dead");
            sleep(Duration::from_millis(if is_dead { 20_000 } else { 100 })).await;
            self.under_way.set(self.under_way.get() - 1);
            self.asked.borrow_mut().push(node.name);
            !is_dead
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

    async fn with(story: impl AsyncFnOnce(&Double, &Cache, &Cell<bool>)) {
        let clock = Clock::counted(Timestamp::UNIX_EPOCH);
        let cache = Cache::new(clock, Limits::default());
        let (double, leads) = (Double::default(), Cell::new(true));
        tokio::select! {
            _ = run(&double, &cache, clock, || leads.get()) => {}
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
            assert_eq!(double.most.get(), AT_ONCE);
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
            sleep(ROUND).await;
            assert_eq!(double.times("good"), 3);
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
            leads.set(false);
            sleep(Duration::from_secs(3)).await;
            leads.set(true);
            sleep(Duration::from_secs(3)).await;
            assert_eq!(double.times("n"), 2);
        })
        .await;
    }
}
