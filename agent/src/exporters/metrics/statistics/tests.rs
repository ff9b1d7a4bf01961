//! A made-up procfs comes out as exactly its figures, for every metric.

use std::{fs, path::Path, time::Duration};

use nodewell_checks::statistics::host::Host;
use nodewell_rules::{load_path, npd::stats::METRICS};
use tempfile::TempDir;

use super::*;

const STAT: &str = "cpu  400 20 300 9000 50 6 7 8 9 10\ncpu0 100 1 2 3 4 5 6 7 8 9\ncpu2 200 1 2 3 4 5 6 7 8 9\n\
                    intr 123456 1 2\nctxt 9\nbtime 1700000000\nprocesses 4711\nprocs_running 3\nprocs_blocked 1\n";
const MEMORY: &str = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 800 kB\nBuffers: 50 kB\nCached: 200 kB\n\
                      Active(anon): 1 kB\nInactive(anon): 2 kB\nActive(file): 3 kB\nInactive(file): 4 kB\nUnevictable: 5 kB\n\
                      SwapTotal: 64 kB\nSwapFree: 32 kB\nDirty: 6 kB\nWriteback: 7 kB\nSlab: 30 kB\n";
const DISKS: &str =
    "8 0 sda 10 11 12 13 20 21 22 23 0 1500 31\n8 1 sda1 1 1 2 3 4 5 6 7 0 8 9\n8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n";
const NET: &str = "Inter-| x\n face | y\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\nveth\"a\\: 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
const MODULES: &str =
    "zfs 9 0 - Live 0x0 (PO)\nmine 9 0 - Live 0x0 (O)\nnvidia 9 0 - Live 0x0 (PO)\noverlay 9 0 - Live 0x0\n";
const COMMAND_LINE: &str =
    "root=/dev/sda1 module.sig_enforce=1 loadpin.enabled=1 dyndbg=\"file x csm.enabled=1\" quiet\n";

struct Made {
    folder: TempDir,
}

impl Made {
    fn new() -> Self {
        let made = Self { folder: tempfile::tempdir().unwrap() };
        for (name, text) in [
            ("stat", STAT),
            ("meminfo", MEMORY),
            ("diskstats", DISKS),
            ("net/dev", NET),
            ("modules", MODULES),
            ("cmdline", COMMAND_LINE),
            ("loadavg", "0.24 1.5 103.07 3/1234 5678\n"),
            ("uptime", "350735.97 234388.90\n"),
            ("vmstat", "oom_kill 3\npgmajfault 12\npswpin 1\npswpout 2\n"),
            ("pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"),
            ("self/mountinfo", "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ] {
            made.write(name, text);
        }
        made
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A file of Node Problem Detector's that names every figure, by its own name.
    fn monitors(&self, more: &str) -> Vec<SystemStats> {
        let section = |(section, ids): &(&str, &[&str])| {
            let ids: Vec<String> = ids.iter().map(|id| format!("{id:?}: {{\"displayName\": {id:?}}}")).collect();
            let more = match *section {
                "disk" => ", \"includeRootBlk\": true",
                "net" => ", \"excludeInterfaceRegexp\": \"^cali\"",
                "osFeature" => ", \"knownModulesConfigPath\": \"known.json\"",
                _ => "",
            };
            format!("{section:?}: {{\"metricsConfigs\": {{{}}}{more}}}", ids.join(","))
        };
        let sections: Vec<String> = METRICS.iter().map(section).collect();
        self.write("known.json", "[{\"moduleName\": \"zfs\"}]");
        let text = format!("{{{}, \"procPath\": {:?}{more}}}", sections.join(","), self.folder.path());
        self.write("stats.json", &text);
        let loaded = load_path(&self.folder.path().join("stats.json"));
        assert_eq!(loaded.diagnostics, []);
        loaded.set.statistics
    }

    fn statistics(&self, own: bool) -> Statistics {
        let host = Host {
            kernel_version: "6.1".to_owned(),
            os_version: "debian 12 (bookworm)".to_owned(),
            architecture: "x86_64".to_owned(),
            bios: "Dell Inc. 2.7.3 01/31/2026".to_owned(),
            microcode: "0xd0003d1".to_owned(),
        };
        let own = own.then(|| self.folder.path().to_owned());
        // Whatever this machine is busy with, an exposition has everything.
        Statistics { host, ticks_per_second: 100, timeout: Duration::from_mins(5), ..Statistics::reading(own) }
    }
}

/// An exposition without its comments.
fn samples(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[tokio::test]
async fn every_figure_of_node_problem_detector_is_exact() {
    let made = Made::new();
    let text = made.statistics(false).text(&made.monitors("")).await;
    let expected =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/exporters/metrics/statistics/tests/npd.prom"));
    assert_eq!(samples(&text), expected.unwrap().lines().collect::<Vec<_>>(), "{text}");
}

#[tokio::test]
async fn every_figure_of_our_own_is_exact() {
    let made = Made::new();
    let text = made.statistics(true).text(&[]).await;
    let expected =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/exporters/metrics/statistics/tests/own.prom"));
    assert_eq!(samples(&text), expected.unwrap().lines().collect::<Vec<_>>(), "{text}");
}

#[tokio::test]
async fn a_count_that_did_not_grow_is_the_same_after_any_number_of_scrapes() {
    let made = Made::new();
    let (statistics, monitors) = (made.statistics(true), made.monitors(""));
    let first = statistics.text(&monitors).await;
    for _ in 0..3 {
        statistics.state.borrow_mut().last = None;
        let text = statistics.text(&monitors).await;
        let counts = |text: &str| {
            text.lines().filter(|line| !line.starts_with("disk_avg_queue_len")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(counts(&text), counts(&first));
    }
}

#[tokio::test]
async fn one_reading_serves_a_second() {
    let made = Made::new();
    let statistics = made.statistics(true);
    let first = statistics.text(&[]).await;
    made.write("loadavg", "99 99 99 1/1 1\n");
    assert_eq!(statistics.text(&[]).await, first);
    let long_ago = Instant::now().checked_sub(SAME_FOR).unwrap();
    statistics.state.borrow_mut().last.as_mut().unwrap().0 = long_ago;
    assert!(statistics.text(&[]).await.contains("nodewell_node_load1 99\n"));
}

#[tokio::test]
async fn what_vanished_has_no_series_and_what_was_never_there_neither() {
    let made = Made::new();
    let (statistics, monitors) = (made.statistics(true), made.monitors(""));
    assert!(statistics.text(&monitors).await.contains("interface_name=\"eth0\""));
    made.write("net/dev", "lo: 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    made.write("diskstats", "");
    for gone in
        ["stat", "meminfo", "modules", "cmdline", "loadavg", "uptime", "vmstat", "self/mountinfo", "pressure/io"]
    {
        fs::remove_file(made.folder.path().join(gone)).unwrap();
    }
    statistics.state.borrow_mut().last = None;
    let text = statistics.text(&monitors).await;
    let left: Vec<&str> = samples(&text);
    assert!(left.iter().all(|line| !line.contains("eth0") && !line.contains("sda") && !line.contains("NaN")), "{text}");
    assert!(
        left.contains(&"net_rx_bytes{interface_name=\"lo\"} 1") && !left.iter().any(|line| line.starts_with("cpu_"))
    );
}

#[tokio::test]
async fn a_queue_has_a_length_from_the_second_scrape_on() {
    let made = Made::new();
    let (statistics, monitors) = (made.statistics(false), made.monitors(""));
    let samples = statistics.samples(statistics.roots(&monitors));
    let start = Instant::now();
    let first = statistics.write(&monitors, &samples, start);
    assert!(!first.contains("disk_avg_queue_len{"), "{first}");
    made.write("diskstats", &DISKS.replace(" 1500 31", " 1500 60031"));
    let samples = statistics.samples(statistics.roots(&monitors));
    let second = statistics.write(&monitors, &samples, start + Duration::from_secs(15));
    assert!(second.contains("\ndisk_avg_queue_len{device_name=\"sda\"} 4\n"), "{second}");
}

#[tokio::test]
async fn filesystems_show_what_statvfs_shows_and_network_ones_are_not_asked() {
    let made = Made::new();
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = mountinfo.lines().rfind(|line| line.split(' ').nth(4) == Some("/")).unwrap();
    // This machine's root under a device's name, whatever it is.
    let (mount, _) = root.split_once(" - ").unwrap();
    let nfs = "99 1 0:99 / /net rw - nfs4 server:/x rw\n98 1 0:98 / /run rw - tmpfs tmpfs rw\n";
    made.write("self/mountinfo", &format!("{mount} - ext4 /dev/vda rw,errors=remount-ro\n{nfs}"));
    let (statistics, monitors) = (made.statistics(true), made.monitors(""));
    let text = statistics.text(&monitors).await;
    let truth = nix::sys::statvfs::statvfs("/").unwrap();
    let size = format!(
        "nodewell_node_filesystem_size_bytes{{device=\"vda\",fstype=\"ext4\",mountpoint=\"/\"}} {}",
        truth.blocks() * truth.fragment_size()
    );
    assert!(samples(&text).contains(&&*size), "no {size} in {text}");
    let labels = "device_name=\"vda\",fs_type=\"ext4\",mount_option=\"rw,errors=remount-ro\"";
    let used = samples(&text)
        .into_iter()
        .find(|line| line.starts_with(&format!("disk_bytes_used{{{labels},state=\"used\"}}")));
    let used: f64 = used.unwrap().rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!(used > 0.0 && used < (truth.blocks() * truth.fragment_size()) as f64);
    assert_eq!(text.matches("disk_percent_used{").count(), 1, "{text}");
}

#[test]
fn this_machine_has_figures() {
    let reading = ProcfsReading::new(Path::new(PROC));
    assert!(reading.stat().total.is_some() && reading.memory().used().is_some());
}
