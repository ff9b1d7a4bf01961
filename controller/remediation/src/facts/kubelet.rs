//! How long a kubelet's Lease may be silent: ages of its last renewal, as this controller saw it, and what each shows.

use std::time::Duration;

/// The kubelet renews this often, up to 4 % later (a quarter of [`LEASE_DURATION`]; KEP-589): one that renewed within
/// this may be well.
pub const RENEW_INTERVAL: Duration = Duration::from_secs(10);
/// Two renewals of one kubelet are hardly nearer to each other.
pub const LEAST_RENEWAL_GAP: Duration = Duration::from_secs(8);
/// Silent for this long, the node is also asked over the network whether it can be reached.
pub const SUSPECT_AFTER: Duration = Duration::from_secs(11);
/// Silent for longer, the renewal is overdue: the kubelet may be gone, and a renewal that comes now is news.
pub const OVERDUE_AFTER: Duration = Duration::from_secs(12);
/// A kubelet that renewed within this, two intervals, is alive.
pub const ALIVE_WITHIN: Duration = Duration::from_secs(20);
/// After it was out of hearing: it gives a renewal up after 10 s and begins the next one 7 s later at most
/// (`pkg/kubelet/kubelet.go`, `component-helpers/apimachinery/lease/controller.go`).
pub const RENEWS_AGAIN_WITHIN: Duration = Duration::from_secs(30);
/// After that its Ready may be Unknown for longer, for it reports what has changed by the copy of the Node that it has
/// (`tryUpdateNodeStatus`), and that may be read again after up to 60 s (the back-off of client-go's reflector).
pub const REPORTS_AGAIN_WITHIN: Duration = Duration::from_secs(90);
/// `nodeLeaseDurationSeconds`.
pub const LEASE_DURATION: Duration = Duration::from_secs(40);
/// Silent for this long, kube-controller-manager sets Ready to Unknown (`node-monitor-grace-period` since 1.32).
pub const NODE_MONITOR_GRACE: Duration = Duration::from_secs(50);
