//! The Lease loop: a sign of life in an object of its own, so that a dead agent is seen within minutes without Node
//! writes. It needs `create` and `patch` on `leases` in the namespace `nodewell`; where the identity has no such right
//! (a kubelet's has not) the conditions' `lastHeartbeatTime` is the only sign.
//!
//! The Lease belongs to the Node, so that it is collected with it. A Lease that has gone, or is not as we left it (the
//! server was restored from a backup), means that the Node may be another one or have other conditions: they are then
//! confirmed at once.

mod object;
mod shutdown;

use std::{future::ready, pin::pin, time::Duration};

use super::{
    connection::{AcceptedAnswer, RequestError},
    control_loop::{Attempt, ControlLoop, Jitter, Retry, RetryPolicy, Shared},
};
use crate::config::LeaseMode;

#[cfg(test)]
pub(super) use shutdown::DEADLINE as DEADLINE_TO_ASK;

struct Lease<'a> {
    shared: &'a Shared,
    retry: Retry,
    jitter: Jitter,
    due: Duration,
    /// The owner as last written; it is sent again only when it changes.
    owner: Option<String>,
    renewed_at: Option<Duration>,
    /// As we left it; no other client writes it.
    version: Option<u64>,
}

/// Renews the Lease until the stop. It then runs out by itself: after a stop as after a crash, no agent looks after the
/// node.
pub(super) async fn run(shared: &Shared) {
    if shared.config.lease.mode != LeaseMode::Never {
        run_until(shared, shutdown::ending_boot(&shared.config.checks)).await;
    }
}

/// `ending_boot` is asked once the stop has come; it names the boot that ends, if one does.
pub(super) async fn run_until(shared: &Shared, ending_boot: impl Future<Output = Option<String>>) {
    let mut control_loop = Lease::new(shared);
    let mut stops = shared.stop.subscribe();
    let mut ending_boot = pin!(async move {
        let _ = stops.wait_for(|stops| *stops).await;
        ending_boot.await
    });
    let mut uid = shared.uid.subscribe();
    let mut credential_changes = shared.credential_changes.subscribe();
    let mut stop = shared.stop.subscribe();
    loop {
        if *stop.borrow_and_update() {
            return control_loop.announce_shutdown(ending_boot).await;
        }
        let known = uid.borrow_and_update().is_some();
        let due = known.then(|| control_loop.due());
        if due.is_some_and(|due| due <= shared.clock.boottime()) {
            tokio::select! {
                () = control_loop.renew() => continue,
                // A renewal that is not answered holds up neither the stop nor an announcement.
                boot_id = &mut ending_boot => return control_loop.announce_shutdown(ready(boot_id)).await,
            }
        }
        tokio::select! {
            _ = uid.changed() => control_loop.try_at_once(),
            _ = credential_changes.changed() => control_loop.try_at_once(),
            _ = stop.changed() => {}
            () = shared.sleep_until(due) => {}
        }
    }
}

impl<'a> Lease<'a> {
    fn new(shared: &'a Shared) -> Self {
        let jitter = Jitter::new(&shared.config.node_name);
        // A failed renewal must not cost the Lease: whatever failed, the next try is one renewal later at most.
        let (usual, renew) = (shared.config.retry, shared.config.lease.renew);
        let retry = Retry::new(RetryPolicy {
            spread: usual.spread.min(renew),
            most: usual.most.min(renew),
            forbidden: usual.forbidden.min(renew),
            missing: usual.missing.min(renew),
            ..usual
        });
        Self { shared, retry, jitter, due: Duration::ZERO, owner: None, renewed_at: None, version: None }
    }

    /// A single lost renewal does no harm, so none is urgent.
    fn due(&self) -> Duration {
        self.retry.due(false).unwrap_or(self.due)
    }

    fn try_at_once(&mut self) {
        self.retry.succeeded();
        self.due = Duration::ZERO;
    }

    async fn renew(&mut self) {
        let started = self.shared.clock.boottime();
        let uid = self.shared.known_uid();
        let new_owner = uid.clone().filter(|uid| self.owner.as_ref() != Some(uid));
        let (config, wall) = (&self.shared.config, self.shared.clock.wall());
        let patch = object::Renewal { version: self.version, new_owner: new_owner.as_deref() };
        match self.shared.connection.send(&object::renew(config, patch, wall)).await {
            Ok(answer) => self.renewed(uid, &answer),
            Err(RequestError::ServerError { code: 409, .. }) if self.version.is_some() => self.altered(),
            Err(RequestError::Missing(_)) if self.renewed_at.is_some() => self.vanished(),
            Err(RequestError::Missing(_)) => self.create(uid, started).await,
            Err(error) => self.failed(&error, started),
        }
    }

    /// The last thing that is written, where the whole system shuts down. A Lease that was never there says nothing.
    async fn announce_shutdown(&self, ending_boot: impl Future<Output = Option<String>>) {
        if self.renewed_at.is_none() {
            return;
        }
        let config = &self.shared.config;
        let Some(boot_id) = ending_boot.await else { return };
        match self.shared.connection.send(&object::announce(config, &boot_id, self.shared.clock.wall())).await {
            Ok(_) => tracing::info!(boot_id, "the system shuts down: the Lease says so"),
            Err(error) => tracing::warn!(%error, "the system shuts down, and the Lease does not say so"),
        }
    }

    async fn create(&mut self, uid: Option<String>, started: Duration) {
        let (config, wall) = (&self.shared.config, self.shared.clock.wall());
        match self.shared.connection.send(&object::create(config, uid.as_deref(), wall)).await {
            Ok(answer) => self.renewed(uid, &answer),
            Err(error) => self.failed(&error, started),
        }
    }

    fn renewed(&mut self, owner: Option<String>, answer: &AcceptedAnswer) {
        let now = self.shared.clock.boottime();
        let ran_out = self.renewed_at.is_some_and(|at| now > at + self.shared.config.lease.duration());
        // A reader of the Lease may have taken us for dead meanwhile.
        if ran_out {
            self.shared.resync();
        }
        // Nodes that were switched on together fall out of step with their second renewal.
        let periods =
            if self.renewed_at.is_none() { self.jitter.fraction() } else { 1.0 + 0.05 * self.jitter.fraction() };
        (self.owner, self.renewed_at, self.version) = (owner, Some(now), answer.version);
        self.due = now + self.shared.config.lease.renew.mul_f64(periods);
        self.retry.succeeded();
        self.shared.health.succeeded(ControlLoop::Lease);
    }

    /// It is renewed at once as it is now.
    fn altered(&mut self) {
        tracing::info!("our Lease is not as we left it; was the API server restored from a backup?");
        (self.owner, self.version) = (None, None);
        self.try_at_once();
        self.shared.resync();
    }

    fn vanished(&mut self) {
        tracing::info!("our Lease has gone, perhaps with its Node; it will be made again");
        (self.owner, self.renewed_at, self.version) = (None, None, None);
        self.due = self.shared.clock.boottime() + self.shared.config.lease.vanished;
        self.retry.succeeded();
        self.shared.resync();
    }

    fn failed(&mut self, error: &RequestError, started: Duration) {
        match error {
            // A missing right, a missing namespace, an admission policy. Where the Lease was renewed before, the server has
            // more likely just started, and does not know its rules yet.
            RequestError::Forbidden(_) | RequestError::Missing(_) | RequestError::Rejected { .. }
                if self.renewed_at.is_none() =>
            {
                self.not_allowed(error);
            }
            error => {
                if error.may_be_carried_out() {
                    self.version = None;
                }
                let now = self.shared.clock.boottime();
                self.retry.failed_since(error, Attempt { started, ended: now }, self.jitter.fraction());
                self.shared.health.failed(ControlLoop::Lease, error.to_string());
            }
        }
    }

    fn not_allowed(&mut self, error: &RequestError) {
        let config = self.shared.config.lease;
        self.retry.succeeded();
        self.due = self.shared.clock.boottime() + config.forbidden.mul_f64(1.0 + 0.1 * self.jitter.fraction());
        if config.mode == LeaseMode::Always {
            let message =
                format!("{error}; grant `create` and `patch` on `leases` in namespace {:?}", object::NAMESPACE);
            self.shared.health.failed(ControlLoop::Lease, message);
        } else {
            tracing::info!(%error, "no Lease for us: the heartbeat of the conditions is the only sign of life");
            self.shared.health.disabled(ControlLoop::Lease);
        }
    }
}
