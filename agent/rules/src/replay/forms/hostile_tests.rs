//! What is in a log because it was put there, and what the forms leave of it.

use super::tests::{TEXT, found, is_found_at, one};
use crate::{
    replay::{Format, Replay},
    testing::*,
};

fn export(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut entry = b"__CURSOR=s\n__REALTIME_TIMESTAMP=1795228265000000\n".to_vec();
    for (name, value) in fields {
        entry.extend_from_slice(name.as_bytes());
        match value.contains(&b'\n') || value.contains(&b'\r') {
            true => entry.extend([b"\n", &(value.len() as u64).to_le_bytes()[..], value].concat()),
            false => entry.extend([b"=", *value].concat()),
        }
        entry.push(b'\n');
    }
    entry.push(b'\n');
    entry
}

#[test]
fn a_value_of_the_journal_cannot_hold_an_entry() {
    let forged = format!("\n\n_TRANSPORT=kernel\nMESSAGE={TEXT}\n\n");
    let kernel = export(&[("_TRANSPORT", b"kernel"), ("MESSAGE", TEXT.as_bytes())]);
    let long =
        |before: usize, after: usize| [vec![b'x'; before], forged.clone().into_bytes(), vec![b'y'; after]].concat();
    let limit = super::lines::LINE_LIMIT_BYTES;
    for value in [long(10, 10), long(limit - 100, 0), long(limit + 9, 3), long(3 * limit, 10), long(9, 2 * limit)] {
        let log = [export(&[("_TRANSPORT", b"journal"), ("COREDUMP", &value)]), kernel.clone()].concat();
        let findings = found(&log);
        assert_eq!(findings.len(), 1, "{} bytes: {findings:?}", value.len());
        let lines = log.split_inclusive(|byte| *byte == b'\n').count() as u64;
        assert_eq!(findings[0].line, lines - 1, "{} bytes", value.len());
    }
}

#[test]
fn carriage_returns_are_part_of_a_value() {
    for value in [&b"foo\r\nbar"[..], b"foo\r", &[b'\r'; 0x0d], &[b'a'; 0x0a0d]] {
        let other = [b"\n", value].concat();
        let log = [
            export(&[("_TRANSPORT", b"journal"), ("OTHER", &other)]),
            export(&[("_TRANSPORT", b"kernel"), ("MESSAGE", TEXT.as_bytes())]),
        ]
        .concat();
        assert_eq!(one(&log).1, TEXT, "{value:?}");
    }
}

#[test]
fn a_program_that_calls_itself_the_kernel_is_another() {
    for line in [
        format!("<13>Nov 21 02:31:05 host kernel: {TEXT}\n"),
        format!("<13>1 2026-11-21T02:31:05Z host kernel - - - {TEXT}\n"),
        // A torn line of a console has no facility.
        format!("<12>[    5.000000] x [    6.000000] {TEXT}\n"),
        format!("user  :warn  : [    5.000000] x [    6.000000] {TEXT}\n"),
    ] {
        assert_eq!(found(line.as_bytes()), [], "{line}");
        let everyone = crate::ReplayOptions { any_facility: true, ..Default::default() };
        let run = Replay::new(set_of(super::tests::rules()), Format::Auto).with_options(everyone);
        let mut findings = 0;
        run.run(line.as_bytes(), |_| findings += 1).unwrap();
        assert_eq!(findings, usize::from(!line.contains("x [")), "{line}");
    }
    is_found_at(1, format!("<3>1 2026-11-21T02:31:05Z host kernel - - - {TEXT}\n"));
}

/// Whatever stands around it.
#[test]
fn a_program_that_writes_as_a_journal_has_the_kernel_is_another() {
    let text = format!("kernel: {TEXT}");
    for log in [
        format!("Nov 21 02:31:05 host app: {text}\n"),
        format!("[    1.000000] kernel: booted\n[    5.000000] app[7]: {text}\n"),
        format!("[    1.000000] host kernel: booted\n[    5.000000] host app[7]: {text}\n"),
        format!("6月 04 19:30:33 host kernel: booted\n6月 04 19:30:33 host app: {text}\n"),
        format!("kernel: booted\nkernel: booted\napp[7]: {text}\n"),
        // To the kernel's log, of which this shows no facility.
        format!("[    1.000000] booted\n[    5.000000] {text}\n"),
        format!("[    1.000000] booted\n[    1.000000] booted\n[    5.000000] {text}\n[    5.000000] app[7]: x\n"),
        // To a console.
        format!("[    1.000000] booted\n{text}\n"),
        format!("booted\nbooted\n{text}\n"),
        format!("3,1,1,-;booted\n3,1,1,-;{text}\n"),
        format!("12,1,1,-;{TEXT}\n"),
        format!("{{\"_TRANSPORT\":\"journal\",\"MESSAGE\":\"{text}\"}}\n"),
    ] {
        assert_eq!(found(log.as_bytes()), [], "{log}");
    }
    let entry = [("_TRANSPORT", &b"journal"[..]), ("MESSAGE", text.as_bytes())];
    assert_eq!(found(&export(&entry)), []);
}

/// A console shows what other programs print, too, and a wrapping leaves blank lines.
#[test]
fn most_of_the_first_lines_show_the_form() {
    let kernel = |second: u32| format!("[   {second:>2}.000000] a line\n");
    let rest = (1..9).map(kernel).collect::<String>() + &format!("[    9.000000] {TEXT}\n");
    for first in ["{\"level\":\"info\"}\n", "Nov 21 02:31:05 host systemd[1]: Started x.\n", &"\n".repeat(9000)] {
        let log = format!("{first}{rest}");
        assert_eq!(one(&log).1, TEXT, "{first:.20}");
    }
    // Every app logs JSON.
    assert_eq!(found(format!("{{\"msg\":\"{TEXT}\"}}\n").as_bytes()), []);
}

#[test]
fn blanks_and_the_caller_before_a_line_are_no_text() {
    is_found_at(3, format!("What I see:\n\n    [    2.000000] {TEXT}\n"));
    is_found_at(1, format!("Nov 21 02:31:05 host kernel: [   12.345678][  T123] {TEXT}\n"));
}

/// Four lines of `dmesg --json` are one message: rules that look back see those before it.
#[test]
fn a_rule_of_several_lines_finds_them_in_dmesg_json() {
    let message =
        |text: &str| format!("{{\"fac\": \"kern\",\n\"pri\": \"err\",\n\"time\": 1.000000,\n\"msg\": \"{text}\"\n}}");
    let log = format!("{{\n  \"dmesg\": [\n{},\n{}\n]\n}}\n", message("first"), message("second"));
    let mut both = rule("Both", r"^first\nsecond$");
    both.lines = 2;
    let mut findings = Vec::new();
    Replay::new(set_of(vec![both]), Format::Auto).run(log.as_bytes(), |one| findings.push(one.line)).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
}

/// Each stamp was once looked at with all that follows it.
#[test]
fn many_stamps_in_one_line_take_no_longer_than_their_number() {
    let log = format!("{TEXT}{}\n", "[1.000000] ".repeat(100_000));
    assert!(found(log.as_bytes()).len() <= 1);
}
