//! What the agent costs while nothing happens: default monitors, a real journal, an API connection. The kernel log is a
//! FIFO: on a machine that is shared, the real one is never quiet.

use std::{
    ffi::OsString,
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{
    agent::Plan,
    journal::{self, Journal},
};

use crate::{
    daemon::Daemon,
    setting::{Setting, joined},
    table::{Row, Unit},
    usage::Memory,
    wait,
};

const RSS_LIMIT_MIB: f64 = 12.0;
const RSS_GOAL_MIB: f64 = 8.0;
const ANONYMOUS_LIMIT_MIB: f64 = 3.0;
const CPU_LIMIT_MILLIS: f64 = 5.0;
/// What the limit and Node Problem Detector's figure are for; shorter windows are multiplied.
const CPU_WINDOW_SECS: f64 = 120.0;
const DAY_SECS: f64 = 86_400.0;
const WRITTEN_LIMIT_MIB: f64 = 1.0;
/// In 15 minutes: one every 300 to 330 s.
const HEARTBEATS: f64 = 3.0;
/// By then everything has been reported and sent.
const SETTLING: Duration = Duration::from_secs(5);

struct Figures {
    memory: Memory,
    threads: usize,
    cpu: Duration,
    window: Duration,
}

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let journal = journal::unmet().is_none().then(Journal::start);
    let wrapper = journal.as_ref().map(Journal::enter).unwrap_or_default();
    let window = Duration::from_secs(if setting.quick { 10 } else { 60 });
    let mut rows = default_monitors(&Figures::of(&wrapper, plan(setting, "bench-idle", ""), window));
    let without = plan(setting, "bench-idle-no-journal", "journal.enabled = false\n");
    rows.extend(no_journal(Figures::of(&[], without, SETTLING).memory));
    rows
}

fn default_monitors(figures: &Figures) -> Vec<Row> {
    let Figures { memory, threads, cpu, window } = figures;
    let scale = CPU_WINDOW_SECS / window.as_secs_f64();
    let measured = format!("{:.2} ms in {} s, times {scale:.0}", cpu.as_secs_f64() * 1e3, window.as_secs());
    vec![
        Row::new("idle: RSS", memory.resident_mib, Unit::MebiBytes).at_most(RSS_LIMIT_MIB).npd("58.5 MB"),
        Row::new("idle: PSS", memory.proportional_mib, Unit::MebiBytes).npd("57.2 MB"),
        Row::new("idle: anonymous", memory.anonymous_mib, Unit::MebiBytes).at_most(ANONYMOUS_LIMIT_MIB).npd("10.3 MB"),
        Row::new("idle: threads", precise(*threads), Unit::Count).npd("8"),
        Row::new("idle: CPU in 120 s", cpu.as_secs_f64() * 1e3 * scale, Unit::Millis)
            .beside(measured)
            .at_most(CPU_LIMIT_MILLIS)
            .npd("26 ms"),
    ]
}

fn no_journal(memory: Memory) -> Vec<Row> {
    vec![
        Row::new("idle, journal off: RSS (the goal)", memory.resident_mib, Unit::MebiBytes).at_most(RSS_GOAL_MIB),
        Row::new("idle, journal off: PSS", memory.proportional_mib, Unit::MebiBytes),
        Row::new("idle, journal off: anonymous", memory.anonymous_mib, Unit::MebiBytes).at_most(ANONYMOUS_LIMIT_MIB),
    ]
}

impl Figures {
    fn of(wrapper: &[OsString], plan: Plan, window: Duration) -> Self {
        let daemon = Daemon::start_in(wrapper, plan);
        thread::sleep(SETTLING);
        let (usage, start) = (daemon.usage(), Instant::now());
        let before = usage.cpu();
        thread::sleep(window);
        let cpu = usage.cpu() - before;
        Self { memory: usage.memory(), threads: usage.thread_count(), cpu, window: start.elapsed() }
    }
}

fn plan(setting: &Setting, node: &str, config: &str) -> Plan {
    let plan = setting.cluster.as_ref().map_or_else(|_| Plan::new(node), |cluster| joined(cluster, node));
    plan.with_fifo().config(config)
}

/// An agent that has nothing to do while all else is measured: its requests to the API server are counted at the end.
pub(crate) struct Onlooker {
    daemon: Daemon,
    since: Instant,
    requests: f64,
    written: u64,
}

impl Onlooker {
    /// On a kernel log of its own, in which nothing happens.
    pub(crate) fn start(setting: &Setting) -> Option<Self> {
        let cluster = setting.cluster.as_ref().ok()?;
        let daemon = Daemon::start(joined(cluster, "bench-onlooker").with_fifo().config("journal.enabled = false\n"));
        wait::until("the API server has its conditions", || (requests(&daemon) > 0.0).then_some(()));
        thread::sleep(SETTLING);
        let (requests, written) = (requests(&daemon), daemon.usage().written_bytes());
        Some(Self { since: Instant::now(), requests, written, daemon })
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        let window = self.since.elapsed().as_secs_f64();
        let during = requests(&self.daemon) - self.requests;
        let measured = format!("{during:.0} in {window:.0} s of this run");
        // All are writes: the agent has no request that reads. A short window may lie between two heartbeats.
        let quarter = (during * 900.0 / window).floor().max(HEARTBEATS);
        vec![
            Row::new("idle: API requests in 15 min, extrapolated", quarter, Unit::Count)
                .beside(measured)
                .at_most(3.0)
                .npd("5"),
            self.written(window),
        ]
    }
}

impl Onlooker {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes")]
    fn written(&self, window: f64) -> Row {
        let during = self.daemon.usage().written_bytes() - self.written;
        let a_day = during as f64 * DAY_SECS / window / (1024.0 * 1024.0);
        Row::new("idle: written to disk in a day, extrapolated", a_day, Unit::MebiBytes)
            .beside(format!("{during} bytes in {window:.0} s of this run"))
            .at_most(WRITTEN_LIMIT_MIB)
    }
}

fn requests(daemon: &Daemon) -> f64 {
    daemon.metric("nodewell_apiserver_requests_total", &[])
}

#[expect(clippy::cast_precision_loss, reason = "few threads")]
fn precise(count: usize) -> f64 {
    count as f64
}
