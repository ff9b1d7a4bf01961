use std::fs;

use super::*;

/// A line of the kernel's, of a task that is called `name`.
fn line(name: &[u8], flags: u64) -> Vec<u8> {
    let numbers = format!("1 77 78 0 -1 {flags} 367539 1048290370 0 343780 5297 26399 5975131 590169 20 -5 14 0 11");
    let rest = format!(") D {numbers} 58048512 5514 18446744073709551615\n");
    [b"77 (".as_slice(), name, rest.as_bytes()].concat()
}

#[test]
fn a_name_in_parentheses_may_hold_anything() {
    let names: [&[u8]; 12] = [
        b"a",
        b"",
        b") R 1 2 3",
        b"x (y) z",
        b"a) (b \xff",
        b"nwd:a) S 1 (b",
        b"a\nb",
        b"(",
        b")",
        b"\xc3",
        b"kworker/0:1-events",
        b"\t \r\n\x0b",
    ];
    for name in names {
        let line = line(name, 0x0040_0040);
        let stat = Stat::parse(&line).unwrap();
        assert_eq!((stat.pid, stat.name, stat.state, stat.parent, stat.session), (77, name, b'D', 1, 78), "{name:?}");
        assert_eq!((stat.ticks, stat.threads, stat.started), (5297 + 26399, 14, 11), "{name:?}");
        assert!(!stat.is_exiting(), "{name:?}");
    }
    assert!(Stat::parse(&line(b"a", 0x0040_0044)).unwrap().is_exiting());
}

#[test]
fn a_task_that_is_about_to_be_gone_has_a_session_below_zero() {
    let line = b"77 (a) Z 0 -1 -1 0 -1 4 0 0 0 0 3 4 0 0 20 0 0 0 11";
    let stat = Stat::parse(line).unwrap();
    assert_eq!((stat.session, stat.parent, stat.threads, stat.started), (-1, 0, 0, 11));
}

#[test]
fn a_line_that_ends_early_is_none() {
    let line = line(b"a) (b \xff", 0);
    let end = line.windows(4).position(|part| part == b" 11 ").unwrap();
    for length in 0..=end {
        assert_eq!(Stat::parse(&line[..length]), None, "{length}");
    }
    assert!(Stat::parse(&line[..end + 3]).is_some());
    for garbage in [
        "",
        "77",
        "77 (x)",
        "77 (x) D",
        "77 (x) D 1 2 3",
        "42 (a",
        "42 (a) S 1 2",
        "42 (a) S 1 42 42 0 -1 x 0",
        "80 (nwd:x",
        ") (",
        "(a) D 1 77 77 0 -1 4 0 0 0 0 3 4 0 0 20 0 1 0 11",
        "a (a) D 1 77 77 0 -1 4 0 0 0 0 3 4 0 0 20 0 1 0 11",
        "7 (a) D -1 77 77 0 -1 4 0 0 0 0 3 4 0 0 20 0 1 0 11",
    ] {
        assert_eq!(Stat::parse(garbage.as_bytes()), None, "{garbage}");
    }
}

#[test]
fn a_status_is_looked_into_line_by_line() {
    let text = b"Name:\tUid:\\nUid:\t0 0 0 0\nState:\tD (disk sleep)\nUid:\t1\t2\t3\t4\nNSpid:\t12\t3\n\
        VmSize:\t    3000 kB\nVmLck:\t    2048 kB\nRssAnon:\t       7 kB\n\
        SigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\nCapEff:\t000001fffffdffff\n";
    let status = Status::of(text);
    assert_eq!((status.uids(), status.pid_namespaces()), (Some([1, 2, 3, 4]), Some(2)));
    assert_eq!(status.text("State"), Some("D (disk sleep)"));
    assert_eq!((status.kib("VmLck"), status.kib("RssAnon"), status.kib("Rss")), (Some(2048), Some(7), None));
    assert_eq!((status.mask("SigPnd"), status.mask("ShdPnd")), (Some(1 << 8), Some(0)));
    assert_eq!(status.mask("CapEff"), Some(0x1ff_fffd_ffff));
}

#[test]
fn a_name_that_is_no_text_spoils_no_other_line() {
    let status = Status::of(b"Name:\t\xff\xc3(\\\\)\\n\nUid:\t1\t2\t3\t4\nNSpid:\t12\nVmLck:\t8 kB\n");
    assert_eq!(status.text("Name"), None);
    assert_eq!((status.uids(), status.pid_namespaces(), status.kib("VmLck")), (Some([1, 2, 3, 4]), Some(1), Some(8)));
}

#[test]
fn a_status_without_its_lines_shows_nothing() {
    for text in ["", "Name:\tx\n", "Uid\n", "Uid:\n", "Uid:\t1\t2\t3\n", "Uid:\t1\t2\t3\tx\n", "Uid:\t1\t2\t3\t-4\n"] {
        assert_eq!(Status::of(text.as_bytes()).uids(), None, "{text:?}");
    }
    let status = Status::of(b"Name:\tx\nVmSize:\t    3000 kB\nVmLck:\tmuch\nCapBnd:\t0x10\n");
    assert_eq!((status.pid_namespaces(), status.kib("VmLck"), status.mask("CapBnd")), (None, None, None));
}

#[test]
fn our_own_task_is_read() {
    let stat = content(Path::new("/proc/self/stat")).unwrap().unwrap();
    let stat = Stat::parse(&stat).unwrap();
    assert_eq!(stat.pid, std::process::id());
    assert!(stat.started > 0 && stat.threads > 0 && !stat.is_exiting());
    let status = content(Path::new("/proc/self/status")).unwrap().unwrap();
    let status = Status::of(&status);
    assert_eq!(status.uids().unwrap()[1], nix::unistd::geteuid().as_raw());
    assert!(
        status.pid_namespaces().unwrap() >= 1 && status.kib("RssAnon").is_some() && status.mask("CapEff").is_some()
    );
}

#[test]
fn a_task_that_is_gone_is_no_error_and_one_that_cannot_be_looked_at_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stat");
    assert_eq!(content(&path).unwrap(), None);
    assert!(content(folder.path()).is_err(), "a folder");
    fs::write(&path, b"\xff\n").unwrap();
    let mut bytes = b"of another".to_vec();
    assert!(content_into(&path, &mut bytes).unwrap());
    assert_eq!(bytes, b"\xff\n");
    fs::write(&path, vec![b'x'; usize::try_from(LIMIT_BYTES).unwrap()]).unwrap();
    assert!(content(&path).is_err(), "it may go on");
}
