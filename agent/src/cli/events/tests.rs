//! Which of the agent's events are shown.

use clap::Parser;
use nodewell_model::{Name, Severity};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    events: Events,
}

fn parsed(words: &[&str]) -> Result<Events, clap::Error> {
    Line::try_parse_from([&["events"], words].concat()).map(|line| line.events)
}

fn event(id: u64, ago_secs: i64, reason: &'static str, condition: Option<&'static str>) -> EventView {
    EventView {
        id,
        severity: Severity::Warn,
        timestamp: Timestamp::from_second(Timestamp::now().as_second() - ago_secs).unwrap(),
        reason: Name::fixed(reason),
        message: String::new(),
        subject: None,
        source: "kernel-monitor".to_owned(),
        condition: condition.map(Name::fixed),
        count: 1,
        test: false,
    }
}

fn shown(words: &[&str]) -> Vec<u64> {
    let events = vec![
        event(1, 7200, "IOError", Some("DiskUnhealthy")),
        event(2, 3000, "OOMKilling", None),
        event(3, 600, "IOError", None),
        event(4, 60, "KernelOops", Some("KernelUnhealthy")),
        event(5, -60, "OOMKilling", Some("MemoryUnhealthy")),
    ];
    parsed(words).unwrap().wanted(events, 3).iter().map(|event| event.id).collect()
}

#[test]
fn each_flag_narrows_and_its_values_widen() {
    for (words, expected) in [
        (&[][..], &[3, 4, 5][..]),
        (&["--limit", "9"], &[1, 2, 3, 4, 5]),
        (&["--limit", "0"], &[]),
        (&["--since", "1h"], &[2, 3, 4, 5]),
        (&["--since", "11m"], &[3, 4, 5]),
        (&["--since", "1d", "-n", "2"], &[4, 5]),
        (&["--since", "2100-01-01T00:00:00Z"], &[]),
        (&["--since", "1970-01-01T00:00:00Z"], &[1, 2, 3, 4, 5]),
        (&["--reason", "IOError"], &[1, 3]),
        (&["--reason", "IOError", "--reason", "KernelOops"], &[1, 3, 4]),
        (&["--condition", "DiskUnhealthy"], &[1]),
        (&["--condition", "DiskUnhealthy", "--condition", "MemoryUnhealthy"], &[1, 5]),
        (&["--reason", "IOError", "--since", "1h"], &[3]),
        (&["--reason", "IOError", "--condition", "KernelUnhealthy"], &[]),
    ] {
        assert_eq!(shown(words), expected, "{words:?}");
    }
}

#[test]
fn what_is_asked_for_from_before_the_oldest_event_is_in_the_journal() {
    let kept = [event(7, 3000, "OOMKilling", None), event(8, 60, "IOError", None)];
    let gap = |words: &[&str], kept: &[EventView]| parsed(words).unwrap().gap(kept, Timestamp::now());
    for words in [&["--since", "1h"][..], &["--since", "1970-01-01T00:00:00Z"], &["--since", "1h", "--reason", "A"]] {
        let line = gap(words, &kept).unwrap();
        assert!(line.contains(" 50m old (") && line.ends_with("see journalctl -u nodewell"), "{words:?}: {line}");
        assert_eq!(gap(words, &[]), None, "of none it is not known since when they are kept");
    }
    let whole = [&["--since", "10m"][..], &[], &["--since", "2100-01-01T00:00:00Z"], &["--since", "1h", "-n", "2"]];
    for words in whole {
        assert_eq!(gap(words, &kept), None, "{words:?}");
    }
}

#[test]
fn a_name_that_nothing_has_is_no_silence() {
    let kept = [event(7, 3000, "RaidDegraded", Some("RaidProblem"))];
    let unknown = |words: &[&str]| parsed(words).unwrap().unknown(&kept);
    let line =
        "DiskUnhealty is no condition of the catalogue, and no event of a daemon has it; did you mean DiskUnhealthy?";
    assert_eq!(unknown(&["--condition", "DiskUnhealty", "--reason", "KernelOops"]), [line]);
    assert!(unknown(&["--reason", "KernelOop"])[0].ends_with("; did you mean KernelOops?"));
    assert!(unknown(&["--reason", "RaidDegraded", "--condition", "RaidProblem"]).is_empty(), "a daemon's");
    assert!(unknown(&[]).is_empty());
}

#[test]
fn a_time_that_is_none_is_refused_with_what_it_takes() {
    for bad in ["yesterday", "10", "-5m", ""] {
        let error = parsed(&[&format!("--since={bad}")]).unwrap_err().to_string();
        assert!(error.contains("10m, 2h or 7d"), "{bad}: {error}");
    }
    assert!(parsed(&["--reason", "not a reason"]).is_err());
}
