//! `[limits]`: what it resolves to, what it refuses.

use nodewell_checks::limits::{Levels, LimitsSettings};

use super::*;

fn parsed(text: &str) -> Result<LimitsSettings, Vec<String>> {
    read(text).map(|config| config.checks.limits)
}

#[test]
fn nothing_said_is_the_checks_own_defaults() {
    assert_eq!(parsed("").unwrap(), LimitsSettings::default());
    assert_eq!(parsed("[limits]\n").unwrap(), LimitsSettings::default());
}

#[test]
fn every_key_arrives() {
    let settings = parsed(
        "[limits]\nenabled = false\ninterval = \"10s\"\nfor = \"1ms\"\nkeep-firing-for = \"1m\"\nconntrack-percent = [9, 8]\n\
         conntrack-drops = 7\nfile-handles-percent = [6, 5]\ntasks-percent = [4, 3]\nmemory-pressure-percent = [12, 11]\n\
         cpu-pressure-percent = [14, 13]\nio-pressure-percent = [16, 15]\nswap-pages-per-second = [18, 17]\n\
         zombies = [20, 19]\nblocked-tasks = [22, 21]\nleaks = false\noom-kills-per-hour = 23\n\
         certificates = [\"/a.pem\"]\ncertificate-days = 24\n",
    )
    .unwrap();
    let expected = LimitsSettings {
        enabled: false,
        interval: Duration::from_secs(10),
        for_duration: Duration::from_millis(1),
        keep_firing_for: Duration::from_secs(60),
        conntrack_percent: Levels::new(9, 8),
        conntrack_drops: 7,
        file_handles_percent: Levels::new(6, 5),
        tasks_percent: Levels::new(4, 3),
        memory_pressure_percent: Levels::new(12, 11),
        cpu_pressure_percent: Levels::new(14, 13),
        io_pressure_percent: Levels::new(16, 15),
        swap_pages_per_second: Levels::new(18, 17),
        zombies: Levels::new(20, 19),
        blocked_tasks: Levels::new(22, 21),
        leaks: false,
        oom_kills_per_hour: 23,
        certificates: vec!["/a.pem".into()],
        certificate_days: 24,
    };
    assert_eq!(settings, expected);
}

#[test]
fn a_later_file_has_the_last_word_key_by_key() {
    let first = "[limits]\nzombies = [9, 8]\ncertificates = [\"/a\"]\n";
    let both = read_all(&[first, "[limits]\ncertificates = []\nleaks = false\n"]).unwrap().checks.limits;
    assert_eq!((both.zombies, both.certificates.len(), both.leaks), (Levels::new(9, 8), 0, false));
}

#[test]
fn every_error_is_reported_with_its_line() {
    let diagnostics = parsed(
        "[limits]\nconntrack-percent = [80, 90]\nzombies = [1]\ntasks-percent = [101, 5]\ninterval = \"1s\"\n\
         for = \"25h\"\ncertificates = [\"a.pem\"]\nzombie = 1\nblocked-tasks = 5\n",
    )
    .unwrap_err();
    for (line, text) in [
        (2, "begins at 80 and would end below 90"),
        (3, "takes two numbers"),
        (4, "tasks-percent"),
        (5, "from 5s to 7d"),
        (6, "at most 1d"),
        (7, "no absolute path"),
        (8, "unknown key"),
        (9, "an array"),
    ] {
        let matches = |diagnostic: &&String| {
            diagnostic.starts_with(&format!("nodewell.toml:{line}:")) && diagnostic.contains(text)
        };
        assert_eq!(diagnostics.iter().filter(matches).count(), 1, "{line}: {diagnostics:#?}");
    }
    assert_eq!(diagnostics.len(), 8, "{diagnostics:#?}");
}

#[test]
fn the_shipped_file_says_what_holds() {
    let shipped = include_str!("../../../../packaging/nodewell.toml");
    let start = shipped.find("#[limits]").unwrap();
    let rest = &shipped[start..];
    let end = rest.find("\n\n").unwrap_or(rest.len());
    let lines = rest[..end].lines().map(|line| match line.strip_prefix('#') {
        Some(line) if !line.starts_with(' ') => line,
        _ => "",
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let usual = LimitsSettings::default();
    let read = LimitsSettings { certificates: usual.certificates.clone(), ..parsed(&text).unwrap() };
    assert_eq!(read, usual);
    assert!(text.lines().count() > LimitsSettings::keys().len());
}
