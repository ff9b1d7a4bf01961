//! A machine with several supplies of which only some were turned off.

use nodewell_reconcile::{cluster::Configuration, lease_deadline::LeaseDeadline};
use nodewell_remediation::{
    action::Failed,
    method::{AgentAction, Plug, ValidatedMethod, ValidatedMethods},
    snapshot::{Level, PowerState},
};

use super::{NativePower, begun};

/// An act whose methods `done` have acted when `call` failed.
pub(super) struct HalfDone<'a> {
    pub(super) level: Level,
    pub(super) call: &'a ValidatedMethod,
    pub(super) action: AgentAction,
    pub(super) failed: Failed,
    pub(super) done: &'a [String],
}

impl<C: Configuration> NativePower<C> {
    /// What comes of it. A supply that was turned off would
    /// stay so unnoticed, for a machine runs on either: it is turned on again, if the other one is on for certain.
    /// Where that is unknown, the machine may be off by now, and asking is the next thing anyway.
    pub(super) async fn half_done(
        &self,
        validated: &ValidatedMethods,
        HalfDone { level, call, action, failed, done }: HalfDone<'_>,
        lease_deadline: &LeaseDeadline,
    ) -> Failed {
        let untouched = matches!(failed, Failed::NotBegun(_));
        let failed = begun(failed, done);
        if action != AgentAction::Off || done.is_empty() || !(untouched || self.is_on(&validated.node, call).await) {
            return failed;
        }
        let mut undone = Vec::new();
        for call in done.iter().filter_map(|name| validated.calls.get(name)) {
            undone.push(match self.on_again(validated, level, call, lease_deadline).await {
                Ok(()) => format!("{} was turned on again", call.name),
                Err(why) => format!("{} stays off: {}", call.name, message(why)),
            });
        }
        Failed::InDoubt(format!("{}; {}", message(failed), undone.join("; ")))
    }

    async fn is_on(&self, node: &str, call: &ValidatedMethod) -> bool {
        self.status(node, call).await.0 == PowerState::On
    }

    /// By the method itself, or by the one that turns the same plug on.
    async fn on_again(
        &self,
        validated: &ValidatedMethods,
        level: Level,
        off: &ValidatedMethod,
        lease_deadline: &LeaseDeadline,
    ) -> Result<(), Failed> {
        let mut candidates =
            validated.power(level, AgentAction::On).filter(|on| on.name == off.name || Plug::of(on) == Plug::of(off));
        let missing = || Failed::NotBegun("no method turns it on".to_owned());
        self.run(&validated.node, candidates.next().ok_or_else(missing)?, AgentAction::On, lease_deadline).await
    }
}

fn message(failed: Failed) -> String {
    match failed {
        Failed::Gone(why) | Failed::NotBegun(why) | Failed::Refused(why) | Failed::InDoubt(why) => why,
        Failed::Timeout(after) => format!("no end within {} s", after.as_secs()),
    }
}
