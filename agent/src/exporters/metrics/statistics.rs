//! The node's own figures: ours, and those that Node Problem Detector's system-stats files name. Read when a client
//! asks, at most once a second; without a client it costs nothing.

mod filesystems;
mod npd;
mod own;
#[cfg(test)]
mod tests;

use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use nodewell_checks::statistics::{ProcfsReading, disk::Queues, host::Host};
use nodewell_metrics::{Exposition, Metric};
use nodewell_rules::npd::stats::SystemStats;

use filesystems::{Filesystems, Mounts};

/// The figures of Node Problem Detector's system-stats-monitor, by their ids (`cpu/load_1m`): the names are the file's.
pub fn figures_of_npd() -> impl Iterator<Item = Metric> {
    npd::figures()
}

/// Two servers that scrape together see one reading.
const SAME_FOR: Duration = Duration::from_secs(1);
/// A healthy node's filesystems answer within microseconds; an exposition without the newest of them is better than none.
const TIMEOUT: Duration = Duration::from_millis(250);
const PROC: &str = "/proc";

/// What lives from one scrape to the next.
#[derive(Debug)]
pub struct Statistics {
    /// A label of all of them.
    cluster: Option<String>,
    /// Where our own are read, if they are shown.
    own: Option<PathBuf>,
    host: Host,
    filesystems: Filesystems,
    timeout: Duration,
    ticks_per_second: u64,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<(Instant, String)>,
    /// By the file of the `system-stats-monitor`.
    queues: HashMap<PathBuf, Queues>,
}

impl State {
    /// Stores what the next scrape needs for an average.
    fn queue_lengths(&mut self, monitor: &SystemStats, sample: &ProcSample, now: Instant) -> Vec<(String, f64)> {
        if monitor.metrics.iter().all(|metric| metric.id != "disk/avg_queue_len") {
            return Vec::new();
        }
        let queues = self.queues.entry(monitor.location.file.clone()).or_default();
        queues.lengths(sample.reading.disks(), now, monitor.interval)
    }
}

/// What one exposition is made from.
struct ProcSample {
    reading: ProcfsReading,
    mounts: Arc<Mounts>,
}

impl Statistics {
    /// `own`: whether metrics of our own are wanted. Reads what does not change while the system runs.
    #[must_use]
    pub fn new(own: bool, cluster: Option<String>) -> Self {
        Self { cluster, ..Self::reading(own.then(|| PROC.into())) }
    }

    fn reading(own: Option<PathBuf>) -> Self {
        Self {
            cluster: None,
            own,
            host: Host::read(Path::new("/")),
            filesystems: Filesystems::default(),
            timeout: TIMEOUT,
            ticks_per_second: procfs::ticks_per_second(),
            state: RefCell::default(),
        }
    }

    /// The part of the exposition that is about the node; `stats_files` are the configurations of
    /// `system-stats-monitor` in force.
    pub async fn text(&self, stats_files: &[SystemStats]) -> String {
        if let Some((at, text)) = &self.state.borrow().last
            && at.elapsed() < SAME_FOR
        {
            return text.clone();
        }
        let roots = self.roots(stats_files);
        self.filesystems.refresh(roots.clone(), self.timeout).await;
        let samples = self.samples(roots);
        let text = self.write(stats_files, &samples, Instant::now());
        self.state.borrow_mut().last = Some((Instant::now(), text.clone()));
        text
    }

    /// Every procfs that is to be read.
    fn roots(&self, stats_files: &[SystemStats]) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> =
            self.own.iter().chain(stats_files.iter().map(|monitor| &monitor.proc)).cloned().collect();
        roots.sort();
        roots.dedup();
        roots
    }

    fn samples(&self, roots: Vec<PathBuf>) -> Vec<ProcSample> {
        let sample =
            |root: PathBuf| ProcSample { mounts: self.filesystems.mounts(&root), reading: ProcfsReading::new(&root) };
        roots.into_iter().map(sample).collect()
    }

    fn write(&self, stats_files: &[SystemStats], samples: &[ProcSample], now: Instant) -> String {
        let mut exposition = Exposition::of(self.cluster.as_deref());
        let spaces = self.filesystems.spaces();
        let sample_of = |root: &Path| samples.iter().find(|sample| sample.reading.root() == root);
        if let Some(sample) = self.own.as_deref().and_then(sample_of) {
            let inputs = own::MetricInputs {
                sample,
                host: &self.host,
                spaces: &spaces,
                ticks_per_second: self.ticks_per_second,
            };
            own::write(&mut exposition, &inputs, self.filesystems.hanging());
        }
        let mut state = self.state.borrow_mut();
        state.queues.retain(|file, _| stats_files.iter().any(|monitor| monitor.location.file == *file));
        for monitor in stats_files {
            let Some(sample) = sample_of(&monitor.proc) else { continue };
            let queues = state.queue_lengths(monitor, sample, now);
            let (host, spaces, ticks_per_second) = (&self.host, &spaces, self.ticks_per_second);
            npd::write(&mut exposition, &npd::MetricInputs { monitor, sample, host, spaces, queues, ticks_per_second });
        }
        exposition.into_text()
    }
}
