//! A machine with several supplies of which only some were turned off.

use nodewell_reconcile::{cluster::Configuration, lease_deadline::LeaseDeadline};
use nodewell_remediation::{
    action::Failed,
    facts::Node,
    method::{AgentAction, Plug, ValidatedMethod, ValidatedMethods},
    snapshot::{Level, PowerState},
};

use super::{NativePower, begun};

/// An act whose methods `done` have acted when `call` failed.
pub(super) struct HalfDone<'a> {
    pub(super) node: &'a Node,
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
        HalfDone { node, level, call, action, failed, done }: HalfDone<'_>,
        lease_deadline: &LeaseDeadline,
    ) -> Failed {
        let untouched = matches!(failed, Failed::NotBegun(_));
        let failed = begun(failed, done);
        if action != AgentAction::Off || done.is_empty() || !(untouched || self.is_on(node, call).await) {
            return failed;
        }
        let mut undone = Vec::new();
        for off in done.iter().filter_map(|name| validated.calls.get(name)) {
            let on = turning_on(validated, level, off);
            undone.push(match self.on_again(node, on, lease_deadline).await {
                Ok(()) => format!("{} was turned on again", off.name),
                Err(why) => format!("{} stays off: {}", off.name, message(why)),
            });
        }
        Failed::InDoubt(format!("{}; {}", message(failed), undone.join("; ")))
    }

    async fn is_on(&self, node: &Node, call: &ValidatedMethod) -> bool {
        self.status(node, call).await.state == PowerState::On
    }

    async fn on_again(
        &self,
        node: &Node,
        on: Option<&ValidatedMethod>,
        lease_deadline: &LeaseDeadline,
    ) -> Result<(), Failed> {
        let on = on.ok_or_else(|| Failed::NotBegun("no method turns it on".to_owned()))?;
        self.run(node, on, AgentAction::On, lease_deadline).await
    }
}

/// The method itself, or the one that turns the same plug on.
fn turning_on<'a>(validated: &'a ValidatedMethods, level: Level, off: &ValidatedMethod) -> Option<&'a ValidatedMethod> {
    validated.power(level, AgentAction::On).find(|on| on.name == off.name || Plug::of(on) == Plug::of(off))
}

fn message(failed: Failed) -> String {
    match failed {
        Failed::Gone(why) | Failed::NotBegun(why) | Failed::Refused(why) | Failed::InDoubt(why) => why,
        Failed::Timeout(after) => format!("no end within {} s", after.as_secs()),
    }
}
