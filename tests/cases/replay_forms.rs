//! `nodewell replay` of every form that people have a log in: each is read, or refused with a word and an exit code.

use std::{
    fs,
    io::{self, Write},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::Duration,
};

use nodewell_tests::{
    cli::{Outcome, binary, nodewell},
    suite::{Need, Suite},
    wait::until_within,
};
use serde_json::Value;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("replay_forms")
        .case("every_form_that_is_read_gives_its_finding", every_form_that_is_read_gives_its_finding)
        .case("what_is_no_log_is_refused_with_a_word", what_is_no_log_is_refused_with_a_word)
        .case("lines_of_another_form_are_named", lines_of_another_form_are_named)
        .case_with(&[Need::LongSuite], "a_bomb_costs_little_and_hides_nothing", a_bomb_costs_little_and_hides_nothing)
        .case_with(&[Need::LongSuite], "two_gigabytes_from_a_pipe_are_read", two_gigabytes_from_a_pipe_are_read);
}

const OOPS: &str = "BUG: kernel NULL pointer dereference, address: 0000000000000008";
/// The boot of a machine with nothing wrong, as raw records: more than shows what a file is.
const BOOT: &[u8] = include_bytes!("../../agent/rules/tests/captures/boot-6.1.kmsg");
/// Optimised or not.
const LONG: Duration = Duration::from_secs(900);
/// Far less than is read; most of it are pages of a program that is not optimised.
const MOST_KIB: u64 = 100 * 1024;

/// What a form has before each line.
const PREFIXES: [(&str, &str); 32] = [
    ("dmesg", "[   12.345678] "),
    ("dmesg with the caller", "[   12.345678][  T123] "),
    ("dmesg -r", "<4>[   12.345678] "),
    ("dmesg -x", "kern  :warn  : [   12.345678] "),
    ("dmesg -T", "[Sat Nov 21 02:31:05 2026] "),
    ("dmesg -T in Portuguese", "[Ter Set 19 06:01:41 2017] "),
    ("dmesg -e", "[Nov21 02:31] "),
    ("dmesg with several times", "kern  :warn  : [Nov21 02:31] [Sat Nov 21 02:31:05 2026] [T10489] "),
    ("dmesg --time-format iso", "2026-11-21T02:31:05,123456+00:00 "),
    ("dmesg -t, journalctl -o cat", ""),
    ("kernel: and no more", "kernel: "),
    ("a console of z/VM", "00: [   12.345678] "),
    ("kmsg", "4,7,12345678,-;"),
    ("RFC 3164", "Nov 21 02:31:05 host kernel: [   12.345678] "),
    ("RFC 3164 with the caller alone", "Nov 21 02:31:05 host kernel: [ T1772] "),
    ("RFC 5424", "<4>1 2026-11-21T02:31:05.123Z host kernel - - - "),
    ("a date and a time without a zone", "2026-11-21 02:31:05.123 host kernel: "),
    ("journalctl -o short", "Nov 21 02:31:05 host kernel: "),
    ("journalctl -o short in Chinese", "6月 04 19:30:33 host kernel: "),
    ("journalctl -o short-precise", "Nov 21 02:31:05.123456 host kernel: "),
    ("journalctl -o short-iso", "2026-11-21T02:31:05+0000 host kernel: "),
    ("journalctl -o short-iso-precise", "2026-11-21T02:31:05.123456+00:00 host kernel: "),
    ("journalctl -o short-full, with-unit", "Sat 2026-11-21 02:31:05 UTC host kernel: "),
    ("journalctl -o short-monotonic", "[   12.345678] host kernel: "),
    ("journalctl -o short-monotonic --no-hostname", "[   12.345678] kernel: "),
    ("journalctl -o short-delta", "[   12.345678 <    0.000012>] host kernel: "),
    ("journalctl -o short-unix", "1795228265.123456 host kernel: "),
    ("talosctl dmesg", "10.0.0.2: kern: warning: [2026-11-21T02:31:05.123Z]: "),
    ("a quotation", "> [   12.345678] "),
    ("indented code", "    "),
    ("a quotation of indented code", ">> \tkernel: "),
    ("a quotation of lines without a prefix", "> "),
];

fn every_form_that_is_read_gives_its_finding() {
    let prefixed = PREFIXES.map(|(form, prefix)| (form, format!("{prefix}usb 1-1: x\n{prefix}{OOPS}\n").into_bytes()));
    let wrong: Vec<String> = prefixed.into_iter().chain(wrapped()).filter_map(is_found_once).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with what is found of it.
fn is_found_once((form, log): (&str, Vec<u8>)) -> Option<String> {
    let outcome = replayed(&log, &["--json"]);
    let rows: Vec<Value> = outcome.stdout.lines().filter_map(|row| serde_json::from_str(row).ok()).collect();
    let is_right = outcome.code == 0 && matches!(&rows[..], [row] if row["reason"] == "KernelOops");
    (!is_right).then(|| format!("{form}: {outcome:?}"))
}

fn wrapped() -> Vec<(&'static str, Vec<u8>)> {
    let dmesg = format!("[   12.345678] usb 1-1: x\n[   13.345678] {OOPS}\n");
    let units = || dmesg.encode_utf16();
    let texts = journals().into_iter().chain(containers()).chain([
        ("dmesg --json", dmesg_json()),
        ("colours", format!("\x1b[32m[   12.345678] \x1b[0mx\n\x1b[32m[   13.345678] \x1b[0m\x1b[1m{OOPS}\x1b[0m\n")),
        ("a block of Markdown", format!("What I see:\n```\n{dmesg}```\n")),
        ("lines that a console ran together", format!("[   76.470085] x: vmalloc: 348 bytes[   76.471107] {OOPS}\n")),
        ("carriage returns", dmesg.replace('\n', "\r\n")),
    ]);
    let mut all: Vec<(&str, Vec<u8>)> = texts.map(|(form, text)| (form, text.into_bytes())).collect();
    all.extend([
        ("UTF-8 with its mark", [&b"\xef\xbb\xbf"[..], dmesg.as_bytes()].concat()),
        ("UTF-16, little end first", [b"\xff\xfe".to_vec(), units().flat_map(u16::to_le_bytes).collect()].concat()),
        ("UTF-16, big end first", [b"\xfe\xff".to_vec(), units().flat_map(u16::to_be_bytes).collect()].concat()),
        ("gzip", include_bytes!("../../agent/tests/saved/oops.log.gz").to_vec()),
        ("xz", include_bytes!("../../agent/tests/saved/oops.log.xz").to_vec()),
        ("zstd", include_bytes!("../../agent/tests/saved/oops.log.zst").to_vec()),
    ]);
    all
}

fn dmesg_json() -> String {
    let message = |text: &str| {
        format!(
            "      {{\n         \"pri\": 4,\n         \"time\":    12.345678,\n         \"msg\": \"{text}\"\n      }}"
        )
    };
    format!("{{\n   \"dmesg\": [\n{},{}\n   ]\n}}\n", message("usb 1-1: x"), message(OOPS).trim_start())
}

/// The outputs of `journalctl` that are no lines of syslog.
fn journals() -> [(&'static str, String); 6] {
    let json =
        format!("{{\"__REALTIME_TIMESTAMP\":\"1795228265000000\",\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"{OOPS}\"}}\n");
    let header =
        "Sat 2026-11-21 02:31:05.000000 UTC [s=0a;i=1;b=00000000000000000000000000000001;m=f4240;t=6609a9c2d8a40;x=1]";
    [
        ("journalctl -o json", json.clone()),
        ("journalctl -o json-seq", format!("\x1e{json}")),
        ("journalctl -o json-sse", format!("data: {json}\n")),
        ("journalctl -o json-pretty", format!("{{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESSAGE\" : \"{OOPS}\"\n}}\n")),
        (
            "journalctl -o export",
            format!("__CURSOR=s\n__REALTIME_TIMESTAMP=1795228265000000\n_TRANSPORT=kernel\nMESSAGE={OOPS}\n\n"),
        ),
        ("journalctl -o verbose", format!("{header}\n    _TRANSPORT=kernel\n    MESSAGE={OOPS}\n")),
    ]
}

/// What runtimes make of a container that prints the kernel's log.
fn containers() -> [(&'static str, String); 2] {
    let docker = |text: &str| {
        format!("{{\"log\":\"[   12.345678] {text}\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-21T02:31:05.1Z\"}}\n")
    };
    let cri = |text: &str| format!("2026-11-21T02:31:05.123456789Z stdout F [   12.345678] {text}\n");
    [("json-file", docker("usb 1-1: x") + &docker(OOPS)), ("CRI", cri("usb 1-1: x") + &cri(OOPS))]
}

fn what_is_no_log_is_refused_with_a_word() {
    let mut tar = vec![0; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    let mut cut = include_bytes!("../../agent/tests/saved/oops.log.gz").to_vec();
    cut.truncate(60);
    let refused: [(&[u8], &str); 11] = [
        (b"BZh91AY&SY\x5f\x3a", "it is compressed by bzip2: bzip2 -dc"),
        (b"PK\x03\x04\x14\0\0\0", "it is a zip archive: unzip -p"),
        (b"\x04\x22\x4d\x18\x64\x40", "it is compressed by lz4: lz4 -dc"),
        (b"7z\xbc\xaf\x27\x1c", "it is a 7z archive"),
        (&tar, "it is a tar archive: tar -xOf"),
        (b"LPKSHHRH\0\0\0\0", "it is a file of the journal: journalctl --file"),
        (b"SQLite format 3\0", "it is a database of SQLite"),
        (&[0; 4096], "its first bytes are no text"),
        (&cut, "its compressed form is damaged or cut short"),
        (
            b"Dear all,\nmy node is slow.\n",
            "none of the first 2 lines is in a form of log that I know (line 1: \"Dear all,\")",
        ),
        (b"\n\n", "nothing in the log but blank lines"),
    ];
    for (bytes, word) in refused {
        let outcome = replayed(bytes, &[]);
        assert_eq!((outcome.code, &*outcome.stdout), (65, ""), "{word}: {outcome:?}");
        assert!(outcome.stderr.contains(word), "{word}: {outcome:?}");
    }
    let program = nodewell(["replay".as_ref(), binary("nodewell").as_os_str()]);
    assert!(program.code == 65 && program.stderr.contains("it is a program"), "{program:?}");
    // As JSON the line is on stdout, too.
    let outcome = replayed(b"Dear all,\n", &["--json"]);
    assert_eq!((outcome.code, &outcome.json()["kind"], &outcome.json()["line"]), (65, &"unread".into(), &1.into()));
    let given = replayed(format!("[    1.000000] {OOPS}\n").as_bytes(), &["--format", "kmsg"]);
    assert!(given.code == 65 && given.stderr.contains("in the form that --format names (line 1: "), "{given:?}");
}

fn lines_of_another_form_are_named() {
    let line = format!("Nov 21 02:31:05 host kernel: {OOPS}\n");
    let other = format!("2026/11/21 02:31:06 host kernel: {OOPS}\n");
    let log = [&*line, &other, &line, &other].concat();
    let text = replayed(log.as_bytes(), &[]);
    assert_eq!((text.code, text.stdout.lines().count()), (0, 2), "{text:?}");
    let word = "2 lines are in another form and not understood, first line 2: \"2026/11/21 02:31:06 host kernel: BUG";
    assert!(text.stderr.contains(word), "{text:?}");
    let rows = replayed(log.as_bytes(), &["--json"]).json_lines();
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!((&rows[2]["kind"], &rows[2]["line"], &rows[2]["count"]), (&"unread".into(), &2.into(), &2.into()));
}

fn a_bomb_costs_little_and_hides_nothing() {
    let first = [BOOT, format!("3,9999,9000000,-;{OOPS}\n").as_bytes()].concat();
    // One member after another, as gzip has it: 1.2 GiB.
    let zeros = gzip(&vec![0; 16 << 20]).repeat(77);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), [gzip(&first), zeros].concat()).unwrap();
    let mut child = Command::new(binary("nodewell"))
        .args(["replay", "--json"])
        .arg(file.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let peak = peak_until_its_end(&mut child);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, 65, "{outcome:?}");
    assert!(
        outcome.stderr.contains("the log ends early") && outcome.stderr.contains("which no log does"),
        "{outcome:?}"
    );
    assert_eq!(outcome.json()["reason"], "KernelOops", "what came before it is found");
    assert!((1..MOST_KIB).contains(&peak), "{peak} KiB");
}

fn two_gigabytes_from_a_pipe_are_read() {
    let chunk = BOOT.repeat(64);
    let rounds = 2_000_000_000 / chunk.len() + 1;
    let lines = chunk.iter().filter(|byte| **byte == b'\n').count() * rounds;
    let mut child = Command::new(binary("nodewell"))
        .args(["replay", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = child.stdin.take().unwrap();
    let writer = thread::spawn(move || written(pipe, &chunk, rounds));
    until_within(LONG, "all of it is taken", || writer.is_finished().then_some(()));
    // It waits for more, with the pipe open.
    let pipe = writer.join().unwrap().unwrap();
    let peak = peak_kib(child.id()).unwrap();
    drop(pipe);
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let found = outcome.json();
    assert_eq!((&found["reason"], &found["line"]), (&"KernelOops".into(), &(lines + 1).into()));
    assert!((1..MOST_KIB).contains(&peak), "{peak} KiB");
}

/// The pipe is given back open.
fn written(mut pipe: ChildStdin, chunk: &[u8], rounds: usize) -> io::Result<ChildStdin> {
    for _ in 0..rounds {
        pipe.write_all(chunk)?;
    }
    writeln!(pipe, "3,9999,9000000,-;{OOPS}")?;
    Ok(pipe)
}

fn replayed(log: &[u8], more: &[&str]) -> Outcome {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), log).unwrap();
    let path = file.path().to_string_lossy().into_owned();
    nodewell(["replay"].iter().chain(more).copied().chain([&*path]))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut child =
        Command::new("gzip").args(["-9", "-n"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut pipe, bytes) = (child.stdin.take().unwrap(), bytes.to_vec());
    let writer = thread::spawn(move || pipe.write_all(&bytes));
    let compressed = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap().unwrap();
    compressed
}

/// The most that was resident at any look before its end.
fn peak_until_its_end(child: &mut Child) -> u64 {
    let mut peak = 0;
    until_within(LONG, "the replay ends", || {
        peak = peak_kib(child.id()).unwrap_or_default().max(peak);
        child.try_wait().unwrap()
    });
    peak
}

/// `None` once it has ended.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
