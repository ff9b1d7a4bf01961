//! What a check process logs of its rounds, and what each cost.

use std::time::{Duration, Instant};

use crate::{
    disks::DISKS,
    statistics::Samples,
    table::{Row, Unit},
};

/// The first round starts the worker and learns what is normal; it is like no other.
const WARMING: usize = 1;
/// For one round, also of an emulated machine that shares its processor.
const PATIENCE: Duration = Duration::from_secs(120);

/// One look at a check process.
pub(crate) struct Look {
    /// All that it has logged.
    pub(crate) log: String,
    /// Time on a processor so far.
    pub(crate) check_process: Duration,
    pub(crate) worker: Duration,
}

/// What was measured of several rounds.
pub(crate) struct Rounds {
    took: Vec<Duration>,
    check_process: Vec<Duration>,
    worker: Vec<Duration>,
}

impl Rounds {
    /// Looks until so many looks saw another round.
    ///
    /// # Panics
    /// If there is none in a long time, or if one did not reach every disk.
    pub(crate) fn measure(times: usize, mut look: impl FnMut() -> Look) -> Self {
        let mut rounds = Self { took: Vec::new(), check_process: Vec::new(), worker: Vec::new() };
        let mut before = next(WARMING, &mut look);
        while rounds.check_process.len() < times {
            let seen = round_times(&before.log).len();
            let now = next(seen + 1, &mut look);
            let took = round_times(&now.log).split_off(seen);
            // Should two have come between two looks, each cost half.
            let of = u32::try_from(took.len()).unwrap_or(u32::MAX);
            rounds.check_process.push((now.check_process - before.check_process) / of);
            rounds.worker.push((now.worker - before.worker) / of);
            rounds.took.extend(took);
            before = now;
        }
        rounds
    }

    pub(crate) fn rows(&self, measure: &str) -> Vec<Row> {
        vec![
            Row::median(measure, &Samples::millis(&self.took), Unit::Millis),
            Row::median("  the worker's CPU for it", &Samples::millis(&self.worker), Unit::Millis),
            Row::median(
                "  the check process's, with its heartbeats",
                &Samples::millis(&self.check_process),
                Unit::Millis,
            ),
        ]
    }
}

/// The first look by which so many rounds are over.
fn next(rounds: usize, look: &mut impl FnMut() -> Look) -> Look {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = look();
        if round_times(&now.log).len() >= rounds {
            return now;
        }
        assert!(Instant::now() < deadline, "no round of {DISKS} disks in {PATIENCE:?}: {}", now.log);
    }
}

/// How long each round took that asked all disks.
fn round_times(log: &str) -> Vec<Duration> {
    let rounds = log.lines().filter(|line| field(line, "check") == Some("\"disk\""));
    let whole = rounds.filter(|line| field(line, "devices") == Some(&DISKS.to_string()));
    whole.filter_map(|line| field(line, "micros")?.parse().ok()).map(Duration::from_micros).collect()
}

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"2026-11-21T10:00:00Z DEBUG a round is over check="disk" devices=24 micros=41234
2026-11-21T10:00:05Z DEBUG a round is over check="disk" devices=23 micros=1
2026-11-21T10:00:05Z DEBUG a round is over check="memory" devices=24 micros=2
2026-11-21T10:00:10Z DEBUG a round is over check="disk" devices=24 micros=40
"#;

    fn look(rounds: usize, millis: u64) -> Look {
        let line = LOG.lines().next().unwrap();
        let cpu = Duration::from_millis(millis);
        Look { log: format!("{line}\n").repeat(rounds), check_process: cpu, worker: cpu * 2 }
    }

    #[test]
    fn only_rounds_of_all_disks_count() {
        assert_eq!(round_times(LOG), [Duration::from_micros(41_234), Duration::from_micros(40)]);
    }

    #[test]
    fn what_two_rounds_cost_is_shared_between_them() {
        let mut looks = [look(0, 0), look(1, 100), look(1, 101), look(2, 110), look(4, 130)].into_iter();
        let rounds = Rounds::measure(2, || looks.next().unwrap());
        assert_eq!(rounds.took.len(), 3);
        assert_eq!(rounds.check_process, [10, 10].map(Duration::from_millis));
        assert_eq!(rounds.worker, [20, 20].map(Duration::from_millis));
    }
}
