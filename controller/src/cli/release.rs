//! `release`: gives back a machine that was left off.

use clap::Args;
use jiff::Timestamp;
use nodewell_remediation::api::{
    ASKED_BY, GROUP, RELEASE, VERSION,
    fence::{NodeFence, Phase},
};
use serde_json::{Value, json};

use super::{CommandError, Global, asker, error::print};

/// Give back a machine that was left off
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Release {
    /// The node
    #[arg(value_name = "NODE")]
    node: String,
    /// Why; it is shown in the record with your name
    #[arg(value_name = "REASON", default_value = "", hide_default_value = true)]
    reason: String,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller release worker-7 \"its power supply is changed\"

A machine is left off at the limit of its power cycles (spec.powerCycles), and
by a step with leaveOff. This has it turned on if it is off, and taken into
service again once its node is Ready with a new boot.

It gives the NodeFence a new value of the annotation nodewell.dev/release,
which takes the role nodewell:fencer.";

impl Release {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (_, cluster) = global.cluster().await?;
        let node = &self.node;
        let path = format!("/apis/{GROUP}/{VERSION}/nodefences/{}", crate::kube::escaped(node));
        let what = format!("NodeFence {node}");
        let there: Option<NodeFence> = cluster.wire().get(&path).await.map_err(CommandError::of(&what))?;
        if let Some(why) = refused(node, there.as_ref()) {
            return Err(CommandError::Message(why));
        }
        let by = asker::signed(cluster.wire(), &self.reason).await;
        let annotations = json!({ RELEASE: Timestamp::now().to_string(), ASKED_BY: by });
        let patch = json!({ "metadata": { "annotations": annotations } });
        cluster.wire().merge::<Value>(&path, &patch).await.map_err(CommandError::of(&what))?;
        print(&format!("{node}: given back; `nodewell-controller plan --node {node}` shows what is next\n"))
    }
}

/// Why there is nothing to give back. A wish that comes before a machine is off is none for that machine.
fn refused(node: &str, fence: Option<&NodeFence>) -> Option<String> {
    let Some(fence) = fence else {
        return Some(format!("{node} is not left off: there is no NodeFence of that name"));
    };
    let status = &fence.status;
    match status.phase {
        Phase::Quarantined => Some(format!(
            "{node} is not left off but quarantined; `nodewell-controller retry {node}` has it tried again"
        )),
        Phase::PodsReleased | Phase::PoweringOn if status.is_blocked_by("LeftOff") || status.at_limit => None,
        phase => Some(format!(
            "{node} is not left off: its NodeFence is in phase {phase:?}; see `nodewell-controller plan --node {node}`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::Blocker;

    use super::*;

    fn fence(phase: Phase) -> NodeFence {
        let mut fence =
            NodeFence { metadata: Default::default(), spec: Default::default(), status: Default::default() };
        fence.status.phase = phase;
        fence
    }

    #[test]
    fn only_a_machine_that_is_left_off_is_given_back() {
        let mut left_off = fence(Phase::PodsReleased);
        assert!(refused("n", Some(&left_off)).unwrap().contains("phase PodsReleased"));
        left_off.status.blocked_by = vec![Blocker::plain("LeftOff")];
        assert_eq!(refused("n", Some(&left_off)), None);
        let mut at_limit = fence(Phase::PodsReleased);
        at_limit.status.at_limit = true;
        assert_eq!(refused("n", Some(&at_limit)), None);
        at_limit.status.phase = Phase::PoweringOff;
        assert!(refused("n", Some(&at_limit)).unwrap().contains("phase PoweringOff"));
        assert!(refused("n", None).unwrap().contains("no NodeFence"));
        assert!(refused("n", Some(&fence(Phase::Quarantined))).unwrap().contains("nodewell-controller retry n"));
    }
}
