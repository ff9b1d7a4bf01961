//! How much of a supervisor's report is read.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use nodewell_power::runner::{NoReport, Run, Runner};
use nodewell_remediation::time::Moment;

use super::bench::Bench;

fn run(bench: &Bench, limit_bytes: usize) -> Run {
    Run {
        program: bench.path().join("fence_test"),
        args: Vec::new(),
        env: BTreeMap::new(),
        stdin: String::new(),
        deadline: Duration::from_secs(60),
        limit_bytes,
    }
}

/// In JSON each of these bytes takes six.
#[tokio::test]
async fn a_report_with_both_outputs_at_their_limit_is_read() {
    let bench = Bench::new();
    bench.script("fence_test", "head -c 1000 /dev/zero; head -c 1000 /dev/zero >&2");
    let report = bench.runner().run(run(&bench, 1000), None).await.unwrap();
    assert_eq!((report.stdout.len(), report.stderr.len(), report.cut), (1000, 1000, false));
}

/// What is no supervisor may print without end.
#[tokio::test]
async fn a_report_that_is_longer_than_any_is_not_read_to_its_end() {
    let bench = Bench::new();
    bench.script("supervisor", "head -c 100000 /dev/zero");
    let runner = Runner::new(bench.path().join("supervisor"), Vec::new(), Arc::new(Moment::default));
    let lost = runner.run(run(&bench, 1000), None).await.err();
    assert_eq!(lost, Some(NoReport::Lost("its report is too long".to_owned())));
    assert!(format!("{runner:?}").contains("/supervisor"), "{runner:?}");
}
