//! Figures are those of the file, to the last digit; what is no figure is left out.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{ProcfsReading, Truncated, cpu, disk, kernel, memory, modules, network, pressure};

const STAT: &str = "\
cpu  400 20 300 9000 50 6 7 8 9 10
cpu0 200 10 150 4500 25 3 3 4 4 5
cpu3 200 10 150 4500 25 3 4 4 5 5
intr 61215923 0 22 1
ctxt 991
btime 1700000000
processes 4711
procs_running 3
procs_blocked 1
softirq 5 1 2 2
";

#[test]
fn a_cpu_keeps_its_number_when_others_are_offline() {
    let stat = cpu::parse(STAT.as_bytes());
    assert_eq!(stat.cpus.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 3]);
    let seconds: Vec<_> = stat.total.as_ref().unwrap().seconds(100).collect();
    assert_eq!(seconds[..4], [("user", 4.0), ("nice", 0.2), ("system", 3.0), ("idle", 90.0)]);
    assert_eq!(seconds[9], ("guest_nice", 0.1));
    assert_eq!((stat.interrupts, stat.context_switches, stat.forks), (Some(61_215_923), Some(991), Some(4711)));
    assert_eq!((stat.running, stat.blocked, stat.boot_time_secs), (Some(3), Some(1), Some(1_700_000_000)));
}

#[test]
fn one_bad_line_costs_one_line() {
    let stat = cpu::parse(
        b"cpu  1 2 x 4\ncpu0 1 2 3 4\ncpu1 1 2 3\ncpux 1 2 3 4\nintr -1\nprocesses 7 8\nprocs_running\n\xff 1\n",
    );
    assert_eq!((stat.total.is_none(), stat.cpus.len(), stat.interrupts), (true, 1, None));
    assert_eq!((stat.forks, stat.running), (Some(7), None));
    let memory = memory::parse(
        b"MemTotal: 100 kB\nMemFree: 10\nBuffers: -1 kB\nCached: 18446744073709551615 kB\n\xc3\xa4: 1 kB\n",
    );
    assert_eq!(
        (memory.bytes("MemTotal"), memory.bytes("MemFree"), memory.bytes("Cached")),
        (Some(102_400), None, None)
    );
    assert_eq!(memory.used(), None);
    let disks = disk::parse(b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 1 2 3\n8 2 sdb x\n\n");
    assert_eq!(disks.iter().map(|disk| &*disk.name).collect::<Vec<_>>(), ["sda"]);
    let interfaces = network::parse(b"Inter-| Receive\n lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n eth0: 1 2 3\n");
    assert_eq!(interfaces.iter().map(|interface| &*interface.name).collect::<Vec<_>>(), ["lo"]);
}

#[test]
fn used_memory_is_what_is_left() {
    let memory = memory::parse(b"MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 200 kB\nSlab: 30 kB\n");
    assert_eq!(memory.used(), Some(620 * 1024));
    let more_than_all = memory::parse(b"MemTotal: 10 kB\nMemFree: 100 kB\nBuffers: 0 kB\nCached: 0 kB\nSlab: 0 kB\n");
    assert_eq!(more_than_all.used(), None);
}

#[test]
fn whole_disks_are_distinguished_from_their_parts_and_from_what_is_made_of_them() {
    let line = |number: &str, name: &str| format!("{number} {name} 1 2 3 4 5 6 7 8 0 10 11\n");
    let text: String = [
        ("8 0", "sda"),
        ("8 1", "sda1"),
        ("8 16", "sdaa"),
        ("259 0", "nvme0n1"),
        ("259 1", "nvme0n1p1"),
        ("7 1", "loop1"),
        ("7 10", "loop10"),
        ("253 1", "dm-1"),
        ("9 0", "md0"),
        ("1 0", "ram0"),
        ("179 0", "mmcblk0"),
        ("179 1", "mmcblk0p2"),
    ]
    .iter()
    .map(|(number, name)| line(number, name))
    .collect();
    let disks = disk::parse(format!("{text}7 2 loop2 0 0 0 0 0 0 0 0 0 0 0\n").as_bytes());
    let whole: Vec<&str> = disks.iter().filter(|disk| disk.is_whole).map(|disk| &*disk.name).collect();
    assert_eq!(whole, ["loop1", "loop10", "mmcblk0", "nvme0n1", "sda", "sdaa"]);
    assert!(disks.iter().all(|disk| disk.name != "ram0" && disk.name != "loop2"));
    let sda = disks.iter().find(|disk| disk.name == "sda").unwrap();
    assert_eq!((&*sda.number, sda.read.operations, sda.read.bytes, sda.read.time_ms), ("8:0", 1, 3 * 512, 4));
    assert_eq!((sda.written.merged, sda.written.bytes, sda.busy_ms, sda.weighted_ms), (6, 7 * 512, 10, 11));
}

fn disk_of(weighted_ms: u64) -> Truncated<disk::Disk> {
    disk::parse(format!("8 0 sda 1 2 3 4 5 6 7 8 0 10 {weighted_ms}\n").as_bytes())
}

#[test]
fn a_queue_is_averaged_over_at_least_the_interval() {
    let (start, minute) = (Instant::now(), Duration::from_mins(1));
    let mut queues = disk::Queues::default();
    let mut at =
        |secs: u64, weighted_ms| queues.lengths(&disk_of(weighted_ms), start + Duration::from_secs(secs), minute);
    assert_eq!(at(0, 5000), []);
    assert_eq!(at(0, 5000), [], "no time has passed");
    assert_eq!(at(30, 65_000), [("sda".to_owned(), 2.0)]);
    assert_eq!(at(60, 125_000), [("sda".to_owned(), 2.0)]);
    // Since the first: the second, at 60 s, is not a minute old yet.
    assert_eq!(at(90, 125_000), [("sda".to_owned(), 120.0 / 90.0)]);
    assert_eq!(at(120, 125_000), [("sda".to_owned(), 1.0)]);
    assert_eq!(at(180, 125_000), [("sda".to_owned(), 0.0)]);
    assert_eq!(at(181, 1), [], "another device of the same name counts from nothing");
}

#[test]
fn interfaces_of_the_node_come_before_pods() {
    let line = |name: &str| format!("{name}: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
    let mut text: String = (0..600).map(|number| line(&format!("cali{number:04}"))).collect();
    text += &line("wlan0");
    text += &line("wlan0");
    let interfaces = network::parse(text.as_bytes());
    assert_eq!((interfaces.len(), interfaces.left_out(), &*interfaces[0].name), (512, 89, "wlan0"));
    let counts =
        [network::Count::RxBytes, network::Count::RxMulticast, network::Count::TxBytes, network::Count::TxCompressed];
    assert_eq!(counts.map(|count| interfaces[0].count(count)), [1, 8, 9, 16]);
}

#[test]
fn two_names_that_are_no_text_stay_two() {
    let counts = b": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
    let text = [&b"a\xff"[..], counts, b"a\xfe", counts].concat();
    let names: Vec<String> = network::parse(&text).iter().map(|interface| interface.name.clone()).collect();
    assert_eq!(names, ["a\\xfe", "a\\xff"]);
}

#[test]
fn small_files_are_read_to_the_last_digit() {
    let load = kernel::load(b"0.24 12.5 103.07 3/1234 5678\n").unwrap();
    assert_eq!((load.one, load.five, load.fifteen), (0.24, 12.5, 103.07));
    assert_eq!(kernel::uptime_secs(b"350735.47 234388.90\n"), Some(350_735.47));
    for nonsense in ["nan 1 1 1/1 1", "inf 1 1 1/1 1", "-1 1 1 1/1 1", "", "1 2"] {
        assert_eq!(kernel::load(nonsense.as_bytes()), None, "{nonsense}");
    }
    assert_eq!(kernel::uptime_secs(b"nan nan"), None);
    let events = kernel::vm_events(b"pgfault 9\npgmajfault 12\noom_kill 3\npswpin x\n");
    assert_eq!((events.major_faults, events.oom_kills, events.pages_swapped_in), (Some(12), Some(3), None));
    let stalls =
        pressure::parse("io", b"some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull total=1\nfull\nsome\n");
    assert_eq!((stalls.len(), stalls[0].total), (1, Duration::from_millis(1500)));
    let found = modules::parse(b"zfs 1 0 - Live 0x0 (PO)\noverlay 2 1 - Live 0x0\nbad\nx y 0 - Live 0x0 (O)\n");
    let tainted: Vec<_> =
        found.iter().map(|module| (&*module.name, module.is_proprietary, module.is_out_of_tree)).collect();
    assert_eq!(tainted, [("zfs", true, true), ("overlay", false, false)]);
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_hang_the_reader() {
    let folder = tempfile::tempdir().unwrap();
    nix::unistd::mkfifo(&folder.path().join("stat"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::fs::create_dir(folder.path().join("meminfo")).unwrap();
    let reading = ProcfsReading::new(folder.path());
    assert_eq!((reading.stat(), reading.memory()), (&cpu::Stat::default(), &memory::Memory::default()));
    assert!(reading.load().is_none() && reading.modules().is_none() && reading.stalls().is_empty());
}

/// What a kernel might print, and what it never would.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::sample::select(vec![
        "cpu",
        "cpu0",
        "intr",
        "MemTotal:",
        "kB",
        "18446744073709551616",
        "-1",
        "nan",
        "1e5",
        "eth0:",
        ":",
        "8",
        "0",
        "sda",
        "some",
        "full",
        "total=5",
        "avg10=",
        "ä",
        "\u{0}",
        "\n",
        "\n",
        "\t",
        "(PO)",
        "1/1",
    ]);
    let text = prop::collection::vec(words, 0..60).prop_map(|words| words.join(" ").into_bytes());
    prop_oneof![text, prop::collection::vec(any::<u8>(), 0..300)]
}

proptest! {
    #[test]
    fn garbage_makes_nothing_panic_and_no_nonsense(bytes in garbage()) {
        let stat = cpu::parse(&bytes);
        for (_, seconds) in stat.total.iter().flat_map(|total| total.seconds(100)) {
            prop_assert!(seconds.is_finite() && seconds >= 0.0);
        }
        let load = kernel::load(&bytes);
        prop_assert!(load.is_none_or(|load| load.one.is_finite() && load.one >= 0.0));
        prop_assert!(kernel::uptime_secs(&bytes).is_none_or(|secs| secs.is_finite() && secs >= 0.0));
        let names: Vec<String> = network::parse(&bytes).iter().map(|interface| interface.name.clone()).collect();
        prop_assert!(names.iter().all(|name| !name.is_empty() && !name.contains([' ', '\n', ':'])), "{:?}", names);
        let disks = disk::parse(&bytes);
        prop_assert!(disks.iter().all(|disk| !disk.name.contains([' ', '\n'])));
        let _ = (memory::parse(&bytes), kernel::vm_events(&bytes), pressure::parse("io", &bytes), modules::parse(&bytes));
    }
}
