//! How fast a saved kernel log goes through all shipped rules.

mod real_logs;
mod words;

use std::{
    fs,
    hint::black_box,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use nodewell_rules::{Format, LoadPlan, Replay, RuleSet, load, matcher::Matcher};
use tempfile::TempDir;

use crate::{
    corpus::Corpus,
    programs,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
};

const LINES: usize = 1_000_000;
/// 100 times what Node Problem Detector does with 14 rules (122 k lines/s).
const TARGET_MEGA_LINES: f64 = 12.0;
const TARGET_OF_HITS_MEGA_LINES: f64 = 2.0;
const TARGET_OF_MEMCHR_PERCENT: f64 = 30.0;
const NPD: &str = "0.12 M lines/s (14 rules)";

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let set = Arc::new(load(&LoadPlan::default()).set);
    let rounds = setting.times(11, 3);
    let usual = Corpus::new(&set, LINES, 10_000);
    let mut rows = in_memory(&set, &usual, rounds);
    rows.extend(end_to_end("nodewell replay, 1 hit in 10,000", &usual, TARGET_MEGA_LINES, rounds));
    rows.extend(real_logs::rows(&set, rounds));
    rows.extend(words::rows(&set, rounds));
    rows.extend(hits(&set, rounds));
    rows
}

fn in_memory(set: &Arc<RuleSet>, corpus: &Corpus, rounds: usize) -> Vec<Row> {
    let matcher = matcher(set);
    let limit = timed(rounds, || memchr::memchr_iter(b'\n', black_box(&corpus.bytes)).count());
    let scan = timed(rounds, || matcher.count_candidates(black_box(&corpus.bytes)));
    // The best of each: a share of two medians would reveal more of a busy machine than of the scan.
    let best = |times: &[Duration]| times.iter().min().map_or(f64::NAN, Duration::as_secs_f64);
    let share = 100.0 * best(&limit) / best(&scan);
    let rules = format!("the scan alone, {} rules", set.rules.len());
    vec![
        speed("one memchr pass, the limit", corpus, &limit),
        speed(rules, corpus, &scan),
        Row::new("  … of the memchr pass, best of each", share, Unit::Percent).at_least(TARGET_OF_MEMCHR_PERCENT),
        replayed("replay in memory, 1 hit in 10,000", set, Format::Kmsg, corpus, rounds).at_least(TARGET_MEGA_LINES),
    ]
}

/// Every line is an example of another rule. A million of them, so that what each start costs does not count.
fn hits(set: &Arc<RuleSet>, rounds: usize) -> Vec<Row> {
    let corpus = Corpus::new(set, LINES, 1);
    let in_memory = replayed("replay in memory, nothing but hits", set, Format::Kmsg, &corpus, rounds);
    let mut rows = vec![in_memory.at_least(TARGET_OF_HITS_MEGA_LINES).npd(NPD)];
    rows.extend(end_to_end("nodewell replay, nothing but hits", &corpus, TARGET_OF_HITS_MEGA_LINES, rounds));
    rows
}

fn matcher(set: &RuleSet) -> Matcher {
    Matcher::new(set, 0).expect("the shipped rules are good")
}

fn memchr_pass(measure: impl Into<String>, corpus: &Corpus, rounds: usize) -> Row {
    speed(measure, corpus, &timed(rounds, || memchr::memchr_iter(b'\n', black_box(&corpus.bytes)).count()))
}

fn replayed(measure: impl Into<String>, set: &Arc<RuleSet>, format: Format, corpus: &Corpus, rounds: usize) -> Row {
    speed(measure, corpus, &timed(rounds, || replay(set, format, corpus)))
}

/// How many findings there are.
fn replay(set: &Arc<RuleSet>, format: Format, corpus: &Corpus) -> u64 {
    let mut findings = 0_u64;
    let replay = Replay::new(Arc::clone(set), format);
    replay.run(black_box(&corpus.bytes[..]), |_| findings += 1).expect("memory can be read");
    findings
}

/// The whole program, from its start to its end, on a file that is in the page cache.
fn end_to_end(measure: &str, corpus: &Corpus, target: f64, rounds: usize) -> Vec<Row> {
    let folder = TempDir::with_prefix("nodewell-bench-").unwrap();
    let file = folder.path().join("kmsg.log");
    fs::write(&file, &corpus.bytes).unwrap();
    let replay = || {
        let mut command = Command::new(programs::path("nodewell"));
        command.args(["replay", "--format", "kmsg", "--json"]).arg(&file).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !replay() {
        return vec![Row::not_run(measure, "`nodewell replay` fails")];
    }
    let times = timed(rounds, replay);
    let bytes = Samples::new(times.iter().map(|time| mega(corpus.bytes.len()) / time.as_secs_f64()));
    vec![
        speed(measure, corpus, &times).at_least(target).npd(NPD),
        Row::median("  the same", &bytes, Unit::MegaBytesPerSecond),
    ]
}

fn speed(measure: impl Into<String>, corpus: &Corpus, times: &[Duration]) -> Row {
    let speeds = times.iter().map(|time| mega(corpus.lines) / time.as_secs_f64());
    Row::median(measure, &Samples::new(speeds), Unit::MegaLinesPerSecond)
}

#[expect(clippy::cast_precision_loss, reason = "sizes of corpora are far below 2^53")]
fn mega(count: usize) -> f64 {
    count as f64 / 1e6
}

/// The first round warms the caches and does not count.
fn timed<T>(rounds: usize, mut work: impl FnMut() -> T) -> Vec<Duration> {
    let mut round = || {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    round();
    (0..rounds).map(|_| round()).collect()
}
