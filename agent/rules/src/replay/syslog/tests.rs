//! Lines of syslog and of a journal as text, taken apart.

use nodewell_model::RecordFields;

use super::*;

fn options() -> ReplayOptions {
    let calendar = Calendar { now: "2026-12-01T00:00:00Z".parse().ok(), ..Calendar::default() };
    ReplayOptions { calendar, ..ReplayOptions::default() }
}

#[test]
fn kernel_lines_lose_host_program_and_seconds() {
    for line in [
        "Nov 21 02:31:05 host kernel: [   12.345678] EXT4-fs error",
        "Nov 21 02:31:05 host kernel: EXT4-fs error",
        "2026-11-21T02:31:05.000000+00:00 host kernel: EXT4-fs error",
        "<3>Nov 21 02:31:05 host kernel: EXT4-fs error",
        "Nov 21 02:31:05 kernel: EXT4-fs error",
        "Nov 21 02:31:05 host  kernel: EXT4-fs error",
        "Nov 21 02:31:05 :HOSTNAME: kernel: EXT4-fs error",
        "Nov 21 02:31:05 host kernel: : EXT4-fs error",
        "Nov 21 02:31:05 host kernel: [ T1772] EXT4-fs error",
        "Nov 21 02:31:05 host kernel: [   12.345678][ T1772] EXT4-fs error",
    ] {
        let saved = shaped(line.as_bytes(), &options()).unwrap();
        assert_eq!((saved.kernel, &*saved.text), (true, &b"EXT4-fs error"[..]), "{line}");
        assert_eq!(saved.time.map(|time| time.to_string()).as_deref(), Some("2026-11-21T02:31:05Z"));
    }
}

#[test]
fn a_program_is_a_field() {
    let saved = shaped(b"Nov 21 02:31:05 host systemd[1]: Started x", &options()).unwrap();
    assert_eq!((saved.kernel, &*saved.text), (false, &b"Started x"[..]));
    assert_eq!(saved.fields.field("SYSLOG_IDENTIFIER").as_deref(), Some(&b"systemd"[..]));
    assert_eq!(saved.fields.field("_PID").as_deref(), Some(&b"1"[..]));
}

#[test]
fn a_programs_lines_are_its_units() {
    let unit = |tag: &str| {
        let line = format!("Nov 21 02:31:05 host {tag}: text");
        let saved = shaped(line.as_bytes(), &options()).unwrap();
        saved.fields.field("_SYSTEMD_UNIT").map(|unit| String::from_utf8_lossy(&unit).into_owned())
    };
    for (tag, expected) in [
        ("kubelet[812]", "kubelet.service"),
        ("dockerd[9]", "docker.service"),
        ("microk8s.daemon-kubelite[7]", "snap.microk8s.daemon-kubelite.service"),
        ("etcd.service[3]", "etcd.service"),
    ] {
        assert_eq!(unit(tag).as_deref(), Some(expected));
    }
    let without_host = shaped(b"Nov 21 02:31:05 kubelet[812]: text", &options()).unwrap();
    assert_eq!(without_host.fields.field("_SYSTEMD_UNIT").as_deref(), Some(&b"kubelet.service"[..]));
    for tag in ["systemd[1]", "systemd[812]", "kernel", "(sd-pam)[4]", "sudo[5]"] {
        assert_eq!(unit(tag), None, "{tag}");
    }
}

#[test]
fn every_time_of_journalctl_is_read() {
    let lines = [
        "Nov 21 02:31:05.123456 host kernel: EXT4-fs error",
        "2026-11-21T02:31:05+0000 host kernel: EXT4-fs error",
        "2026-11-21T02:31:05.123456+00:00 host kernel: EXT4-fs error",
        "Sat 2026-11-21 02:31:05 UTC host kernel: EXT4-fs error",
        "Sat 2026-11-21 02:31:05.123456 CET host kernel: EXT4-fs error",
        "1795228265.123456 host kernel: EXT4-fs error",
        "2026-11-21 02:31:05 host kernel: EXT4-fs error",
        "2026-11-21 02:31:05.123 host kernel: [   12.345678] EXT4-fs error",
        "<3>2026-11-21 02:31:05.123456789 host kernel: EXT4-fs error",
    ];
    for line in lines {
        let saved = shaped(line.as_bytes(), &options()).unwrap();
        assert_eq!((saved.kernel, &*saved.text), (true, &b"EXT4-fs error"[..]), "{line}");
        assert_eq!(saved.time.map(Timestamp::as_second), Some(1_795_228_265), "{line}");
    }
    for line in [
        "[   12.345678] host kernel: EXT4-fs error",
        "[   12.345678 <    0.000012>] host kernel: EXT4-fs error",
        "[   12.345678] kernel: EXT4-fs error",
        "[   12.345678 <    0.000012>] kernel: EXT4-fs error",
    ] {
        assert!(has_seconds(line.as_bytes()), "{line}");
        let saved = shaped(line.as_bytes(), &options()).unwrap();
        assert_eq!((saved.since_boot.map(|since| since.as_secs()), &*saved.text), (Some(12), &b"EXT4-fs error"[..]));
    }
    for line in [
        "[   12.345678] systemd[1]: Started x",
        "[   12.345678] systemd[1]: kernel: x",
        "[   12.345678] usb 1-1: new device",
        "[   12.345678] kernel BUG at lib/list_debug.c:54!",
        "[   12.345678] x",
        "[   12.345678]",
    ] {
        assert!(!has_seconds(line.as_bytes()), "{line}");
    }
}

/// In a journal without hosts it has the place of the host.
#[test]
fn what_a_program_says_of_the_kernel_is_the_programs() {
    for line in [
        "[   12.345678] app[7]: kernel: Oops",
        "[   12.345678] host app[7]: kernel: Oops",
        "Nov 21 02:31:05 host app: kernel: Oops",
        "Nov 21 02:31:05 app[7]: kernel: Oops",
        "2026-11-21 02:31:05 host app: kernel: Oops",
        "6月 21 02:31:05 host app: kernel: Oops",
    ] {
        let saved = shaped(line.as_bytes(), &options()).unwrap();
        assert_eq!((saved.kernel, &*saved.text), (false, &b"kernel: Oops"[..]), "{line}");
    }
    let saved = shaped(b"Nov 21 02:31:05 host app: [ T1772] Oops", &options()).unwrap();
    assert_eq!(&*saved.text, b"[ T1772] Oops");
    for line in ["[   12.345678] app: kernel: Oops", "[   12.345678] BUG: kernel: Oops", "kernel: Oops"] {
        assert!(shaped(line.as_bytes(), &options()).is_none(), "{line}");
    }
}

/// Of such a log the time is not known.
#[test]
fn a_month_of_another_language_is_read() {
    for time in ["6月 04 19:30:33", "Mai  4 19:30:33", "févr. 04 19:30:33.123456", "juin 04 19:30:33"] {
        let line = format!("{time} host kernel: [   12.345678] Oops");
        assert!(has_time(line.as_bytes()), "{line}");
        let saved = shaped(line.as_bytes(), &options()).unwrap();
        assert_eq!((saved.kernel, &*saved.text, saved.time), (true, &b"Oops"[..], None), "{line}");
    }
    for line in [
        "6月 04 19:30:33 INFO app: x",
        "6月 04 19:30:33 app: x",
        "6月 32 19:30:33 host kernel: x",
        "6月 04 24:30:33 host kernel: x",
        "6月 004 19:30:33 host kernel: x",
        "6 04 19:30:33 host kernel: x",
        "message: 04 19:30:33 host kernel: x",
        "Nov 32 19:30:33 host kernel: x",
        "\u{6708}\u{6708}\u{6708}\u{6708}\u{6708}\u{6708}\u{6708}\u{6708}\u{6708}\u{6708}\u{6708}",
    ] {
        assert!(!has_time(line.as_bytes()), "{line}");
    }
}

/// Its own log may have times of the same form.
#[test]
fn a_date_without_a_zone_is_syslogs_before_a_host_and_a_program() {
    for line in ["2026-11-21 02:31:05 host kernel: x", "2026-11-21 02:31:05.123 host systemd-time[499]: x"] {
        assert!(has_time(line.as_bytes()), "{line}");
    }
    for line in [
        "2026-11-21 02:31:05 INFO app: x",
        "2026-11-21 02:31:05,123 INFO app[1]: x",
        "2026-11-21 02:31:05.123 [main] INFO app: x",
        "2026-11-21 02:31:05 [12]: x",
        "2026-11-21 02:31:05",
        "2026-11-21 02:31 host app[1]: x",
        "2026-11-21 02:31:05 app: kernel: x",
        "2026/11/21 02:31:05 host app[1]: x",
    ] {
        assert!(!has_time(line.as_bytes()), "{line}");
    }
    // Once the form is known, a line needs no process.
    let saved = shaped(b"2026-11-21 02:31:05 host sudo: x", &options()).unwrap();
    assert_eq!((&*saved.text, saved.time.is_some()), (&b"x"[..], true));
}

/// A description may be any unit's.
#[test]
fn a_unit_is_known_by_its_name_alone() {
    let unit = |text: &str| {
        let line = format!("Nov 21 02:31:05 host systemd[1]: {text}");
        let saved = shaped(line.as_bytes(), &options()).unwrap();
        saved.fields.field("UNIT").map(|unit| String::from_utf8_lossy(&unit).into_owned())
    };
    for text in [
        "Started kubelet.service - kubelet: The Kubernetes Node Agent.",
        "Failed to start kubelet.service - kubelet.",
        "Stopped kubelet.service.",
        "kubelet.service: Failed with result 'exit-code'.",
    ] {
        assert_eq!(unit(text).as_deref(), Some("kubelet.service"), "{text}");
    }
    for text in ["Started kubelet: The Kubernetes Node Agent.", "Reached target Basic System.", "", ".service"] {
        assert_eq!(unit(text), None, "{text}");
    }
    let other = shaped(b"Nov 21 02:31:05 host app[9]: Started kubelet.service", &options()).unwrap();
    assert!(other.fields.field("UNIT").is_none());
}

#[test]
fn other_lines_are_not_the_kernels() {
    for line in [
        "",
        "kernel: x",
        "Nov 21 02:31:05",
        "Nov 21 02:31:05 host",
        "Nov 99 02:31:05 host kernel: x",
        "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
    ] {
        assert!(!read(line.as_bytes(), &options()).kernel, "{line}");
    }
}
