//! Leaks, and what only looks like one.

use super::*;
use crate::limits::reading::Level;

const HOUR: u64 = 3600;
const GIB: u64 = 1 << 20;

fn daemon(start: u64, mib: u64) -> Daemon {
    Daemon { id: TaskId { pid: 7, start }, name: "kubelet".to_owned(), memory: Some(mib * 1024), descriptors: Some(20) }
}

/// Subjects and messages of what leaks.
fn leaking(leaks: &Leaks) -> Vec<String> {
    let faulty = leaks.verdicts().into_iter().filter(|verdict| matches!(verdict.state, State::Faulty(_)));
    faulty.map(|verdict| verdict.subject).collect()
}

fn hours(leaks: &mut Leaks, hours: std::ops::Range<u64>, daemon: impl Fn(u64) -> Daemon) {
    for hour in hours {
        leaks.take_daemons(&[daemon(hour)], Duration::from_secs(hour * HOUR));
    }
}

#[test]
fn a_daemon_that_grows_all_day_leaks_until_it_is_restarted() {
    let mut leaks = Leaks::default();
    hours(&mut leaks, 0..20, |hour| daemon(1, 100 + hour * 10));
    assert!(leaking(&leaks).is_empty(), "not a day yet");
    hours(&mut leaks, 20..30, |hour| daemon(1, 100 + hour * 10));
    assert_eq!(leaking(&leaks), ["memory of kubelet"]);
    let message = format!("{:?}", leaks.verdicts()[1].state);
    assert!(message.contains("has grown by 240 MiB within a day"), "{message}");
    hours(&mut leaks, 30..31, |_| daemon(2, 100));
    assert!(leaking(&leaks).is_empty());
}

#[test]
fn it_is_over_once_a_day_no_longer_rises() {
    let mut leaks = Leaks::default();
    hours(&mut leaks, 0..30, |hour| daemon(1, 100 + hour * 10));
    hours(&mut leaks, 30..36, |_| daemon(1, 400));
    assert_eq!(leaking(&leaks), ["memory of kubelet"], "most of the day rose");
    hours(&mut leaks, 36..56, |_| daemon(1, 400));
    assert!(leaking(&leaks).is_empty());
}

#[test]
fn little_growth_and_growth_of_much_is_none() {
    for (start, step) in [(100, 1), (10_000, 10)] {
        let mut leaks = Leaks::default();
        hours(&mut leaks, 0..40, |hour| daemon(1, start + hour * step));
        assert!(leaking(&leaks).is_empty(), "{start} {step}");
    }
}

#[test]
fn the_kernels_own_memory_is_judged_by_what_there_is() {
    let reading = |slab, inodes, free| KernelReading {
        memory: Some(MemoryUsage { total: 16 * GIB, free, slab_unreclaimable: slab }),
        inodes: Some(inodes),
        file_handles: Some(Level { used: 5000, max: 1_000_000 }),
        ..Default::default()
    };
    for (free, expected) in [(GIB, vec!["inodes", "slab"]), (8 * GIB, vec!["slab"])] {
        let mut leaks = Leaks::default();
        for hour in 0..30 {
            let reading = reading(GIB / 4 + hour * GIB / 50, 100_000 + hour * 20_000, free);
            leaks.take_kernel(&reading, Duration::from_secs(hour * HOUR));
        }
        assert_eq!(leaking(&leaks), expected, "inodes are only remembered where memory is free");
    }
}

#[test]
fn what_is_saved_goes_on_where_it_was() {
    let mut leaks = Leaks::default();
    hours(&mut leaks, 0..15, |hour| daemon(1, 100 + hour * 10));
    let saved = serde_json::to_value(leaks.saved()).unwrap();
    let mut leaks: Leaks = serde_json::from_value(saved.clone()).unwrap();
    assert!(saved.to_string().len() < 4096, "it is small: {saved}");
    hours(&mut leaks, 15..30, |hour| daemon(1, 100 + hour * 10));
    assert_eq!(leaking(&leaks), ["memory of kubelet"]);
    let leaks: Leaks = serde_json::from_value(serde_json::to_value(leaks.saved()).unwrap()).unwrap();
    assert_eq!(leaking(&leaks), ["memory of kubelet"], "before the next look");
}
