//! Power over nodes, as far as the reconcilers need it.

use std::{future::Future, time::Duration};

use nodewell_remediation::{
    action::Failed,
    api::fence::Blocker,
    facts::Node,
    snapshot::{FencePlan, FenceScope, PowerState},
};

use crate::lease_deadline::LeaseDeadline;

/// A BMC that does not answer within this reports nothing, nor do methods of one level that take longer together. The machine
/// was off at some moment between the question and the answer, so this is also how old a proof may be that has just come.
pub const READING_TIMEOUT: Duration = Duration::from_secs(20);

/// What acts on machines. The scope is the storage that a record cuts, or the machine by one of its fencing levels: methods
/// that are configured otherwise by now are neither asked nor used, since the switch of a storage proves nothing of a
/// machine's power. Nothing here retries: the state machine of a fence does. Everything ends by the lease deadline at the
/// latest, and nothing of it runs on after its future was dropped.
pub trait Power {
    /// How this node is fenced, and whether what is asked at each level is its own; else a blocker that names what has to be mended.
    fn plan(&self, node: &Node) -> impl Future<Output = Result<FencePlan, Blocker>>;
    /// Asks for the power's state; what is neither on nor off is Unknown. With several methods all have to report Off.
    fn read(&self, node: &Node, scope: &FenceScope) -> impl Future<Output = PowerState>;
    /// `off` by every method of the level, in order. Ok means only that the agents reported success: the caller reads.
    fn off(
        &self,
        node: &Node,
        scope: &FenceScope,
        lease_deadline: &LeaseDeadline,
    ) -> impl Future<Output = Result<Vec<String>, Failed>>;
    fn on(
        &self,
        node: &Node,
        scope: &FenceScope,
        lease_deadline: &LeaseDeadline,
    ) -> impl Future<Output = Result<Vec<String>, Failed>>;
    /// Methods of the isolation and recovery steps that are not built in.
    fn methods(
        &self,
        node: &Node,
        names: &[String],
        lease_deadline: &LeaseDeadline,
    ) -> impl Future<Output = Result<(), Failed>>;
    /// The provider's plug-in; Ok when it is known to be gone.
    fn reap(&self, node: &Node, lease_deadline: &LeaseDeadline) -> impl Future<Output = Result<(), Failed>>;
}
