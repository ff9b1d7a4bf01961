//! Files as kernels write them, and garbage.

use std::fs;

use proptest::prelude::*;

use super::*;

/// Of a 6.1 kernel with two CPUs.
const STAT: &str = "\
entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart
000001f4  00000000 00000000 00000000 00000010 00000000 00000000 00000000 00000000 00000002 0000000a 00000001 00000000  00000000 00000000 00000000 00000000
000001f4  00000000 00000000 00000000 00000010 00000000 00000000 00000000 00000000 00000001 00000006 00000000 00000000  00000000 00000000 00000000 00000000
";

#[test]
fn counters_of_all_cpus_are_one_and_the_entries_are_not_added_up() {
    let counts = ConntrackCounts { drop: 16, early_drop: 1, insert_failed: 3 };
    assert_eq!(conntrack_counts(STAT), Some(counts));
    assert_eq!(entries(STAT), Some(500));
    assert_eq!(conntrack_counts("entries searched\n00000001 00000002\n"), None);
}

#[test]
fn a_maximum_that_is_never_reached_is_no_limit() {
    assert_eq!(file_handles("1870\t0\t2466183"), Some(Level { used: 1870, max: 2_466_183 }));
    for text in ["1870\t0\t9223372036854775807", "1870\t0\t0", "1870 0", "", "-1 0 5", "1 0 5 7"] {
        assert_eq!(file_handles(text), None, "{text}");
    }
}

#[test]
fn pressure_is_in_hundredths() {
    let text =
        "some avg10=0.00 avg60=0.31 avg300=1.37 total=62464935\nfull avg10=0.00 avg60=0.10 avg300=100.00 total=1\n";
    assert_eq!(pressure(text), Some(Pressure { some: 137, full: 10_000 }));
    assert_eq!(pressure("some avg10=0.00 avg60=0.00 avg300=7.00 total=0\n"), Some(Pressure { some: 700, full: 0 }));
    for text in
        ["", "some", "some avg300=", "some avg300=1.", "some avg300=100.01", "some avg300=-1.00", "some avg300=é.éé"]
    {
        assert_eq!(pressure(text), None, "{text}");
    }
}

#[test]
fn a_whole_proc_is_read_and_what_is_missing_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    let roots = Roots { proc: root.path().to_owned(), sys: root.path().to_owned(), ..Roots::default() };
    let put = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    assert!(matches!(read(&roots), Err(ReadError::Gone { .. })));
    put("loadavg", "0.20 7.50 0.12 1/80 11206\n");
    let bare = read(&roots).unwrap();
    assert_eq!((bare.load, bare.pids, bare.conntrack, bare.swap), (7.5, None, None, None));
    put("sys/kernel/pid_max", "4194304\n");
    put("sys/net/netfilter/nf_conntrack_max", "262144\n");
    put("sys/net/netfilter/nf_conntrack_count", "7\n");
    put("meminfo", "MemTotal: 1000 kB\nMemFree:  500 kB\nSReclaimable: 1 kB\nSUnreclaim:  20 kB\n");
    put("devices/system/cpu/online", "0-3\n");
    put("vmstat", "pswpin 3\npswpout 4\npswpin_zero 9\n");
    let full = read(&roots).unwrap();
    assert_eq!(full.pids, Some(Level { used: 80, max: 4_194_304 }));
    assert_eq!(full.conntrack, Some(Level { used: 7, max: 262_144 }));
    assert_eq!(full.swap, Some(Swap { pages_in: 3, pages_out: 4 }));
    assert_eq!(full.memory, Some(MemoryUsage { total: 1000, free: 500, slab_unreclaimable: 20 }));
    assert_eq!((bare.cpus, full.cpus), (1, 4));
    put("1/net/stat/nf_conntrack", STAT);
    assert_eq!(read(&roots).unwrap().conntrack.unwrap().used, 500, "the network of PID 1 counts");
}

#[test]
fn this_machine_is_read() {
    let reading = read(&Roots::default()).unwrap();
    assert!(reading.pids.unwrap().used > 1);
    assert!(reading.memory.unwrap().total > 0);
}

proptest! {
    #[test]
    fn no_text_breaks_anything(text in "(?s).{0,300}") {
        let _ = (conntrack_counts(&text), entries(&text), file_handles(&text), inodes(&text), tasks(&text));
        let _ = (waiting(&text), load(&text), pressure(&text), swap(&text), memory(&text));
    }

    #[test]
    fn nothing_that_looks_real_breaks_anything(words in prop::collection::vec("(some|avg300=|[0-9a-f]{0,20}|drop|entries|/|\\.|\n| )", 0..40)) {
        let text = words.concat();
        let _ = (conntrack_counts(&text), entries(&text), file_handles(&text), inodes(&text), tasks(&text));
        prop_assert!(load(&text) >= 0.0);
        prop_assert!(pressure(&text).is_none_or(|pressure| pressure.some <= 10_000));
    }
}

/// The problem of a figure that is not read any more is over: a table of files that is full must not end its own.
#[test]
fn a_figure_that_cannot_be_read_is_not_missing() {
    for name in [
        "1/net/stat/nf_conntrack",
        "net/stat/nf_conntrack",
        "sys/net/netfilter/nf_conntrack_max",
        "sys/net/netfilter/nf_conntrack_count",
        "sys/fs/file-nr",
        "sys/fs/inode-nr",
        "sys/kernel/pid_max",
        "sys/kernel/threads-max",
        "sys/kernel/tainted",
        "pressure/memory",
        "pressure/cpu",
        "pressure/io",
        "vmstat",
        "meminfo",
        "devices/system/cpu/online",
    ] {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots { proc: root.path().to_owned(), sys: root.path().to_owned(), ..Roots::default() };
        fs::write(root.path().join("loadavg"), "0.20 7.50 0.12 1/80 11206\n").unwrap();
        assert!(read(&roots).is_ok());
        // A folder is no file.
        fs::create_dir_all(root.path().join(name)).unwrap();
        assert!(matches!(read(&roots), Err(ReadError::Failed { .. })), "{name}");
    }
}
