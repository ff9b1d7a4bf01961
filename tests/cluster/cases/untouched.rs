//! Nodes that are not to be touched while something else is done: no cordon, no order of power, no record. They are
//! looked at all the time, as what is done in between and taken back would not be seen afterwards.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nodewell_cluster::{
    Cluster,
    api::Api,
    worker::{OrderLog, Worker},
};
use nodewell_tests::wait::until_within;

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What is watched takes a minute at least; a quarter of it, on a busy machine.
const LEAST_LOOKS: u64 = 15;
/// An API server that is away cannot be asked; it is back by the end.
const BACK: Duration = Duration::from_secs(60);

/// Looks until it is ended.
pub(crate) struct Untouched {
    eyes: Eyes,
    touched: Arc<Mutex<BTreeSet<String>>>,
    is_over: Arc<AtomicBool>,
    /// At which all Nodes could be read.
    looks: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Eyes {
    api: Api,
    nodes: Vec<Seen>,
}

#[derive(Clone)]
struct Seen {
    node: String,
    log: OrderLog,
    /// Orders that were there when it began.
    orders: usize,
}

impl Untouched {
    /// Those workers of `cluster` that `which` takes.
    pub(crate) fn of(cluster: &Cluster, which: impl Fn(&Worker) -> bool) -> Self {
        let workers = cluster.workers().iter().filter(|worker| which(worker));
        let seen = workers.map(|worker| Seen {
            node: worker.name().to_owned(),
            log: worker.order_log(),
            orders: ordered(&worker.order_log()),
        });
        let eyes = Eyes { api: cluster.api().clone(), nodes: seen.collect() };
        assert!(!eyes.nodes.is_empty());
        let (touched, is_over, looks) = (Arc::default(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let thread = {
            let (eyes, touched, is_over, looks) =
                (eyes.clone(), Arc::clone(&touched), Arc::clone(&is_over), Arc::clone(&looks));
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    looks.fetch_add(u64::from(eyes.look(&touched)), Ordering::Relaxed);
                    thread::sleep(LOOK_EVERY);
                }
            })
        };
        Self { eyes, touched, is_over, looks, thread: Some(thread) }
    }

    /// Looks once more.
    ///
    /// # Panics
    /// If one was touched, or they could hardly be looked at.
    #[track_caller]
    pub(crate) fn end(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().expect("it looks until it is ended");
        let looks = self.looks.load(Ordering::Relaxed);
        assert!(looks >= LEAST_LOOKS, "all Nodes could be read {looks} times only");
        until_within(BACK, "the Nodes can be read", || self.eyes.look(&self.touched).then_some(()));
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(touched.is_empty(), "{touched:?}");
    }
}

impl Drop for Untouched {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Eyes {
    /// Whether all of them could be read.
    fn look(&self, touched: &Mutex<BTreeSet<String>>) -> bool {
        let mut is_whole = true;
        for Seen { node, log, orders } in &self.nodes {
            let shown = self.api.node(node);
            is_whole &= shown.is_some();
            let is_cordoned = shown.is_some_and(|shown| shown["spec"]["unschedulable"] == true);
            let signs = [
                (is_cordoned, "cordoned"),
                (self.api.record(node).is_some(), "under remediation"),
                (ordered(log) > *orders, "its power was ordered"),
            ];
            let found = signs.iter().filter(|(is_so, _)| *is_so).map(|(_, sign)| format!("{node}: {sign}"));
            touched.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
        is_whole
    }
}

/// How often power was ordered.
fn ordered(log: &OrderLog) -> usize {
    log.read().iter().filter(|order| order.text.starts_with("set power")).count()
}
