//! A default route that was there in this boot and is gone.

use std::{collections::BTreeSet, time::Duration};

use crate::probe::{
    Fault, State,
    debounce::{Debounce, DebounceTimes},
};
use serde::{Deserialize, Serialize};

use crate::network::reading::Routes;

/// Both families.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DefaultRoutes {
    ipv4: DefaultRoute,
    ipv6: DefaultRoute,
    /// Whether IPv6's was made by the kernel alone, when it was last there.
    is_advertised: bool,
}

/// One family's.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct DefaultRoute {
    /// By which interfaces it went when it was last there; empty: never in this boot.
    by: BTreeSet<String>,
    lost: Debounce,
}

impl DefaultRoutes {
    pub(super) fn take(&mut self, routes: Routes, now: Duration, for_duration: Duration) {
        // What is there is there: routers are not a matter of trust.
        let times = DebounceTimes { for_duration, keep_firing_for: Duration::ZERO };
        if routes.ipv6.as_ref().is_some_and(|by| !by.is_empty()) {
            self.is_advertised = routes.is_advertised;
        }
        self.ipv4.take(routes.ipv4, now, times);
        self.ipv6.take(routes.ipv6, now, times);
    }

    /// Whether there has been one in this boot.
    pub(super) fn is_known(&self) -> bool {
        !self.ipv4.by.is_empty() || !self.ipv6.by.is_empty()
    }

    /// What is lost.
    pub(super) fn lost(&self) -> Option<Fault> {
        let by = |route: &DefaultRoute| route.lost.holds().then(|| list(&route.by));
        let of = |family: &str, by: String| Fault::of("DefaultRouteLost", &[("family", &family), ("interfaces", &by)]);
        match (by(&self.ipv4), by(&self.ipv6).filter(|_| self.ipv6_matters())) {
            (None, None) => None,
            (Some(ipv4), None) => Some(of("IPv4", ipv4)),
            (None, Some(ipv6)) => Some(of("IPv6", ipv6)),
            (Some(ipv4), Some(ipv6)) => Some(Fault::of("DefaultRouteLost/both", &[("ipv4", &ipv4), ("ipv6", &ipv6)])),
        }
    }

    /// Network plug-ins switch forwarding on, and the kernel then drops what routers advertised (net/ipv6/addrconf.c
    /// `dev_forward_change`). On a node that goes out by IPv4 it is not missed.
    fn ipv6_matters(&self) -> bool {
        !self.is_advertised || self.ipv4.by.is_empty()
    }

    pub(super) fn healthy(&self) -> State {
        let by: BTreeSet<_> = self.ipv4.by.union(&self.ipv6.by).cloned().collect();
        State::healthy("NetworkUnhealthy/healthy-route", &[("interfaces", &list(&by))])
    }
}

impl DefaultRoute {
    fn take(&mut self, by: Option<BTreeSet<String>>, now: Duration, times: DebounceTimes) {
        let Some(by) = by else { return };
        self.lost.observe(by.is_empty() && !self.by.is_empty(), now, times);
        if !by.is_empty() {
            self.by = by;
        }
    }
}

fn list(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
