use std::fs;

use super::{mountinfo::text, *};

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
fn superblock_options_are_read_and_mount_options_are_not() {
    let sandboxed = Mount::parse(b"36 27 254:0 / / ro,relatime - ext4 /dev/vda rw,discard").unwrap();
    assert!(!sandboxed.is_read_only() && sandboxed.is_mount_read_only);
    let emergency = b"36 27 7:1 /sub /mnt/a\\040b rw shared:3 - ext4 /dev/loop1 rw,emergency_ro";
    let mount = Mount::parse(emergency).unwrap();
    assert!(mount.is_read_only() && mount.is_cut_off() && !mount.is_mount_read_only);
    assert_eq!((mount.mount_point.as_str(), mount.root.as_str()), ("/mnt/a b", "/sub"));
    assert_eq!((mount.id, mount.device_number.as_str(), mount.filesystem.as_str()), (36, "7:1", "ext4"));
    assert_eq!(mount.source, "/dev/loop1");
    assert_eq!(mount.super_options, ["rw", "emergency_ro"]);
}

#[test]
fn fields_that_only_some_mounts_have_are_passed_over() {
    for optional in ["", "shared:3 ", "shared:3 master:2 propagate_from:1 unbindable ", "new:-1 "] {
        let mount = Mount::parse(format!("7 1 0:5 / / rw {optional}- fuse.x  rw").as_bytes()).unwrap();
        assert_eq!((mount.filesystem.as_str(), mount.source.as_str()), ("fuse.x", ""), "{optional}");
    }
    let bare = Mount::parse(b"7 1 0:5 / / rw - proc proc").unwrap();
    assert_eq!(bare.super_options, [""]);
}

#[test]
fn lines_that_are_not_mounts_spoil_no_other() {
    let whole = "27 1 254:0 / / rw - ext4 /dev/vda rw";
    for line in [
        "",
        "x",
        "27 1 254:0 / / rw",
        "a b c - d e f",
        "27 1 - ext4",
        "27 1 254:0 / / rw - ext4",
        "-1 1 0:5 / / rw - a b c",
    ] {
        assert_eq!(Mount::parse(line.as_bytes()), None, "{line}");
        let table = format!("{whole}\n{line}\n{whole}\n");
        assert_eq!(mountinfo::parse(table.as_bytes()).len(), 2, "{line}");
    }
    let odd = [whole.as_bytes(), b"\n30 1 0:5 / /mnt/\xff rw - tmpfs \xc3\x28 rw\n", whole.as_bytes()].concat();
    let points: Vec<String> = mountinfo::parse(&odd).into_iter().map(|mount| mount.mount_point).collect();
    assert_eq!(points, ["/", "/mnt/\\xff", "/"]);
}

#[test]
fn octal_digits_are_bytes_and_bytes_that_are_no_text_stay_two() {
    let rows: [(&[u8], &str); 12] = [
        (b"/plain", "/plain"),
        (b"/a\\040b\\011c\\012d\\043e\\134f", "/a b\tc\nd#e\\f"),
        // Once only: this is a backslash and three digits.
        (b"/a\\134040", "/a\\040"),
        (b"vg-my\\134x20lv", "vg-my\\x20lv"),
        (b"/\\303\\244", "/\u{e4}"),
        ("/\u{e4}".as_bytes(), "/\u{e4}"),
        (b"/\\377\xff", "/\\xff\\xff"),
        (b"/a\xfe", "/a\\xfe"),
        (b"/a\\", "/a\\"),
        (b"/a\\04", "/a\\04"),
        (b"/a\\048\\400\\x20", "/a\\048\\400\\x20"),
        (b"", ""),
    ];
    for (escaped, shown) in rows {
        assert_eq!(text(escaped), shown, "{escaped:?}");
    }
}

#[test]
fn our_own_mounts_are_read() {
    assert!(mountinfo::read(Path::new("/proc")).unwrap().iter().any(|mount| mount.mount_point == "/"));
    let folder = tempfile::tempdir().unwrap();
    assert!(mountinfo::read(folder.path()).is_err());
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
