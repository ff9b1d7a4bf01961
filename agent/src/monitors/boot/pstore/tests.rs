//! Records of each backend, in the kernel's folder and in systemd-pstore's, whole, in parts, and malformed.

use proptest::prelude::*;

use super::*;

fn record_file(path: &str, text: &str, written: Option<&str>) -> RecordFile {
    RecordFile { path: path.into(), text: text.into(), written: written.map(|time| time.parse().unwrap()) }
}

fn live(files: &[(&str, &str)]) -> PstoreDumps {
    let pstore = files.iter().map(|(path, text)| record_file(path, text, Some("2026-11-20T01:02:03Z"))).collect();
    PstoreDumps::read(&PstoreRecords { pstore, archive: Vec::new() })
}

fn archived(files: &[(&str, &str)]) -> PstoreDumps {
    let archive = files.iter().map(|(path, text)| record_file(path, text, Some("2026-11-20T01:09:09Z"))).collect();
    PstoreDumps::read(&PstoreRecords { pstore: Vec::new(), archive })
}

fn seconds(dump: &Dump) -> Option<i64> {
    dump.time.map(Timestamp::as_second)
}

fn texts(pstore: &PstoreDumps) -> Vec<&str> {
    pstore.dumps.iter().map(|dump| std::str::from_utf8(&dump.text).unwrap()).collect()
}

#[test]
fn parts_are_put_together_oldest_lines_first() {
    let pstore = live(&[
        ("dmesg-efi-176359212301001", "Panic#1 Part1\nthird\n"),
        ("dmesg-efi-176359212303001", "Panic#1 Part3\nfirst\n"),
        ("dmesg-efi-176359212402001", "Panic#1 Part2\nsecond\n"),
    ]);
    assert_eq!(texts(&pstore), ["first\nsecond\nthird"]);
    assert_eq!((pstore.dumps[0].reason, seconds(&pstore.dumps[0])), (DumpReason::Panic, Some(1_763_592_124)));
}

#[test]
fn an_oops_and_its_panic_are_two_dumps() {
    let pstore =
        live(&[("dmesg-ramoops-0", "Oops#1 Part1\nBUG: one\n"), ("dmesg-ramoops-1", "Panic#2 Part1\nKernel panic\n")]);
    assert_eq!(texts(&pstore), ["Kernel panic", "BUG: one"]);
    assert_eq!(seconds(&pstore.dumps[0]), Some("2026-11-20T01:02:03Z".parse::<Timestamp>().unwrap().as_second()));
}

#[test]
fn equal_counts_of_two_boots_are_two_dumps() {
    let pstore = live(&[
        ("dmesg-efi-176359212301001", "Panic#1 Part1\nnew\n"),
        ("dmesg-efi-176300000001001", "Panic#1 Part1\nold\n"),
        ("dmesg-efi-176300000002001", "Panic#1 Part2\nolder\n"),
    ]);
    assert_eq!(texts(&pstore), ["new", "older\nold"]);
}

#[test]
fn a_folder_of_systemd_pstore_is_one_dump_although_each_part_is_there_twice() {
    let one = "Panic#1 Part1\n<6>[    2.0] end\n";
    let two = "Panic#1 Part2\n<6>[    1.0] begin\n";
    let joined = format!("dmesg-efi-176359212302001:\n{two}dmesg-efi-176359212301001:\n{one}");
    let pstore = archived(&[
        ("1763592123/001/dmesg.txt", joined.as_str()),
        ("1763592123/001/dmesg-efi-176359212301001", one),
        ("1763592123/001/dmesg-efi-176359212302001", two),
    ]);
    assert_eq!(texts(&pstore), ["<6>[    1.0] begin\n<6>[    2.0] end"]);
    assert_eq!(seconds(&pstore.dumps[0]), Some(1_763_592_123));
}

#[test]
fn erst_ids_carry_the_time_also_where_systemd_cut_them() {
    let text = "Panic#1 Part1\nx\n";
    for path in ["dmesg-erst-7574570504653111297", "7574570504653111297/dmesg.txt", "7574570504653/dmesg.txt"] {
        let pstore = archived(&[(path, text)]);
        let reported = seconds(&pstore.dumps[0]).unwrap();
        assert!((reported - 1_763_592_126).abs() < 5, "{path}: {reported}");
    }
}

#[test]
fn an_archived_record_without_an_id_has_no_time() {
    let pstore = archived(&[("dmesg-ramoops-0", "Panic#1 Part1\nx\n")]);
    assert_eq!(pstore.dumps[0].time, None);
}

#[test]
fn a_compressed_record_is_named_and_not_guessed() {
    let pstore = live(&[("dmesg-efi-176359212301001.enc.z", "Panic#1 Part1\nnot text at all\n")]);
    assert_eq!((pstore.compressed, pstore.dumps), (vec!["dmesg-efi-176359212301001.enc.z".to_owned()], vec![]));
}

#[test]
fn a_console_is_no_dump_and_its_text_is_whole() {
    let pstore = live(&[("console-ramoops-0", "[    1.0] one\n[    2.0] two\n")]);
    assert_eq!((pstore.dumps[0].reason, texts(&pstore)), (DumpReason::Console, vec!["[    1.0] one\n[    2.0] two"]));
}

#[test]
fn a_record_without_a_header_and_one_with_a_strange_one_are_of_the_kind_other() {
    let pstore = live(&[("dmesg-foo-1", "no header\n"), ("dmesg-foo-2", "Panic#x Party\nnor here\n")]);
    assert!(pstore.dumps.iter().all(|dump| dump.reason == DumpReason::Other), "{pstore:?}");
    assert_eq!(pstore.dumps.len(), 2);
}

#[test]
fn the_same_text_has_the_same_id_wherever_they_lie() {
    let text = "Panic#1 Part1\nKernel panic - not syncing: x\n";
    let live = live(&[("dmesg-efi-176359212301001", text)]);
    let archived = archived(&[("1763592123/001/dmesg.txt", &format!("dmesg-efi-176359212301001:\n{text}"))]);
    assert_eq!(live.dumps[0].id, archived.dumps[0].id);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(
        name in "[a-z0-9.#-]{0,40}",
        text in prop::collection::vec(any::<u8>(), 0..400),
        lines in prop::collection::vec("(Panic|Oops|Huh)#[0-9]{1,12} Part[0-9]{1,12}|dmesg-efi-[0-9]{1,25}:|.{0,20}", 0..30),
    ) {
        let mut all = text;
        all.extend(lines.join("\n").into_bytes());
        let length = all.len();
        let file = RecordFile { path: name.into(), text: all, written: None };
        let read = PstoreDumps::read(&PstoreRecords { pstore: vec![file.clone()], archive: vec![file] });
        let read_bytes: usize = read.dumps.iter().map(|dump| dump.text.len()).sum();
        // Twice the same file is one: nothing is made up.
        prop_assert!(read_bytes <= length, "{read_bytes} of {length}");
    }
}
