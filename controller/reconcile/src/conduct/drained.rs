//! The drain step: the evicting loop, no faster than its policy lets pods go, and counted.

use nodewell_remedy::{
    action::{Done, Failed, Outcome},
    api::fence::NodeFence,
    drain::{DrainRules, Limits},
    policy::{Policy, Rate},
};

use super::Conductor;
use crate::{cluster::Cluster, drain, power::Power, world::World};

impl<C: Cluster, P: Power> Conductor<'_, C, P> {
    pub(super) async fn drain(&self, fence: &NodeFence, rules: &DrainRules) -> Outcome {
        let (node, by) = (self.node(fence).await?, &fence.spec.policy);
        self.world.count(by, |counts| counts.drains += 1);
        let outcome = drain::drain(self.cluster, &node, rules, limits(self.world, by), || self.clock.now()).await;
        let left = match &outcome {
            Ok(Done::Drain(report)) => !report.done,
            Err(Failed::Gone(_)) => false,
            _ => true,
        };
        self.world.count(by, |counts| counts.drains_failed += u64::from(left));
        outcome
    }
}

/// Of a policy that is gone the default is kept, which is the careful one.
fn limits(world: &World, policy: &str) -> Limits {
    let known = |pods: &[Policy]| pods.iter().find(|known| known.name == policy).map(|known| known.pods);
    let Rate { count, within } =
        world.with(|snapshot| known(&snapshot.policies)).unwrap_or_else(|| Policy::default().pods);
    Limits { rate: Some((count as usize, within)), ..Limits::default() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{clock::Clock, world};

    #[test]
    fn pods_go_no_faster_than_the_policy_says() {
        let world = World::new(Clock::counted(jiff::Timestamp::UNIX_EPOCH), world::Limits::default());
        assert_eq!(limits(&world, "p").rate, Some((250, Duration::from_secs(600))));
        let pods = Rate { count: 3, within: Duration::from_secs(60) };
        world.with(|snapshot| snapshot.policies.push(Policy { name: "p".into(), pods, ..Policy::default() }));
        assert_eq!(limits(&world, "p").rate, Some((3, Duration::from_secs(60))));
    }
}
