//! Problems that end because nothing repeats them, by the clock of the log.

use std::time::Duration;

use super::*;

const SDA: &str = "EXT4-fs error (device sda1): x";

/// Over after an hour, and with the boot that showed it.
fn hour() -> Rule {
    let mut rule = ext4();
    (rule.clears.quiet, rule.clears.boot) = (Some(Duration::from_secs(3600)), true);
    rule
}

/// The lines with a finding, those with an end as negative numbers.
fn ends(rules: Vec<Rule>, log: &str) -> Vec<i64> {
    let findings = found(rules, Format::Auto, log);
    let signed = |one: &ReplayFinding| one.line.cast_signed() * if one.kind == ReplayKind::Clear { -1 } else { 1 };
    findings.iter().map(signed).collect()
}

fn dated(lines: &[(&str, &str)]) -> String {
    lines.iter().map(|(time, text)| format!("2026-11-{time}:00Z host kernel: {text}\n")).collect()
}

#[test]
fn it_is_over_by_the_next_hit_or_the_last_line() {
    let rules = || vec![hour(), rule("Oops", "^Oops")];
    // Repeated in time, over before the next thing happens, raised again, and not over at the end.
    let log = format!("[1.0] {SDA}\n[3000.0] {SDA}\n[6601.0] Oops\n[7000.0] {SDA}\n[9000.0] a line\n");
    assert_eq!(ends(rules(), &log), [1, 2, -3, 3, 4]);
    // Also by the next line that holds a piece of a pattern, where none may begin so.
    let log = format!("[1.0] {SDA}\n[3601.0] no Oops\n[9000.0] a line\n");
    assert_eq!(ends(rules(), &log), [1, -2]);
    for (last, expected) in [("3600.9", &[1_i64][..]), ("3601.0", &[1, -2])] {
        assert_eq!(ends(rules(), &format!("[1.0] {SDA}\n[{last}] a line that no rule cares for")), expected, "{last}");
    }
    assert_eq!(ends(vec![ext4()], &format!("[1.0] {SDA}\n[99999.0] x\n")), [1], "one that does not end by quiet");
}

#[test]
fn the_time_of_day_says_when() {
    let log = dated(&[("21T02:00", SDA), ("22T00:00", "x")]);
    let over = found(vec![hour()], Format::Auto, log).pop().unwrap();
    let shown = (over.line, over.kind, over.time.unwrap().to_string(), over.message.as_str());
    assert_eq!(shown, (2, ReplayKind::Clear, "2026-11-21T03:00:00Z".to_owned(), "nothing has repeated it for 1h"));
    assert_eq!((over.reason.as_str(), over.subject.as_deref()), ("Ext4Error", Some("sda1")));
    let over = found(vec![hour()], Format::Auto, format!("[1.0] {SDA}\n[3601.0] x\n")).pop().unwrap();
    assert_eq!(over.time, None, "a clock that counts from boot is no time of day");
}

#[test]
fn several_end_in_the_order_of_their_ends() {
    let sdb = SDA.replace("sda1", "sdb");
    let log = dated(&[("21T02:00", &sdb), ("21T02:10", SDA), ("21T02:20", &sdb), ("21T09:00", "x")]);
    let found = found(vec![hour()], Format::Auto, log);
    let over: Vec<_> = found[3..].iter().map(|one| one.subject.as_deref().unwrap()).collect();
    assert_eq!(over, ["sda1", "sdb"]);
}

#[test]
fn a_line_that_comes_late_does_not_end_it_sooner() {
    let log = dated(&[("21T05:00", SDA), ("21T04:00", SDA), ("21T05:30", "x")]);
    assert_eq!(ends(vec![hour()], &log), [1, 2]);
    let log = dated(&[("21T05:00", SDA), ("21T04:00", SDA), ("21T06:00", "x")]);
    assert_eq!(ends(vec![hour()], &log), [1, 2, -3]);
}

#[test]
fn what_was_cleared_does_not_end_again() {
    let mut clears = hour();
    clears.clears.patterns = vec!["^all is well".to_owned()];
    let log = dated(&[("21T05:00", SDA), ("21T05:10", "all is well"), ("21T09:00", "all is well")]);
    assert_eq!(ends(vec![clears.clone()], &log), [1, -2]);
    // And what is over by quiet is not ended by a line that comes too late.
    let log = dated(&[("21T05:00", SDA), ("21T06:10", "all is well")]);
    assert_eq!(ends(vec![clears], &log), [1, -2]);
}

#[test]
fn without_a_clock_nothing_is_known_of_its_end() {
    let undated = format!("host kernel: {SDA}");
    // Of syslog without a year no time is known without a calendar.
    let log = format!("Nov 21 02:00:00 {undated}\nNov 22 02:00:00 {undated}\nNov 23 02:00:00 host cron: x\n");
    assert_eq!(ends(vec![hour()], &log), [1, 2]);
    // Repeated at an unknown time.
    let log = dated(&[("21T02:00", SDA)]) + &format!("Nov 21 09:00:00 {undated}\n") + &dated(&[("22T09:00", "x")]);
    assert_eq!(ends(vec![hour()], &log), [1, 2]);
    // Two clocks: a boot's seconds are no time of day.
    let log = dated(&[("21T02:00", SDA)])
        + &format!("Nov 21 09:00:00 host kernel: [99999.0] {SDA}\n")
        + &dated(&[("21T02:10", "x")]);
    assert_eq!(ends(vec![hour()], &log), [1, 2]);
}

#[test]
fn lines_without_a_clock_may_end_the_log() {
    for (blank, is_seen) in [("\n".repeat(3), true), (" \n\t\n".to_owned(), true), ("x\n".repeat(64), false)] {
        let log = format!("[1.0] {SDA}\n[9999.0] x\n{blank}");
        let lines = i64::try_from(log.lines().count()).unwrap();
        assert_eq!(ends(vec![hour()], &log), if is_seen { vec![1, -lines] } else { vec![1] }, "{blank:?}");
    }
    let kmsg = format!("3,1,1000000,-;{SDA}\n6,2,9999000000,-;usb\n SUBSYSTEM=usb\n DEVICE=c189:1\n");
    assert_eq!(ends(vec![hour()], &kmsg), [1, -4]);
}

#[test]
fn a_block_of_blanks_alone_is_no_end() {
    let log = format!("[1.0] {SDA}\n{}", " ".repeat(600 << 10));
    assert_eq!(ends(vec![hour()], &log), [1]);
    let log = format!("[1.0] {SDA}\n[9999.0] x\n{}", "\n".repeat(600 << 10));
    assert_eq!(ends(vec![hour()], &log), [1, -(2 + (600 << 10))], "the clock of an earlier block");
}

#[test]
fn a_boot_ends_what_does_not_outlive_it() {
    let log = format!("[100.0] {SDA}\n[0.5] Oops\n[0.6] Oops\n[9000.0] Oops\n");
    let oops = || rule("Oops", "^Oops");
    assert_eq!(ends(vec![hour(), oops()], &log), [1, 2, 3, 4]);
    let mut outlives = hour();
    outlives.clears.boot = false;
    // An hour of the second boot has passed without it.
    assert_eq!(ends(vec![outlives.clone(), oops()], &log), [1, 2, 3, -4, 4]);
    let early = format!("[100.0] {SDA}\n[0.5] Oops\n[3599.0] Oops\n");
    assert_eq!(ends(vec![outlives.clone(), oops()], &early), [1, 2, 3]);
    // By the time of day it goes on.
    let log = format!(
        "2026-11-21T02:00:00Z host kernel: [100.0] {SDA}\n2026-11-21T02:10:00Z host kernel: [0.5] Oops\n\
         2026-11-21T03:00:00Z host kernel: [3000.0] Oops\n"
    );
    assert_eq!(ends(vec![outlives, oops()], &log), [1, 2, -3, 3]);
    assert_eq!(ends(vec![hour(), oops()], &log), [1, 2, 3]);
}

#[test]
fn a_recovery_line_of_the_next_boot_ends_what_outlives_a_boot() {
    let mut clears = ext4();
    clears.clears.patterns = vec!["^all is well".to_owned()];
    let log = format!("[100.0] {SDA}\n[0.5] all is well\n");
    assert_eq!(ends(vec![clears.clone()], &log), [1, -2]);
    clears.clears.boot = true;
    assert_eq!(ends(vec![clears], &log), [1]);
}

#[test]
fn more_than_are_held_at_once_are_shown_and_do_not_end() {
    let line = |n: u32| format!("[{}.{:02}] {}\n", n / 100, n % 100, SDA.replace("sda1", &format!("sd{n}")));
    let log: String = (0..70_000).map(line).chain(["[9999.0] x\n".to_owned()]).collect();
    let found = found(vec![hour()], Format::Auto, log);
    let over = found.iter().filter(|one| one.kind == ReplayKind::Clear).count();
    assert_eq!((found.len() - over, over), (70_000, 65_536));
}

/// As syslog with the kernel's seconds does.
#[test]
fn the_journal_names_its_boots() {
    let entry = |boot: char, text: &str| {
        let id = boot.to_string().repeat(32);
        format!(
            "{{\"_BOOT_ID\":\"{id}\",\"__REALTIME_TIMESTAMP\":\"1\",\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"{text}\"}}\n"
        )
    };
    let rules = || {
        let mut rule = hour();
        rule.clears.patterns = vec![r"^EXT4-fs \((?P<subject>[^)]+)\): mounted".to_owned()];
        vec![rule]
    };
    let healthy = "EXT4-fs (sda1): mounted";
    let (one, other) = (entry('a', SDA), entry('b', healthy));
    assert_eq!(ends(rules(), &format!("{one}{}", entry('a', healthy))), [1, -2]);
    assert_eq!(ends(rules(), &format!("{one}{other}")), [1]);
    // Of two machines each has its own.
    assert_eq!(ends(rules(), &format!("{}{one}{}{}", entry('b', "x"), entry('b', "x"), entry('a', healthy))), [2, -4]);
}
