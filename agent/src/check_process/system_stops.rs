//! `nodewell-checks system-stops`: whether the whole system shuts down. The agent asks by this program when it is stopped,
//! so that it needs no D-Bus client in its locked memory.

use std::time::Duration;

use nodewell_checks::systemd::{ActiveState, BusError, ListedUnit, Manager};

/// Every shutdown, reboot and halt starts it, together with the stop of all services (systemd.special(7)).
const TARGET: &str = "shutdown.target";
/// The agent waits a little longer.
const DEADLINE: Duration = Duration::from_secs(4);

/// An error where systemd cannot be asked: a node is not said to shut down by guess.
pub async fn system_stops(bus: &str) -> Result<bool, BusError> {
    let units = Manager::at(bus, DEADLINE).units(&[TARGET]).await?;
    Ok(units.iter().any(is_shutting_down))
}

fn is_shutting_down(unit: &ListedUnit) -> bool {
    let starts = unit.job.as_deref() == Some("start");
    unit.name == TARGET && (starts || matches!(unit.active, ActiveState::Active | ActiveState::Activating))
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

    #[tokio::test]
    async fn a_bus_that_is_not_there_is_an_error() {
        assert!(system_stops("unix:path=/nonexistent/bus").await.is_err());
    }
}
