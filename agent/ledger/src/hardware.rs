//! The devices of the node, as the daemons that look after them count them.

use std::{collections::BTreeMap, sync::Arc};

use nodewell_model::{Hardware, view::HardwareView};

use crate::daemon::Daemon;

/// One for each class, in the order of the alphabet; a class that several daemons count is added up.
pub(crate) fn of(daemons: &BTreeMap<Arc<str>, Daemon>) -> Vec<HardwareView> {
    let mut classes: BTreeMap<String, HardwareView> = BTreeMap::new();
    for daemon in daemons.values() {
        let counted = daemon.reporter.iter().flat_map(|reporter| &reporter.hardware);
        counted.for_each(|hardware| add(&mut classes, hardware, daemon));
    }
    classes.into_values().collect()
}

fn add(classes: &mut BTreeMap<String, HardwareView>, hardware: &Hardware, daemon: &Daemon) {
    let class = classes.entry(hardware.class.to_lowercase()).or_insert_with(|| HardwareView {
        class: hardware.class.clone(),
        total: 0,
        healthy: 0,
        states: BTreeMap::new(),
        unconfirmed_since: None,
        informational: hardware.informational,
        devices: Vec::new(),
    });
    class.total = class.total.saturating_add(hardware.total);
    class.healthy = class.healthy.saturating_add(hardware.healthy());
    for (state, count) in &hardware.states {
        let sum = class.states.entry(state.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    // Devices, if any daemon counts them as such.
    class.informational &= hardware.informational;
    class.devices.extend(hardware.devices.iter().cloned());
    // The oldest silence: since then not all of these figures are confirmed.
    class.unconfirmed_since = class.unconfirmed_since.into_iter().chain(daemon.silent_since).min();
}
