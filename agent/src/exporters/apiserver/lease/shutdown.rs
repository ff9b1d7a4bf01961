//! Whether the agent is stopped because the whole system shuts down: then its Lease names the boot that ends, and the controller
//! gives the node time to come back. A package that restarts the agent announces nothing.

use std::{path::Path, time::Duration};

use nodewell_checks::systemd::{ActiveState, ListedUnit, Manager};

/// Every shutdown, reboot and halt starts it, together with the stop of all services (systemd.special(7)).
const TARGET: &str = "shutdown.target";
/// Of the time that is left for the last requests.
const DEADLINE: Duration = Duration::from_millis(500);
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The boot that ends, as kubelets name it. Nothing where systemd cannot be asked: a node is not said to shut down by guess.
pub(super) async fn ending_boot(system_bus: &str) -> Option<String> {
    match Manager::at(system_bus, DEADLINE).units(&[TARGET]).await {
        Ok(units) if units.iter().any(is_shutting_down) => boot_id(Path::new(BOOT_ID)),
        Ok(_) => None,
        Err(error) => {
            tracing::info!(%error, "whether the system shuts down is not known: the controller gets no announcement");
            None
        }
    }
}

fn is_shutting_down(unit: &ListedUnit) -> bool {
    let starts = unit.job.as_deref() == Some("start");
    unit.name == TARGET && (starts || matches!(unit.active, ActiveState::Active | ActiveState::Activating))
}

fn boot_id(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use nodewell_checks::systemd::LoadState;

    use super::*;

    fn unit(active: ActiveState, job: Option<&str>) -> ListedUnit {
        let (load, sub) = (LoadState::Loaded, "dead".to_owned());
        ListedUnit { name: TARGET.to_owned(), load, active, sub, job: job.map(str::to_owned) }
    }

    #[test]
    fn the_system_shuts_down_when_its_target_is_to_start_or_has() {
        assert!(is_shutting_down(&unit(ActiveState::Inactive, Some("start"))));
        assert!(is_shutting_down(&unit(ActiveState::Active, None)));
        assert!(!is_shutting_down(&unit(ActiveState::Inactive, None)), "the agent alone is stopped");
        assert!(!is_shutting_down(&unit(ActiveState::Inactive, Some("stop"))), "a shutdown that was cancelled");
        let other = ListedUnit { name: "nodewell.service".to_owned(), ..unit(ActiveState::Active, Some("start")) };
        assert!(!is_shutting_down(&other));
    }

    #[test]
    fn a_boot_is_named_as_the_kernel_has_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(boot_id(file.path()), None);
        std::fs::write(file.path(), "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n").unwrap();
        assert_eq!(boot_id(file.path()).as_deref(), Some("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"));
    }

    /// systemd stops units in the reverse of their order: the answer of the bus and the way to the API server are
    /// needed.
    #[test]
    fn the_service_stops_before_what_an_announcement_needs_and_waits_for_no_network() {
        let unit = include_str!("../../../../../systemd/nodewell.service");
        let after: Vec<&str> =
            unit.lines().filter_map(|line| line.strip_prefix("After=")).flat_map(str::split_whitespace).collect();
        for needed in ["dbus.service", "dbus.socket", "network.target", "nss-lookup.target"] {
            assert!(after.contains(&needed), "{needed} is not in After={after:?}");
        }
        assert!(!unit.lines().any(|line| !line.starts_with('#') && line.contains("network-online.target")));
        assert!(!unit.contains("DefaultDependencies=no"), "or a shutdown stops it at any time");
    }

    #[tokio::test]
    async fn a_bus_that_is_not_there_announces_nothing() {
        assert_eq!(ending_boot("unix:path=/nonexistent/bus").await, None);
    }
}
