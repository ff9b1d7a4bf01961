//! What a page of /metrics costs, with the node's figures on it and Node Problem Detector's system-stats files loaded.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{agent::Plan, http::over_tcp};

use crate::{
    daemon::Daemon,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
};

/// A page is made from a new reading after a second.
const READING: Duration = Duration::from_millis(1050);
/// Every 15 s, in the 120 s of the idle budget.
const IN_BUDGET: f64 = 8.0;
const STOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../agent/rules/tests/npd");
/// What reads logs is not what is measured.
const QUIET: &str = "[journal]\nenabled = false\n";

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let own = Daemon::start(Plan::new("bench-scrape").config(QUIET));
    let mut rows = scraped(&own, setting, "/metrics, the node's own figures");
    let files = ["system-stats-monitor.json", "net-cgroup-system-stats-monitor.json"];
    let plan = Plan::new("bench-scrape-npd").config(QUIET);
    let both =
        Daemon::start(files.iter().fold(plan, |plan, name| plan.flag("--npd-config", format!("{STOCK}/{name}"))));
    rows.extend(scraped(&both, setting, "/metrics, and all of NPD's"));
    rows.push(retained(&both, setting.times(10_000, 1_000)));
    rows
}

fn scraped(daemon: &Daemon, setting: &Setting, measure: &str) -> Vec<Row> {
    let bytes = page(daemon).len();
    let cpu = daemon.usage().cpu();
    let times: Vec<Duration> = (0..setting.times(40, 10))
        .map(|_| {
            thread::sleep(READING);
            let start = Instant::now();
            page(daemon);
            start.elapsed()
        })
        .collect();
    let cpu = (daemon.usage().cpu() - cpu).as_secs_f64() * 1e3;
    #[expect(clippy::cast_precision_loss, reason = "some hundred")]
    let each = cpu / times.len() as f64;
    vec![
        Row::median(measure, &Samples::millis(&times), Unit::Millis)
            .beside(format!("{bytes} bytes, n = {}", times.len())),
        Row::new("  the agent's CPU for one", each * 1e3, Unit::Micros),
        Row::new("  at one every 15 s: CPU in 120 s", each * IN_BUDGET, Unit::Millis),
    ]
}

/// What is resident for good after so many pages more.
fn retained(daemon: &Daemon, pages: usize) -> Row {
    (0..pages / 10).for_each(|_| drop(page(daemon)));
    let before = daemon.usage().memory().anonymous_mib;
    (0..pages).for_each(|_| drop(page(daemon)));
    let grown = daemon.usage().memory().anonymous_mib - before;
    Row::new(format!("  anonymous memory after {pages} pages more"), grown, Unit::MebiBytes).at_most(1.0)
}

fn page(daemon: &Daemon) -> String {
    over_tcp(&daemon.metrics_address(), "/metrics").expect("it serves metrics").body
}
