//! One observation of one service: its endpoint or unit is asked, and systemd where an answer of it matters.

use std::{path::PathBuf, time::Duration};

use tokio::time::timeout;

use super::{
    discover,
    probe::{Answer, probe},
    service_probe::{ServiceKind, ServiceProbe},
    target::Target,
};
use crate::systemd::{ActiveState, BusError, ListedUnit, LoadState, Manager, Unit};

/// What was seen.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// An endpoint, where it is, and how its unit is if the endpoint did not answer as it should.
    Endpoint { target: Target, answer: Answer, unit: UnitStatus },
    /// A unit; `None`: not installed.
    Unit(Result<Option<Unit>, BusError>),
    /// Those of a service's units that are installed.
    Units(Result<Vec<Unit>, BusError>),
    /// It is nowhere on this node.
    Nowhere,
}

/// What systemd reports of a service whose endpoint does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitStatus {
    /// Nothing: there was no need to ask, there is no systemd, or no such unit.
    None,
    /// It was stopped, or was not started, and nothing asks for it: `kubelet.service`.
    Stopped(String),
    /// It is to run.
    Wanted(String),
}

/// Looks at services of one machine.
#[derive(Debug)]
pub struct Observer {
    pub manager: Manager,
    /// `/`, where the files of a kubelet lie.
    pub root: PathBuf,
}

impl Observer {
    /// Asks what `check` describes, within its deadline; `last` is where a runtime was found before. A service that was
    /// never seen is not woken: systemd starts Docker for any client that connects.
    pub async fn observation(&self, check: &ServiceProbe, last: Option<Target>) -> Observation {
        match (&check.kind, &check.target) {
            (ServiceKind::Restarts(_, units), _) => {
                Observation::Units(self.installed(units, check.timing.timeout).await)
            }
            (_, Some(Target::Unit(name))) => Observation::Unit(self.unit(name, check.timing.timeout).await),
            (_, Some(target)) => self.endpoint(check, target.clone()).await,
            (_, None) => {
                let found = discover::runtime(&self.root).map(Target::Cri).or(last);
                match found {
                    Some(target) => self.endpoint(check, target).await,
                    None => Observation::Nowhere,
                }
            }
        }
    }

    async fn endpoint(&self, check: &ServiceProbe, target: Target) -> Observation {
        if target.may_start_it() {
            let unit = self.unit_status(&check.kind).await;
            if matches!(unit, UnitStatus::Stopped(_)) {
                let answer = Answer::not_asked();
                return Observation::Endpoint { target, answer, unit };
            }
        }
        let answer = probe(&target, check.timing.timeout).await;
        let unit = if answer.result.is_ok() { UnitStatus::None } else { self.unit_status(&check.kind).await };
        Observation::Endpoint { target, answer, unit }
    }

    async fn unit_status(&self, kind: &ServiceKind) -> UnitStatus {
        let names = kind.units();
        if names.is_empty() {
            return UnitStatus::None;
        }
        self.manager.units(&names).await.map_or(UnitStatus::None, |units| unit_status(&units))
    }

    async fn unit(&self, name: &str, deadline: Duration) -> Result<Option<Unit>, BusError> {
        let asked = timeout(deadline, self.manager.unit(name)).await;
        let unit = asked.unwrap_or(Err(BusError::NoAnswer { method: "Get", after: deadline }))?;
        Ok(Some(unit).filter(|unit| !matches!(unit.load, LoadState::NotFound | LoadState::Masked)))
    }

    async fn installed(&self, names: &[&str], deadline: Duration) -> Result<Vec<Unit>, BusError> {
        let listed = self.manager.units(names).await?;
        let mut units = Vec::new();
        for unit in listed.iter().filter(|unit| unit.load == LoadState::Loaded && unit.active != ActiveState::Inactive)
        {
            units.extend(self.unit(&unit.name, deadline).await?);
        }
        Ok(units)
    }
}

/// One that runs or is to run counts before those that do not.
fn unit_status(units: &[ListedUnit]) -> UnitStatus {
    let installed = || units.iter().filter(|unit| unit.load == LoadState::Loaded);
    let is_idle = |unit: &ListedUnit| unit.active == ActiveState::Inactive && unit.job.is_none();
    let wanted = installed().find(|unit| !is_idle(unit)).map(|unit| UnitStatus::Wanted(unit.name.clone()));
    let stopped = || installed().next().map(|unit| UnitStatus::Stopped(unit.name.clone()));
    wanted.or_else(stopped).unwrap_or(UnitStatus::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, load: LoadState, active: ActiveState) -> ListedUnit {
        ListedUnit { name: name.to_owned(), load, active, sub: String::new(), job: None }
    }

    #[test]
    fn only_what_no_unit_requires_was_stopped() {
        let gone = listed("k3s.service", LoadState::NotFound, ActiveState::Inactive);
        let idle = listed("kubelet.service", LoadState::Loaded, ActiveState::Inactive);
        let failed = listed("kubelet.service", LoadState::Loaded, ActiveState::Failed);
        let starts = ListedUnit { job: Some("start".to_owned()), ..idle.clone() };
        let name = || "kubelet.service".to_owned();
        assert_eq!(unit_status(std::slice::from_ref(&gone)), UnitStatus::None);
        assert_eq!(unit_status(&[gone, idle.clone()]), UnitStatus::Stopped(name()));
        assert_eq!(unit_status(&[failed]), UnitStatus::Wanted(name()));
        assert_eq!(unit_status(&[starts]), UnitStatus::Wanted(name()));
        let other = listed("k3s.service", LoadState::Loaded, ActiveState::Active);
        assert_eq!(unit_status(&[idle, other]), UnitStatus::Wanted("k3s.service".to_owned()));
    }
}
