//! The methods of one step, in their order: the built-in ones are ours to do, as taint and cordon are; the others are
//! agents.

use nodewell_remediation::{
    action::{Done, Failed, Outcome},
    api::fence::NodeFence,
    method::BuiltIn,
};

use super::{Executor, perform::ours};
use crate::{cluster::Cluster, lease_deadline::LeaseDeadline, power::Power};

impl<C: Cluster, P: Power> Executor<'_, C, P> {
    /// All of them, or the first that failed. Each may be repeated.
    pub(super) async fn methods(&self, fence: &NodeFence, names: &[String], lease_deadline: &LeaseDeadline) -> Outcome {
        let mut begun = false;
        for part in parts(names) {
            let done = match part {
                Part::BuiltIn(BuiltIn::Cordon | BuiltIn::MarkUnschedulable) => self.cordon(fence).await.map(drop),
                Part::BuiltIn(BuiltIn::Uncordon) => self.uncordon(fence).await.map(drop),
                // Pods are let go by the release alone, when Off is confirmed. Nothing restarts an instance.
                Part::BuiltIn(BuiltIn::CleanPods | BuiltIn::RestartInstance) => continue,
                Part::Agents(names) => self.power.methods(&self.node(fence).await?, names, lease_deadline).await,
            };
            done.map_err(|failed| if begun { after_others(failed) } else { failed })?;
            begun = true;
        }
        Ok(Done::Yes)
    }

    pub(super) async fn uncordon(&self, fence: &NodeFence) -> Outcome {
        let (node, uid, by) = (&fence.spec.node_name, &fence.spec.node_uid, &fence.spec.policy);
        ours(self.write(self.cluster.uncordon(node, uid, by)).await)
    }
}

/// Something of the step was done.
fn after_others(failed: Failed) -> Failed {
    match failed {
        Failed::NotBegun(why) => Failed::InDoubt(format!("{why}; the methods before it were done")),
        failed => failed,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    BuiltIn(BuiltIn),
    Agents(&'a [String]),
}

fn parts(names: &[String]) -> Vec<Part<'_>> {
    let runs = names.chunk_by(|one, other| BuiltIn::named(one).is_none() && BuiltIn::named(other).is_none());
    runs.map(|run| BuiltIn::named(&run[0]).map_or(Part::Agents(run), Part::BuiltIn)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_methods_run_in_order_between_the_agents() {
        let names = ["port", "vlan", "cordon", "uncordon", "switch"].map(str::to_owned);
        let [port, vlan, .., switch] = &names;
        let expected = [
            Part::Agents(&[port.clone(), vlan.clone()]),
            Part::BuiltIn(BuiltIn::Cordon),
            Part::BuiltIn(BuiltIn::Uncordon),
            Part::Agents(std::slice::from_ref(switch)),
        ];
        assert_eq!(parts(&names), expected);
        assert_eq!(parts(&[]), []);
    }
}
