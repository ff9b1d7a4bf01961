//! From the start of the program to its first output, and the size of what is started.

use std::{fs, time::Duration};

use nodewell_tests::{agent::Plan, cluster::Cluster};

use crate::{
    daemon::Daemon,
    observer::Observer,
    programs,
    setting::{Setting, joined},
    statistics::Samples,
    table::{Row, Unit},
};

const TARGET_FIRST_CONDITIONS_MILLIS: f64 = 50.0;

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let mut rows = vec![size("nodewelld").npd("63.8 MiB"), size("nodewell-checks"), size("nodewell"), ready(setting)];
    let measure = "start → first conditions in the API";
    rows.push(match &setting.cluster {
        Ok(cluster) => first_conditions(setting, cluster, measure),
        Err(missing) => Row::not_run(measure, missing),
    });
    rows
}

fn size(program: &str) -> Row {
    let bytes = fs::metadata(programs::path(program)).unwrap().len();
    Row::new(format!("size of {program}, profile dist"), mebi(bytes), Unit::MebiBytes)
}

#[expect(clippy::cast_precision_loss, reason = "programs are far below 2^53 bytes")]
fn mebi(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

fn ready(setting: &Setting) -> Row {
    let times: Vec<Duration> = (0..setting.times(20, 5))
        .map(|_| Daemon::spawn(&[], setting.log.plan(Plan::new("bench-start"))).wait_ready())
        .collect();
    Row::median("start → /readyz answers 200", &Samples::millis(&times), Unit::Millis).npd("35 ms (26 – 46)")
}

fn first_conditions(setting: &Setting, cluster: &Cluster, measure: &str) -> Row {
    let observer = Observer::new(cluster);
    let times: Vec<Duration> = (0..setting.times(20, 5))
        .map(|number| {
            let node = format!("bench-start-{number}");
            let daemon = Daemon::spawn(&[], setting.log.plan(joined(cluster, &node)));
            observer.node(&node, |conditions| !conditions.is_empty()) - daemon.started()
        })
        .collect();
    Row::median(measure, &Samples::millis(&times), Unit::Millis).at_most(TARGET_FIRST_CONDITIONS_MILLIS).npd("1,040 ms")
}
