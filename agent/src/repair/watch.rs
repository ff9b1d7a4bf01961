//! What is wrong with the units of the list, as trusted sources report it; and their state in systemd.

use std::{collections::BTreeMap, time::Duration};

use nodewell_checks::{
    repair::{Activity, Moment, ObservedUnit, RepairSettings, UnitNow, UnitProblem, UnitRepair},
    systemd::{ActiveState, LoadState, Manager, Unit},
};
use nodewell_model::api::ConditionProblem;

use crate::runtime::clock;

/// Since when each problem has been seen without a break, by the clock that never jumps.
#[derive(Debug, Default)]
pub(super) struct Watch {
    since: BTreeMap<String, Duration>,
    /// For a single look: problems are as old as they claim.
    believes_ages: bool,
}

/// This moment.
pub(super) fn now() -> Moment {
    let boot_id = clock::boot_id().map(|id| id.to_string()).unwrap_or_default();
    Moment { wall: jiff::Timestamp::now(), boottime: clock::boottime(), boot_id }
}

impl Watch {
    pub(super) fn by_their_age(_now: &Moment) -> Self {
        Self { since: BTreeMap::new(), believes_ages: true }
    }

    /// Each unit's problem, and its state. systemd is asked about units with a problem only.
    pub(super) async fn look(
        &mut self,
        settings: &RepairSettings,
        manager: &Manager,
        problems: &[ConditionProblem],
        now: &Moment,
    ) -> Vec<ObservedUnit> {
        let mut seen = Vec::new();
        for unit in &settings.units {
            let problem = self.problem(unit, problems, now);
            let state = match &problem {
                Some(_) => asked(manager, &unit.unit).await,
                None => UnitNow { activity: Activity::Unknown, lasted: None },
            };
            seen.push(ObservedUnit { problem, state });
        }
        seen
    }

    fn problem(&mut self, unit: &UnitRepair, problems: &[ConditionProblem], now: &Moment) -> Option<UnitProblem> {
        let key = format!("{} {}", unit.unit, unit.condition);
        let Some(problem) = problems.iter().find(|problem| concerns(unit, problem)) else {
            self.since.remove(&key);
            return None;
        };
        let lasted = if self.believes_ages {
            Duration::try_from(now.wall.duration_since(problem.problem.since)).unwrap_or_default()
        } else {
            now.boottime.saturating_sub(*self.since.entry(key).or_insert(now.boottime))
        };
        Some(UnitProblem { reason: problem.problem.reason.clone(), lasted, message: problem.problem.message.clone() })
    }
}

/// Only problems that a trusted source reports now and that turn their condition: no test, and nothing whose claimant
/// fell silent.
fn concerns(unit: &UnitRepair, problem: &ConditionProblem) -> bool {
    let found = &problem.problem;
    let mut sources = found.source.split(", ");
    problem.condition == unit.condition
        && (unit.reasons.is_empty() || unit.reasons.contains(&found.reason))
        && !found.test
        && found.turns_condition()
        && found.unconfirmed_since.is_none()
        && sources.any(|source| unit.sources.iter().any(|trusted| trusted == source))
}

async fn asked(manager: &Manager, unit: &str) -> UnitNow {
    match manager.unit(unit).await {
        Ok(unit) => state(&unit, clock::monotonic()),
        Err(error) => {
            tracing::warn!(unit, %error, "systemd does not report the state of the unit");
            UnitNow { activity: Activity::Unknown, lasted: None }
        }
    }
}

/// systemd's times are of `CLOCK_MONOTONIC`.
pub(super) fn state(unit: &Unit, monotonic: Duration) -> UnitNow {
    let activity = match (unit.load, unit.active) {
        (LoadState::NotFound | LoadState::Masked, _) => Activity::Missing,
        _ if unit.has_job => Activity::Changing,
        (_, ActiveState::Active) => Activity::Active,
        (_, ActiveState::Failed) => Activity::Failed,
        (_, ActiveState::Inactive) => Activity::Stopped,
        (_, ActiveState::Activating | ActiveState::Deactivating | ActiveState::Reloading) => Activity::Changing,
        (_, ActiveState::Other) => Activity::Unknown,
    };
    UnitNow { activity, lasted: Some(monotonic.saturating_sub(unit.state_since)) }
}

#[cfg(test)]
mod tests {
    use nodewell_checks::repair::settings::OWN_SOURCES;
    use nodewell_model::Name;
    use serde_json::json;

    use super::*;

    fn unit() -> UnitRepair {
        UnitRepair::of("containerd.service", Name::fixed("ContainerRuntimeUnhealthy"))
    }

    fn problem(changes: &[(&str, serde_json::Value)]) -> ConditionProblem {
        let mut problem = json!({
            "condition": "ContainerRuntimeUnhealthy", "id": "1", "reason": "ContainerdUnhealthy", "severity": "error",
            "since": "2026-01-01T00:00:00Z", "last_seen": "2026-01-01T00:00:00Z", "count": 1, "message": "no answer",
            "source": format!("journal-monitor, {}", OWN_SOURCES[0]),
        });
        for (key, value) in changes {
            problem[*key] = value.clone();
        }
        serde_json::from_value(problem).unwrap()
    }

    #[test]
    fn only_a_confirmed_report_of_a_trusted_source_counts() {
        assert!(concerns(&unit(), &problem(&[])));
        assert!(!concerns(&unit(), &problem(&[("condition", json!("KubeletUnhealthy"))])));
        assert!(!concerns(&unit(), &problem(&[("test", json!(true))])));
        assert!(!concerns(&unit(), &problem(&[("unconfirmed_since", json!("2026-01-01T00:00:00Z"))])));
        assert!(!concerns(&unit(), &problem(&[("muted_until", json!("2026-01-01T00:00:00Z"))])));
        let ack = json!({"at": "2026-01-01T00:00:00Z", "by": "root", "why": "it was stopped"});
        assert!(!concerns(&unit(), &problem(&[("false_positive", ack)])));
        for stranger in ["services", "services@evil.service", "journal-monitor"] {
            assert!(!concerns(&unit(), &problem(&[("source", json!(stranger))])), "{stranger}");
        }
        let other = UnitRepair { reasons: vec![Name::fixed("DockerUnhealthy")], ..unit() };
        assert!(!concerns(&other, &problem(&[])));
    }

    #[test]
    fn a_problem_that_went_away_is_seen_again() {
        let mut watch = Watch::default();
        let at = |secs| Moment { boottime: Duration::from_secs(secs), ..now() };
        let mut lasted = |problems: &[ConditionProblem], secs| {
            watch.problem(&unit(), problems, &at(secs)).map(|problem| problem.lasted.as_secs())
        };
        assert_eq!(lasted(&[problem(&[])], 100), Some(0), "its own age is not believed");
        assert_eq!(lasted(&[problem(&[])], 130), Some(30));
        assert_eq!(lasted(&[], 135), None);
        assert_eq!(lasted(&[problem(&[])], 140), Some(0));
    }
}
