//! All agents start: in the same second, as after a roll-out, or one after the other.

use std::time::Duration;

use tokio::time::sleep;

use super::{PATIENCE, delays, report, wrongs};
use crate::{report::Report, world::World};

/// Starts every exporter, evenly over `over`, and waits until the server shows what each knows.
pub async fn start(world: &mut World, over: Duration) -> Report {
    let from = world.next_second().await;
    let all_nodes = world.everybody();
    let pause = over / u32::try_from(world.size()).unwrap_or(u32::MAX).max(1);
    for _ in &all_nodes {
        world.start_next();
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
    world.until(PATIENCE, |world| world.truth.all_right_at(&all_nodes).is_some()).await;
    let to = world.next_second().await;
    let mut report = report(world, format!("start within {} s", over.as_secs()), (from, to));
    report.facts.extend(delays("every condition right after", &world.truth.right_at(&all_nodes), from));
    report.facts.extend(wrongs(world).await);
    report
}
