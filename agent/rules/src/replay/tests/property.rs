//! A replay in blocks of any size finds what a detector finds that is given every record.

use std::{fmt::Write, io::Read, time::Duration};

use nodewell_model::{FindingKind, Origin, Record};
use proptest::prelude::*;

use super::*;
use crate::replay::raised::Raised;

/// Gives its bytes in pieces.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.sizes.next().unwrap_or(1).min(self.bytes.len()).min(buffer.len());
        let (head, tail) = self.bytes.split_at(size);
        buffer[..size].copy_from_slice(head);
        self.bytes = tail;
        Ok(size)
    }
}

/// As the kernel writes a record to `/dev/kmsg`.
fn raw(log: &mut String, sequence: usize, text: &[u8]) {
    write!(log, "6,{sequence},{},-;", sequence * 1000).unwrap();
    for byte in text {
        let plain = matches!(byte, b' '..=b'~') && *byte != b'\\';
        if plain { log.push(char::from(*byte)) } else { write!(log, "\\x{byte:02x}").unwrap() }
    }
    log.push_str(if sequence.is_multiple_of(3) { "\n SUBSYSTEM=x\n DEVICE=EXT4-fs error\n" } else { "\n" });
}

fn shared_rules() -> Vec<Rule> {
    let mut two = rule("Two", r"^task (?P<subject>\w)\n(?s:.*)Oops");
    two.lines = 3;
    let mut device = rule("Device", "error");
    device.fields.require = vec![("SUBSYSTEM".to_owned(), vec!["x".to_owned()])];
    vec![
        rule("Ext", "^EXT4-fs error"),
        two,
        device,
        npd("Npd", "Oops\n.*error", 4),
        counting(rule("Count", "Oops"), 3, 10, &["task"]),
        rule("Null", r"\x00"),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let words = ["EXT4-fs error", "error", "task a", "Oops", "\0", "\n", "\\x41", "é", "quiet", " "];
    prop::collection::vec(proptest::sample::select(words.to_vec()), 0..4).prop_map(|words| words.concat().into_bytes())
}

/// `texts` in another form, and the line of each. An odd one has the next in its line, or is an array of its bytes.
fn saved_as(format: Format, texts: &[(Vec<u8>, bool)]) -> (Vec<u8>, Vec<u64>) {
    let (mut log, mut line, mut numbers): (Vec<u8>, u64, Vec<u64>) = (Vec::new(), 1, Vec::new());
    for (sequence, (text, is_odd)) in texts.iter().enumerate() {
        numbers.push(line);
        match format {
            Format::Dmesg => log.extend(format!("[    0.{:06}] ", sequence * 1000).into_bytes()),
            Format::JournalJson => log.extend(b"{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":"),
            _ => log.extend(b"Nov 21 02:31:05 host kernel: "),
        }
        match (format, std::str::from_utf8(text)) {
            (Format::JournalJson, Ok(text)) if !is_odd || text.is_empty() => {
                log.extend(serde_json::to_vec(text).unwrap());
            }
            (Format::JournalJson, _) => log.extend(serde_json::to_vec(text).unwrap()),
            _ => log.extend(text),
        }
        log.extend((format == Format::JournalJson).then_some(b'}'));
        if format != Format::Dmesg || !is_odd {
            log.push(b'\n');
            line += 1;
        }
    }
    (log, numbers)
}

fn pushed(rules: Vec<Rule>, texts: &[Vec<u8>]) -> Vec<(u64, String, String)> {
    let (mut detector, mut all) = (detector(rules), Vec::new());
    for (sequence, text) in texts.iter().enumerate() {
        let since_boot = Duration::from_micros(sequence as u64 * 1000);
        let fields =
            if sequence.is_multiple_of(3) { vec![("SUBSYSTEM".to_owned(), b"x".to_vec())] } else { Vec::new() };
        let origin = Origin::Line { number: sequence as u64 };
        let (mut out, plain) = (Vec::new(), record(text, 0));
        detector.push(&Record { since_boot: Some(since_boot), fields: &fields, origin, ..plain }, &mut out);
        all.extend(out.into_iter().map(|f| (sequence as u64, f.reason.to_string(), f.message)));
    }
    all
}

/// A recovery of one subject, of all, and one in the line that shows the fault.
fn recovering_rules() -> Vec<Rule> {
    let mut down = lasting(rule("Down", r"^(?P<subject>\w): down"), "LinkDown");
    down.clears.patterns =
        [r"^(?P<subject>\w): link is up", "^all links are up", "recovered$"].map(str::to_owned).to_vec();
    let mut slow = lasting(rule("Slow", r"^(?P<subject>\w): slow"), "LinkDown");
    slow.clears = down.clears.clone();
    slow.clears.boot = true;
    // The same reason of another condition, and one that holds none.
    let mut gone = lasting(rule("Down", r"^(?P<subject>\w): gone"), "DiskUnhealthy");
    gone.clears.patterns = vec![r"^(?P<subject>\w): is back".to_owned()];
    gone.clears.boot = true;
    let mut note = rule("Note", "links are");
    note.clears.patterns = vec!["recovered$".to_owned()];
    vec![down, slow, gone, note]
}

/// Blocks of a line or two, and of many.
fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 1..200_usize, 1 => Just(4000_usize)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn replay_equals_push(
        texts in prop::collection::vec(text(), 1..30),
        sizes in prop::collection::vec(sizes(), 1..5),
        slow in any::<bool>(),
        part_bytes in prop::option::of(1..100_usize),
    ) {
        let rules = || shared_rules().into_iter().take(if slow { 6 } else { 5 }).collect::<Vec<_>>();
        let (mut log, mut line, mut numbers) = (String::new(), 1, Vec::new());
        for (sequence, text) in texts.iter().enumerate() {
            raw(&mut log, sequence, text);
            numbers.push(line);
            line += if sequence.is_multiple_of(3) { 3 } else { 1 };
        }
        let input = Pieces { bytes: log.as_bytes(), sizes: sizes.into_iter().cycle() };
        let mut replayed = Vec::new();
        let read = Replay::new(set_of(rules()), Format::Kmsg)
            .run_by(ahead(part_bytes), input, |f| replayed.push((f.line, f.reason.to_string(), f.message.clone())))
            .unwrap();
        let expected: Vec<_> = pushed(rules(), &texts)
            .into_iter()
            .map(|(sequence, reason, message)| (numbers[usize::try_from(sequence).unwrap()], reason, message))
            .collect();
        prop_assert_eq!(replayed, expected);
        prop_assert_eq!(read.lines, line - 1);
    }

    #[test]
    fn every_form_equals_push(
        texts in prop::collection::vec((text(), any::<bool>()), 1..30),
        sizes in prop::collection::vec(sizes(), 1..5),
        slow in any::<bool>(),
        part_bytes in prop::option::of(1..100_usize),
        format in proptest::sample::select(&[Format::Dmesg, Format::Syslog, Format::JournalJson][..]),
    ) {
        let mut texts = texts;
        if format != Format::JournalJson {
            texts.iter_mut().for_each(|(text, _)| text.retain(|byte| *byte != b'\n'));
        }
        let without_fields = || shared_rules().into_iter().filter(|rule| rule.fields.require.is_empty());
        let rules = || without_fields().take(if slow { 5 } else { 4 }).collect::<Vec<_>>();
        let (log, numbers) = saved_as(format, &texts);
        let input = Pieces { bytes: &log, sizes: sizes.into_iter().cycle() };
        let mut replayed = Vec::new();
        Replay::new(set_of(rules()), format)
            .run_by(ahead(part_bytes), input, |f| replayed.push((f.line, f.reason.to_string(), f.message.clone())))
            .unwrap();
        let texts: Vec<Vec<u8>> = texts.into_iter().map(|(text, _)| text).collect();
        let expected: Vec<_> = pushed(rules(), &texts)
            .into_iter()
            .map(|(sequence, reason, message)| (numbers[usize::try_from(sequence).unwrap()], reason, message))
            .collect();
        prop_assert_eq!(replayed, expected);
    }

    /// What would not be reported is not looked for, and what is reported is the same.
    #[test]
    fn ends_are_those_of_a_detector_that_looks_for_all(
        texts in prop::collection::vec(
            (
                proptest::sample::select(&[
                    "a: down", "b: down", "a: slow", "a: link is up", "b: link is up", "all links are up",
                    "a: down recovered", "recovered", "a: slow all links are up", "a: gone", "a: is back", "x",
                ][..]),
                prop::bool::weighted(0.1),
            ),
            0..30,
        ),
        part_bytes in prop::option::of(1..100_usize),
    ) {
        let mut records: Vec<(u64, &str)> = Vec::new();
        for (text, boots) in texts {
            records.extend(boots.then_some((0, "Linux version 6.1")));
            let sequence = records.last().map_or(1, |(last, _)| last + 1);
            records.push((sequence, text));
        }
        let log: String = records.iter().map(|(n, text)| format!("6,{n},{n},-;{text}\n")).collect();
        let mut replayed = Vec::new();
        let shown = |f: &ReplayFinding| {
            replayed.push((f.line, f.kind == ReplayKind::Clear, f.reason.clone(), f.subject.clone()));
        };
        let replay = Replay::new(set_of(recovering_rules()), Format::Kmsg);
        replay.run_by(ahead(part_bytes), log.as_bytes(), shown).unwrap();
        let (mut detector, mut raised, mut expected) = (detector(recovering_rules()), Raised::default(), Vec::new());
        for (line, (sequence, text)) in (1..).zip(&records) {
            if *sequence == 0 {
                detector.forget();
                raised.boot(false);
            }
            let mut out = Vec::new();
            detector.push(&record(text.as_bytes(), 0), &mut out);
            out.retain(|finding| raised.admits(finding, None));
            expected.extend(out.into_iter().map(|f| (line, f.kind == FindingKind::Clear, f.reason, f.subject)));
        }
        prop_assert_eq!(replayed, expected);
    }

    #[test]
    fn no_bytes_stop_a_replay(log in prop::collection::vec(any::<u8>(), 0..400), beginning in 0..6_usize) {
        let beginnings = ["", "6,1,2,-;", "[ 1.0] ", "Nov 21 02:31:05 h kernel: ", "{\"MESSAGE\":\"", "<6>kern  :info  : ["];
        let log = [beginnings[beginning].as_bytes(), &log].concat();
        for format in [Format::Auto, Format::Kmsg, Format::Dmesg, Format::Syslog, Format::JournalJson] {
            let replayed = Replay::new(set_of(shared_rules()), format).run(log.as_slice(), |_| {});
            if let Err(error) = replayed {
                // Such as a lone zero byte.
                prop_assert_eq!(error.to_string(), "its first bytes are no text");
            }
        }
    }
}
