//! One replica: it stands for election, looks around, and performs decisions while it leads.

use std::{future::Future, time::Duration};

use tokio::time::timeout;

use crate::{
    cache::Cache,
    clock::Clock,
    cluster::{Cluster, Election},
    executor::{Executor, Settings},
    leader::{Candidate, Term, Terms},
    own_host,
    power::Power,
    reach::{Neighbours, Prober},
};

/// Releasing the Lease is a courtesy: the next leader would wait 15 s otherwise.
const FAREWELL: Duration = Duration::from_secs(3);

/// What a replica works with. Watches that fill the cache run beside it.
#[derive(Debug)]
pub struct Replica<'a, C, P, R> {
    pub cluster: &'a C,
    pub power: &'a P,
    pub prober: &'a R,
    pub cache: &'a Cache,
    pub clock: Clock,
    pub settings: Settings,
    pub terms: Terms,
    /// This host's name among those that report to each other which nodes they reach.
    pub host: String,
}

impl<C: Cluster, P: Power, R: Prober> Replica<'_, C, P, R> {
    /// Until `stop`: then everything under way is dropped first, and the Lease is released after it.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        self.run_beside(stop, |_| std::future::pending()).await;
    }

    /// The same, with other work of a leader beside, which is given the term and dropped with the rest.
    pub async fn run_beside<F: Future<Output = ()>>(
        self,
        stop: impl Future<Output = ()>,
        beside: impl FnOnce(Term) -> F,
    ) {
        let Self { cluster, power, prober, cache, clock, settings, terms, host } = self;
        let dry_run = settings.dry_run;
        let (mut candidate, term) = Candidate::new(cluster, cache.clone(), clock, terms);
        {
            let executor = Executor::new(cluster, power, cache, clock, settings);
            let neighbours = Neighbours { cluster, prober, cache, clock, host, dry_run };
            let beside = beside(term.clone());
            tokio::select! {
                biased;
                () = stop => {}
                () = stand(&mut candidate, dry_run) => {}
                () = executor.run(term) => {}
                () = neighbours.run() => {}
                () = own_host::watch(cache, clock) => {}
                () = beside => {}
            }
        }
        if timeout(FAREWELL, candidate.resign()).await.is_err() {
            tracing::warn!("the Lease was not released in time");
        }
    }
}

/// A dry run is no candidate.
async fn stand<C: Election>(candidate: &mut Candidate<'_, C>, dry_run: bool) {
    if dry_run {
        std::future::pending::<()>().await;
    }
    candidate.run().await;
}
