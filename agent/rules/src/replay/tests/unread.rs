//! What is not understood of a log is named with its line.

use super::*;

/// What the rule of [`ext4`] looks for.
const FAULT: &str = "EXT4-fs error (device sda1): bad block";

fn replayed(format: Format, log: &str) -> Replayed {
    Replay::new(set_of(vec![ext4()]), format).run(log.as_bytes(), |_| {}).unwrap()
}

/// How many lines, the number of the first, and how that begins.
#[track_caller]
fn is_unread(log: &str, count: u64, number: u64, begins: &str) {
    let replayed = replayed(Format::Auto, log);
    let first = replayed.unread.first.unwrap_or_else(|| panic!("all of it was understood: {log}"));
    assert!(replayed.is_recognised, "{log}");
    assert_eq!((replayed.unread.count, first.number), (count, number), "{log}");
    assert!(first.text.starts_with(begins), "{:?}", first.text);
}

#[test]
fn a_line_of_another_form_is_named_and_what_belongs_to_a_record_is_not() {
    is_unread(
        &format!("6,1,1,-;x\n6,2,2,-;x\n[    2.000000] {FAULT}\n KEY={FAULT}\n12,3,3,-;{FAULT}\n3,4,4,-;{FAULT}\n"),
        1,
        3,
        "[    2.000000] EXT4",
    );
    let syslog = "Nov 21 02:31:05 host kernel: x\n".repeat(2);
    is_unread(
        &format!("{syslog}2026/11/21 02:31:05 host kernel: {FAULT}\n  {FAULT}\n-- {FAULT}\n\n{syslog}"),
        1,
        3,
        "2026/11/21 02:31:05 host kernel",
    );
    let dmesg = "[    1.000000] x\n".repeat(2);
    is_unread(
        &format!("{dmesg}Nov 21 02:31:05 host kernel: {FAULT}\n{FAULT}\n6,1,1,-;{FAULT}\n"),
        2,
        3,
        "Nov 21 02:31:05 host kernel",
    );
    let object = |message: &str| format!("{{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":{message}}}\n");
    let torn = format!("{{\"MESSAGE\":\"{FAULT}\n");
    let null = object("null").replace("kernel", FAULT);
    is_unread(&format!("{}{torn}{null}", object("\"x\"")), 1, 2, "{\"MESSAGE\":\"EXT4");
}

/// A text that begins so is looked at by the rules, and what they do not find in it may be there.
#[test]
fn a_time_of_dmesg_that_is_not_read_is_named() {
    let dmesg = "kern  :info  : [Jan13 04:31] [Tue Jan 13 04:31:07 2026] [T1] x\n".repeat(2);
    for time in ["[2026-01-13 04:31:07]", "[13. Jan 04:31]", "[Tue Jan 13 04:31:07 2026] [04:31:07]", "[T10489]"] {
        is_unread(&format!("{dmesg}kern  :err   : {time} [T1] {FAULT}\n"), 1, 3, &format!("kern  :err   : {time}"));
    }
    let times = "[   12.345678] ".repeat(10_000);
    is_unread(&format!("{dmesg}kern  :err   : {times}{FAULT}\n"), 1, 3, "kern  :err   : [   12.345678] [   12");
    for text in ["[drm] x: ", "[Hardware Error]: ", "[0000:00:1f.2] ", "[8086:1234] "] {
        assert_eq!(replayed(Format::Auto, &format!("{dmesg}{text}{FAULT}\n")).unread, Unread::default(), "{text}");
    }
}

/// Any program may write such a line where it is not the form of the log.
#[test]
fn a_line_of_a_journal_among_those_of_dmesg_is_named() {
    let dmesg = "[    1.000000] x\n".repeat(2);
    for line in ["kernel: ", "[    2.000000] kernel: ", "[    2.000000] host kernel: "] {
        is_unread(&format!("{dmesg}{line}{FAULT}\n"), 1, 3, line.trim_end());
    }
    let labelled = "kernel: x\n".repeat(3);
    is_unread(&format!("{labelled}  {FAULT}\nhost kernel: {FAULT}\n"), 1, 5, "host kernel: EXT4");
    // A message of `dmesg` in a journal without hosts.
    let journal = "[    1.000000] kernel: x\n".repeat(2);
    is_unread(&format!("{journal}[    2.000000] {FAULT}\n"), 1, 3, "[    2.000000] EXT4");
}

/// A program's message may have such lines, or only the first line of a log lost its blanks.
#[test]
fn an_indented_record_is_named() {
    let record = format!("Nov 21 02:31:05 host kernel: {FAULT}\n");
    is_unread(&format!("Nov 21 02:31:05 host app[1]: x\n    {record}    {FAULT}\n"), 1, 2, "Nov 21 02:31:05 host");
}

#[test]
fn what_is_torn_within_a_wrapping_is_named() {
    let docker = format!("{{\"log\":\"[    1.000000] {FAULT}\\n\",\"stream\":\"stdout\"}}\n");
    is_unread(&format!("{docker}{}\n\n{docker}", &docker[..20]), 1, 2, "{\"log\":\"[    1.000");
    let cri = format!("2026-11-21T02:31:05.123456789Z stderr F [    1.000000] {FAULT}\n");
    is_unread(&format!("{cri}{}\n{cri}", &cri[..30]), 1, 2, "2026-11-21T02");
    let message = |text: &str| format!("{{\n\"pri\": 3,\n\"time\": 1.000000,\n\"msg\": {text}\n}}");
    let json = format!("{{\n  \"dmesg\": [\n{},\n{}\n]\n}}\n", message("\"EXT4"), message("\"x\""));
    is_unread(&json, 1, 6, "\"msg\": \"EXT4");
    let entry = "__CURSOR=s\n__REALTIME_TIMESTAMP=1795228265000000\nMESSAGE=x\n";
    is_unread(&format!("{entry}\n{entry}half a line\n\n"), 1, 8, "half a line");
    let pretty = format!("{{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESSAGE\" : \"{FAULT}\n}}\n");
    let whole = pretty.replace(FAULT, "x\"");
    is_unread(&format!("{whole}{pretty}"), 1, 8, "{ \"_TRANSPORT\" : \"kernel\", \"MESSAGE\"");
}

#[test]
fn of_a_log_in_no_form_the_first_lines_are_named() {
    let log = "\nDear all,\n\nmy disk makes noises.\n";
    let Replayed { lines, is_recognised, unread } = replayed(Format::Auto, log);
    let first = unread.first.unwrap();
    assert_eq!((lines, is_recognised, unread.count), (4, false, 2));
    assert_eq!((first.number, &*first.text), (2, "Dear all,"));
    assert!(replayed(Format::Dmesg, log).is_recognised, "any line may be one of dmesg -t");
}

#[test]
fn a_log_that_is_not_of_the_form_it_was_said_to_be_in_is_not_recognised() {
    let log = format!("Nov 21 02:31:05 host kernel: x\nNov 21 02:31:06 host kernel: {FAULT}\n");
    for format in [Format::Kmsg, Format::JournalJson] {
        let Replayed { is_recognised, unread, .. } = replayed(format, &log);
        assert_eq!((is_recognised, unread.count), (false, 2), "each line once: {format:?}");
        assert_eq!(unread.first.map(|first| first.number), Some(1), "{format:?}");
    }
    for (format, log) in [(Format::Kmsg, "6,1,1,-;x\n"), (Format::JournalJson, "{\"MESSAGE\":\"x\"}\n")] {
        assert!(replayed(format, log).is_recognised, "{format:?}");
    }
}

#[test]
fn a_log_that_is_understood_names_no_line() {
    for log in [
        format!("[    1.000000] x\n[    2.000000] {FAULT}\n{FAULT}\n"),
        format!("Nov 21 02:31:05 host kernel: {FAULT}\nNov 21 02:31:05 host app[1]: {FAULT}\n"),
        format!("[Jan13 04:31] [Tue Jan 13 04:31:07 2026] [T1] {FAULT}\n[Ter Set 19 06:01:41 2017] {FAULT}\n"),
        format!("2026-01-19 16:20:19.613 host kernel: {FAULT}\n2026-01-19 16:20:19 host app[1]: {FAULT}\n"),
        format!("[    1.000000] kernel: {FAULT}\n[    1.000000] app[1]: {FAULT}\n  {FAULT}\n"),
        format!("kernel: {FAULT}\n  {FAULT}\nkernel:   {FAULT}\n"),
        format!("    kernel: {FAULT}\n    kernel: x\n"),
        format!("3,1,1,-;{FAULT}\n DEVICE=+{FAULT}\n12,2,2,-;{FAULT}\n"),
        String::new(),
    ] {
        assert_eq!(replayed(Format::Auto, &log).unread, Unread::default(), "{log}");
    }
}
