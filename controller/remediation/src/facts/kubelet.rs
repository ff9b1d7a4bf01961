//! What a kubelet's Lease shows by moving, and by not moving.

use std::time::Duration;

/// It renews so often, up to 4 % later (a quarter of [`LEASE`]; KEP-589): one that did within this may be well.
pub const RENEWS: Duration = Duration::from_secs(10);
/// After so long it is asked for in other ways.
pub const SUSPECT: Duration = Duration::from_secs(11);
/// A renewal is late: it may be gone, and one that comes now is news.
pub const LATE: Duration = Duration::from_secs(12);
/// One that renewed within this lives: two turns.
pub const LIVES: Duration = Duration::from_secs(20);
/// `nodeLeaseDurationSeconds`.
pub const LEASE: Duration = Duration::from_secs(40);
/// The cluster itself gives it up (`node-monitor-grace-period` since 1.32).
pub const GIVEN_UP: Duration = Duration::from_secs(50);
