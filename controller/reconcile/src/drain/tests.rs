//! node-reaper's drain cases and kubectl's, as behaviours on a paused clock.

mod deadline;
mod double;
mod laws;
mod pods;
mod refusals;
mod stops;

use std::time::Duration;

use nodewell_remediation::{
    action::{Done, Failed},
    api::{fence::DrainReport, policy::DrainStep},
    drain::{DrainRules, DrainState, Limits},
};

use self::double::{Does, Double, at, node, pod};
use crate::api_error::ApiError;

fn rules() -> DrainRules {
    DrainRules { timeout: Duration::from_secs(60), ..DrainRules::of(&DrainStep::default()).unwrap() }
}

fn deleting() -> DrainRules {
    DrainRules { disable_eviction: true, ..rules() }
}

async fn run(double: &Double, rules: &DrainRules) -> Result<Done, Failed> {
    let mut state = DrainState::new(Limits::default());
    super::drain(double, &node(), rules, &mut state, || double.now(), |_| (), async |event| double.emit(event).await)
        .await
}

async fn report(double: &Double, rules: &DrainRules) -> DrainReport {
    match run(double, rules).await {
        Ok(Done::Drain(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// It ended at the deadline, reported this of what is left, and no call was begun then or later.
async fn times_out(double: Double, rules: &DrainRules, message: &str) {
    let report = report(&double, rules).await;
    assert!(!report.done);
    assert!(report.refused_evictions.iter().any(|line| line.contains(message)), "{message:?} is not in {report:?}");
    assert_eq!(double.elapsed(), rules.timeout);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(double.calls().iter().all(|(when, _)| *when < rules.timeout), "{:?}", double.calls());
}

fn refused(code: u16, message: &str) -> Does {
    Does::Answer(ApiError::Refused { code, message: message.into() })
}

fn refused_by_budget() -> Does {
    Does::Answer(ApiError::EvictionRefused { message: "Cannot evict pod".into(), retry: None })
}
