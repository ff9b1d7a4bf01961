//! One kernel line and one of a service, in every form that people save them in.

use super::*;
use crate::{
    replay::{Format, Replay, ReplayFinding},
    rule::{FieldFilter, Rule},
    testing::*,
};

pub(super) const TEXT: &str = "EXT4-fs error (device sda1): bad block";

pub(super) fn rules() -> Vec<Rule> {
    vec![lasting(rule("Ext4Error", r"^EXT4-fs error \(device (?P<subject>[^)]+)\)"), "DiskUnhealthy")]
}

pub(super) fn found(log: &[u8]) -> Vec<ReplayFinding> {
    let mut findings = Vec::new();
    Replay::new(set_of(rules()), Format::Auto).run(log, |finding| findings.push(finding.clone())).unwrap();
    findings
}

/// The number and the message of the one line that is found.
pub(super) fn one(log: impl AsRef<[u8]>) -> (u64, String) {
    let log = log.as_ref();
    let findings = found(log);
    assert_eq!(findings.len(), 1, "{}: {findings:?}", String::from_utf8_lossy(log));
    (findings[0].line, findings[0].message.clone())
}

pub(super) fn is_found_at(number: u64, log: impl AsRef<[u8]>) {
    assert_eq!(one(log), (number, TEXT.to_owned()));
}

#[test]
fn encodings_are_taken_off() {
    let log = format!("[    1.000000] booted \u{1f680}\r\n[    2.000000] {TEXT}\r\n");
    let units = || log.encode_utf16();
    let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
    for bytes in [[&b"\xff\xfe"[..], &little].concat(), [&b"\xfe\xff"[..], &big].concat(), little, big] {
        is_found_at(2, bytes);
    }
    is_found_at(2, [MARK, log.as_bytes()].concat());
}

#[test]
fn half_a_pair_is_a_replacement_wherever_a_read_ends() {
    struct Bytewise<'a>(&'a [u8]);
    impl Read for Bytewise<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let units = [0xfeff, 0x61, 0xd83d, 0xde80, 0xdc00, 0x62, 0xd800];
    let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
    let mut text = String::new();
    utf16::Utf16::new(Bytewise(&bytes), utf16::Order::Little).read_to_string(&mut text).unwrap();
    assert_eq!(text, "a\u{1f680}\u{fffd}b\u{fffd}");
}

#[test]
fn colours_fences_and_quotations_are_taken_off() {
    is_found_at(
        2,
        format!(
            "\x1b[32m[    1.000000] \x1b[0m\x1b[33musb\x1b[0m: x\n\x1b[32m[    2.000000] \x1b[0m\x1b[1;31m{TEXT}\x1b[0m\n"
        ),
    );
    is_found_at(2, format!("> [    1.000000] booted\n> [    2.000000] {TEXT}\n"));
    is_found_at(2, format!("> > [    1.000000] booted\n>> [    2.000000] {TEXT}\n"));
    is_found_at(2, format!("    [    1.000000] booted\n    [    2.000000] {TEXT}\n"));
    is_found_at(4, format!("What I see:\n```\n[    1.000000] booted\n[    2.000000] {TEXT}\n```\n"));
}

/// Of the lines in a block of code; what a message has before it stays.
#[test]
fn blanks_before_all_lines_are_taken_off() {
    for before in [" ", "  ", "    ", "\t", "> ", ">     ", ">> \t", "    kernel: ", "> kernel: ", ">     kernel: "] {
        is_found_at(2, format!("{before}booted\n{before}{TEXT}\n{before}  more\n"));
        assert_eq!(found(format!("{before}booted\n{before} {TEXT}\n").as_bytes()), [], "{before:?}");
    }
    is_found_at(3, format!("  booted\n  \n  {TEXT}\n"));
    is_found_at(3, format!("```\n  kernel: booted\n  kernel: {TEXT}\n```\n"));
    // Words around it.
    let block = "    booted\n".repeat(9);
    is_found_at(12, format!("What I see:\n\n{block}    {TEXT}\n"));
    let block = "    Nov 21 02:31:05 host kernel: booted\n".repeat(9);
    is_found_at(12, format!("What I see:\n\n{block}    Nov 21 02:31:05 host kernel: {TEXT}\n"));
}

/// What is not before every line is a message's own, or shows that a program wrote it.
#[test]
fn blanks_that_only_some_lines_have_are_left() {
    let many = |line: &str| line.repeat(20);
    for log in [
        format!("booted\n{}   {TEXT}\n", many("   x\n")),
        format!("booted\n\t{TEXT}\n"),
        format!("booted\n    {TEXT}\n    x\n"),
        // The second line of what a program wrote to a journal is as far in as the first.
        format!("11:23:42 PM app[7]: x\n{0}{1}{TEXT}\n", many(&format!("{:21}x\n", "")), " ".repeat(21)),
        format!("Nov 21 02:31:05 host app[7]: x\n{}    Nov 21 02:31:05 host kernel: {TEXT}\n", many("    x\n")),
        format!("[    1.000000] booted\n{}    {TEXT}\n", many("    x\n")),
        format!("    Nov 21 02:31:05 host app[7]: x\n         {TEXT}\n"),
    ] {
        assert_eq!(found(log.as_bytes()), [], "{log}");
    }
}

#[test]
fn logs_of_containers_are_opened() {
    let docker =
        |text: &str| format!("{{\"log\":\"{text}\",\"stream\":\"stdout\",\"time\":\"2026-11-21T02:31:05.1Z\"}}\n");
    is_found_at(2, docker("[    1.000000] booted\\n") + &docker(&format!("[    2.000000] {TEXT}\\n")));
    is_found_at(
        3,
        docker("[    1.000000] booted\\n")
            + &docker("[    2.000000] EXT4-fs error (device ")
            + &docker("sda1): bad block\\n"),
    );
    let cri = |tag: &str, text: &str| format!("2026-11-21T02:31:05.123456789Z stderr {tag} {text}\n");
    is_found_at(2, cri("F", "[    1.000000] booted") + &cri("F", &format!("[    2.000000] {TEXT}")));
    is_found_at(
        3,
        cri("F", "[    1.000000] booted")
            + &cri("P", "[    2.000000] EXT4-fs error (device ")
            + &cri("F", "sda1): bad block"),
    );
    // A quotation of one.
    is_found_at(1, format!("> {}", cri("F", &format!("[    2.000000] {TEXT}"))));
}

#[test]
fn dmesg_json_is_read() {
    let numbers = format!(
        "{{\n   \"dmesg\": [\n      {{\n         \"pri\": 6,\n         \"time\":     1.000000,\n         \"msg\": \"booted\"\n      }},{{\n         \"pri\": 3,\n         \"time\":     2.000000,\n         \"msg\": \"{TEXT}\"\n      }}\n   ]\n}}\n"
    );
    is_found_at(10, &numbers);
    is_found_at(
        10,
        numbers.replace("\"pri\": 3", "\"fac\": \"kern\",\"pri\": \"err\"").replace("kern\",", "kern\",\n").replacen(
            "\"pri\": 6,\n",
            "",
            1,
        ),
    );
    assert_eq!(found(numbers.replace("\"pri\": 3", "\"pri\": 11").as_bytes()), [], "user space wrote it");
}

#[test]
fn syslog_of_rfc_5424_and_talos_are_read() {
    let line = |data: &str| format!("<3>1 2026-11-21T02:31:05.123Z host kernel - - {data} {TEXT}\n");
    for data in ["-", "[a@1 b=\"c\"]", "[a@1 b=\"]\\\" \"][x]"] {
        is_found_at(2, format!("<30>1 2026-11-21T02:31:05.123Z host app 12 - - x\n{}", line(data)));
    }
    is_found_at(
        2,
        format!("<30>1 2026-11-21T02:31:05.123Z host app 12 - - x\n{}", line("-").replace("- EXT4", "- \u{feff}EXT4")),
    );
    let talos = |address: &str, time: &str| {
        format!("{address}kern:    info: [{time}]: booted\n{address}kern: warning: [{time}]: {TEXT}\n")
    };
    for address in ["", "192.168.1.2: "] {
        for time in ["2026-11-21T02:31:05.123Z", "2026-11-21T02:31:05Z"] {
            is_found_at(2, talos(address, time));
            assert_eq!(found(talos(address, time).as_bytes())[0].time.unwrap().as_second(), 1_795_228_265);
        }
        assert_eq!(found(talos(address, "2026-11-21T02:31:05Z").replace("kern", "user").as_bytes()), []);
    }
}

#[test]
fn every_output_of_journalctl_is_read() {
    let entry = |text: &str| {
        format!(
            "\"__REALTIME_TIMESTAMP\" : \"1795228265000000\",\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESSAGE\" : \"{text}\""
        )
    };
    is_found_at(10, format!("{{\n\t{}\n}}\n{{\n\t{}\n}}\n", entry("x"), entry(TEXT)));
    let json = format!("{{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"{TEXT}\"}}");
    is_found_at(1, format!("\x1e{json}\n"));
    is_found_at(1, format!("data: {json}\n\n"));
    let export = |message: &[u8]| {
        [b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795228265000000\n_TRANSPORT=kernel\n", message, b"\n\n"].concat()
    };
    is_found_at(9, [export(b"MESSAGE=x"), export(format!("MESSAGE={TEXT}").as_bytes())].concat());
    // A length of ten is a newline, too.
    for text in [TEXT.to_owned(), format!("{TEXT}\n\nmore"), "0123456789".to_owned()] {
        let binary = [b"MESSAGE\n", &(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let log = [export(&binary), export(format!("MESSAGE={TEXT}").as_bytes())].concat();
        let findings = found(&log);
        assert_eq!(findings.last().unwrap().message.lines().next(), Some(TEXT));
        assert_eq!(findings.len(), 1 + usize::from(text.starts_with(TEXT)), "{text}");
    }
    let header =
        "Sat 2026-11-21 02:31:05.000000 UTC [s=0a;i=1;b=00000000000000000000000000000001;m=f4240;t=6609a9c2d8a40;x=1]";
    let log = format!(
        "{header}\n    _TRANSPORT=kernel\n    MESSAGE=x\n             more\n{header}\n    MESSAGE={TEXT}\n    _TRANSPORT=kernel\n"
    );
    is_found_at(7, &log);
    assert!(found(log.as_bytes())[0].time.is_some());
}

/// What a journal's text shows of a unit has to name it: descriptions are many units'.
#[test]
fn a_start_counts_for_the_unit_that_is_named() {
    let of_unit = |unit: &str| {
        let require = vec![("_PID".to_owned(), vec!["1".to_owned()]), ("UNIT".to_owned(), vec![unit.to_owned()])];
        let reason = if unit == "kubelet.service" { "KubeletStart" } else { "CrioStart" };
        Rule { reader: 1, fields: FieldFilter { require, without: vec![] }, ..rule(reason, "^Started ") }
    };
    let set = set_of(vec![of_unit("kubelet.service"), of_unit("crio.service")]);
    let count = |text: &str| {
        let mut reasons = Vec::new();
        let log = format!("Nov 21 02:31:05 host systemd[1]: {text}\n");
        let replay = Replay::new(set.clone(), Format::Auto);
        replay.run(log.as_bytes(), |finding| reasons.push(finding.reason.to_string())).unwrap();
        reasons
    };
    assert_eq!(count("Started kubelet.service - kubelet: The Kubernetes Node Agent."), ["KubeletStart"]);
    assert_eq!(count("Started Daily apt download activities."), [""; 0]);
}

#[test]
fn lines_that_a_console_ran_together_are_two() {
    let log = format!("[   76.470085] x: vmalloc: 348 bytes[   76.471107] {TEXT}\n");
    is_found_at(1, log);
    is_found_at(1, format!("[    1.000000] cut o[    2.000000] and ag[    3.000000] {TEXT}\n"));
    // What one message quotes is no other.
    assert_eq!(found(format!("app says [    2.000000] {TEXT}\n").as_bytes()), []);
}

#[test]
fn what_is_no_text_is_an_error_and_zeros_of_a_lost_machine_are_not() {
    let run = |log: &[u8]| Replay::new(set_of(rules()), Format::Auto).run(log, |_| {});
    assert!(run(&[0; 4096]).unwrap_err().to_string().contains("no text"));
    let zeros = [
        b"[    1.000000] booted\n".repeat(9),
        vec![0; 40],
        b"\n".to_vec(),
        format!("[    2.000000] {TEXT}\n").into_bytes(),
    ]
    .concat();
    is_found_at(11, zeros);
    assert!(!run(b"nothing that anything writes\n").unwrap().is_recognised);
    assert!(run(b"[    1.000000] booted\n").unwrap().is_recognised && run(b"").unwrap().lines == 0);
}

#[test]
fn nothing_of_any_size_or_kind_breaks_it() {
    let beginnings: [&[u8]; 9] = [
        b"{\"log\":\"",
        b"__CURSOR=\n",
        b"MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff",
        b"{\n\t\"",
        b"{\n  \"dmesg\": [\n",
        b"\x1e{",
        b"<3>1 ",
        b"2026-11-21T02:31:05.123456789Z stdout P ",
        b"\x1b[",
    ];
    for beginning in beginnings {
        let mut log = [b"__CURSOR=x\n", beginning].concat();
        log.resize(3 << 20, b'x');
        found(&log);
        let lines = [beginning, b"\n"].concat().repeat(1000);
        found(&lines);
    }
}
