//! A rack fails: many nodes have a condition and Events in the same second; later it is mended.

use std::time::Duration;

use tokio::time::sleep;

use super::{CONDITION, PATIENCE, delays, report, wrongs};
use crate::{fleet::broken, report::Report, world::World};

/// What is looked at after the failure.
const WINDOW: Duration = Duration::from_secs(60);
/// The disks of a node that fail, each an Event of its own.
const DISKS: [&str; 3] = ["sda", "sdb", "sdc"];

/// The first `size` nodes fail.
pub async fn rack(world: &mut World, size: usize) -> Report {
    let failing: Vec<usize> = (0..size.min(world.size())).collect();
    let from = world.next_second().await;
    for &node in &failing {
        world.say(node, broken(&world.healthy, CONDITION, world.clock.wall()));
        DISKS.iter().for_each(|disk| world.happen(node, "IOError", disk));
    }
    world.until(PATIENCE, |world| world.truth.all_right_at(&failing).is_some()).await;
    let right = delays("every condition right after", &world.truth.right_at(&failing), from);
    let delivered = world.delivered(&failing, PATIENCE).await;
    sleep((from + WINDOW).saturating_sub(world.now())).await;
    let mut report = report(world, format!("{} nodes fail in the same second", failing.len()), (from, from + WINDOW));
    report.facts.extend(right);
    report.facts.push(crate::report::Fact::new("every Event there after", delivered - from.as_secs_f64(), "s"));
    report.facts.extend(mend(world, &failing).await);
    report.facts.extend(wrongs(world).await);
    report
}

/// They are well again; a recovery is held back for a while before the agent reports it on the Node.
pub(super) async fn mend(world: &World, nodes: &[usize]) -> [crate::report::Fact; 2] {
    let from = world.now();
    for &node in nodes {
        world.say(node, world.healthy.clone());
    }
    world.until(PATIENCE, |world| world.truth.all_right_at(nodes).is_some()).await;
    delays("mended, every condition right after", &world.truth.right_at(nodes), from)
}
