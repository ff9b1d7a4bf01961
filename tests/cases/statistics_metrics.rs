//! The node's own figures on /metrics: Node Problem Detector's files unchanged, held against the machine itself.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use nodewell_tests::{
    agent::{Agent, Plan},
    cli::nodewell,
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("statistics_metrics")
        .case("counters_lie_between_two_reads_of_proc", counters_lie_between_two_reads_of_proc)
        .case("what_stands_still_does_not_grow_on_the_page", what_stands_still_does_not_grow_on_the_page)
        .case("a_device_that_vanished_has_no_series", a_device_that_vanished_has_no_series)
        .case("check_reports_differences_and_errors_of_a_file", check_reports_differences_and_errors_of_a_file)
        .case("a_reload_takes_a_new_file_in", a_reload_takes_a_new_file_in)
        .case("our_own_can_be_turned_off", our_own_can_be_turned_off)
        .case("every_metric_is_in_the_guide", every_metric_is_in_the_guide)
        .case_with(
            &[Need::LongSuite],
            "ten_thousand_pages_leave_nothing_behind",
            ten_thousand_pages_leave_nothing_behind,
        );
}

const STOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../agent/rules/tests/npd");
const FILES: [&str; 2] = ["system-stats-monitor.json", "net-cgroup-system-stats-monitor.json"];

/// An agent with both of Node Problem Detector's stock files.
pub(crate) fn with_stock_files() -> Agent {
    let plan = Plan::default();
    FILES.iter().fold(plan, |plan, name| plan.flag("--npd-config", format!("{STOCK}/{name}"))).start()
}

/// Series and their values; the same series twice would be no valid exposition.
pub(crate) fn series(page: &str) -> BTreeMap<String, f64> {
    let mut series = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(series.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} twice");
    }
    series
}

/// The kernel's counters under the names of the metrics.
fn counters() -> HashMap<String, f64> {
    let read = |name: &str| fs::read_to_string(Path::new("/proc").join(name)).unwrap();
    let mut found = HashMap::new();
    let number = |word: &str| word.parse::<f64>().unwrap();
    for line in read("stat").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "cpu" => {
                for (at, state) in [(1, "user"), (3, "system"), (7, "softirq")] {
                    found.insert(format!("cpu_usage_time{{state=\"{state}\"}}"), number(words[at]) / 100.0);
                    found.insert(
                        format!("nodewell_node_cpu_seconds_total{{mode=\"{state}\"}}"),
                        number(words[at]) / 100.0,
                    );
                }
            }
            "cpu0" => {
                found.insert("system_cpu_stat{cpu=\"cpu0\",stage=\"user\"}".to_owned(), number(words[1]) / 100.0);
            }
            "processes" => {
                found.insert("system_processes_total".to_owned(), number(words[1]));
                found.insert("nodewell_node_forks_total".to_owned(), number(words[1]));
            }
            "intr" => {
                found.insert("system_interrupts_total".to_owned(), number(words[1]));
            }
            _ => {}
        }
    }
    for line in read("net/dev").lines().filter(|line| line.contains(':')) {
        let (name, counts) = line.split_once(':').unwrap();
        let (name, counts) = (name.trim(), counts.split_whitespace().map(number).collect::<Vec<_>>());
        found.insert(format!("net_rx_bytes{{interface_name=\"{name}\"}}"), counts[0]);
        found.insert(format!("net_tx_packets{{interface_name=\"{name}\"}}"), counts[9]);
        found.insert(
            format!("nodewell_node_network_bytes_total{{direction=\"transmit\",interface=\"{name}\"}}"),
            counts[8],
        );
    }
    for line in read("diskstats").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, sectors) = (words[2], number(words[9]));
        found.insert(
            format!("disk_operation_bytes_count{{device_name=\"{name}\",direction=\"write\"}}"),
            sectors * 512.0,
        );
        found.insert(format!("disk_operation_count{{device_name=\"{name}\",direction=\"read\"}}"), number(words[3]));
        found.insert(format!("disk_io_time{{device_name=\"{name}\"}}"), number(words[12]));
        found.insert(format!("nodewell_node_disk_busy_seconds_total{{device=\"{name}\"}}"), number(words[12]) / 1000.0);
    }
    found
}

fn counters_lie_between_two_reads_of_proc() {
    let agent = with_stock_files();
    let before = counters();
    let page = series(&agent.metrics());
    let after = counters();
    let mut held = 0;
    for (name, low) in &before {
        let (Some(value), Some(high)) = (page.get(name), after.get(name)) else { continue };
        assert!((*low..=*high).contains(value), "{name} is {value}, /proc says {low} to {high}");
        held += 1;
    }
    // Whatever this machine has: a processor, the loopback, the scheduler.
    assert!(held >= 12, "only {held} of {} are on the page: {page:#?}", before.len());
    for name in ["system_processes_total", "system_interrupts_total", "net_rx_bytes{interface_name=\"lo\"}"] {
        assert!(page.contains_key(name), "{name} is not on the page");
    }
}

/// A procfs of our own, and a file that has it read.
fn made_up(plan: &Plan) -> String {
    plan.file("proc/stat", "cpu  100 0 0 0\ncpu0 100 0 0 0\nintr 5000000\nprocesses 4711\n");
    plan.file("proc/net/dev", "a\n b\n eth0: 7 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n");
    plan.file("proc/diskstats", "8 0 sda 10 0 12 0 20 0 22 0 0 1500 31\n");
    let stock = fs::read_to_string(Path::new(STOCK).join(FILES[0])).unwrap();
    let net = "\"net\": {\"metricsConfigs\": {\"net/rx_bytes\": {\"displayName\": \"net/rx_bytes\"}}},";
    stock.replacen('{', &format!("{{ \"procPath\": {:?}, {net}", plan.folder().join("proc")), 1)
}

fn on_made_up(plan: Plan) -> Agent {
    let file = plan.file("stats.json", &made_up(&plan));
    plan.flag("--npd-config", file).start()
}

/// Until the metrics are others than the last second's.
fn wait_page(agent: &Agent, what: &str, is_it: impl Fn(&str) -> bool) -> String {
    until(what, || Some(agent.metrics()).filter(|page| is_it(page)))
}

fn what_stands_still_does_not_grow_on_the_page() {
    let agent = on_made_up(Plan::default());
    for load in ["1.00", "2.00", "3.00"] {
        agent.plan().file("proc/loadavg", &format!("{load} 0.00 0.00 1/1 1\n"));
        let shown = format!("cpu_load_1m {}\n", &load[..1]);
        let page = series(&wait_page(&agent, "the page is a new one", |page| page.contains(&shown)));
        for (name, value) in [
            ("system_interrupts_total", 5_000_000.0),
            ("system_processes_total", 4711.0),
            ("cpu_usage_time{state=\"user\"}", 1.0),
            ("system_cpu_stat{cpu=\"cpu0\",stage=\"user\"}", 1.0),
            ("net_rx_bytes{interface_name=\"eth0\"}", 7.0),
            ("disk_operation_bytes_count{device_name=\"sda\",direction=\"write\"}", 22.0 * 512.0),
        ] {
            assert_eq!(page.get(name), Some(&value), "{name} at load {load}");
        }
    }
}

fn a_device_that_vanished_has_no_series() {
    let agent = on_made_up(Plan::default());
    assert!(agent.metrics().contains("net_rx_bytes{interface_name=\"eth0\"}"));
    agent.plan().file("proc/net/dev", "");
    agent.plan().file("proc/diskstats", "rubbish\n8 0 sdb \u{0} 1 2 3\n");
    wait_page(&agent, "eth0 is gone", |page| {
        !page.contains("interface_name=\"eth0\"") && !page.contains("device_name=\"sda\"") && !page.contains("\"sdb\"")
    });
}

fn check_reports_differences_and_errors_of_a_file() {
    for name in FILES {
        let outcome = nodewell(["check", &format!("{STOCK}/{name}")]);
        assert_eq!(outcome.code, 0, "{}", outcome.stdout);
        assert!(outcome.stdout.contains("a system-stats monitor"), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("adds the whole count again with every sample"), "{}", outcome.stdout);
    }
    let plan = Plan::default();
    let bad = plan.file("bad.json", "{\"cpu\": {\"metricsConfigs\": {\n\"cpu/load_1m\": {\"displayName\": 7}}}}");
    let outcome = nodewell(["check", &bad.display().to_string()]);
    let reported = format!("{}:2: \"displayName\" takes a string, not 7", bad.display());
    assert_eq!(outcome.code, 78);
    assert!(outcome.stdout.contains(&reported), "{}", outcome.stdout);
}

fn a_reload_takes_a_new_file_in() {
    let agent = Plan::default().start();
    assert!(!agent.metrics().contains("my_uptime"));
    let file = "{\"host\": {\"metricsConfigs\": {\"host/uptime\": {\"displayName\": \"my/uptime\"}}}}";
    agent.plan().file("monitors.d/uptime.json", file);
    agent.reload();
    wait_page(&agent, "the uptime is there", |page| page.contains("\nmy_uptime{kernel_version=\""));
}

fn our_own_can_be_turned_off() {
    let agent = Plan::default().config("[statistics]\nenabled = false\n").start();
    let page = agent.metrics();
    assert!(!page.contains("nodewell_node_") && page.contains("nodewell_build_info"), "{page}");
}

/// docs/reference/metrics.md has every metric: with the agent's own names, and those of the stock files.
fn every_metric_is_in_the_guide() {
    let count = count_in_the_guide(&with_stock_files().metrics());
    assert!(count > 80, "{count}");
}

/// How many metrics a page has, each of which is in the guide.
pub(crate) fn count_in_the_guide(page: &str) -> usize {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/metrics.md")).unwrap();
    let types: Vec<(&str, &str)> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    for (name, kind) in &types {
        let is_row = |line: &&str| line.contains(&format!("`{name}`")) || line.contains(&format!("→ `{name}`"));
        let row = guide.lines().find(|line| line.starts_with('|') && is_row(line));
        let row = row.unwrap_or_else(|| panic!("{name} is in no table of docs/reference/metrics.md"));
        assert!(row.contains(kind), "{name} is a {kind}, the guide says {row}");
    }
    types.len()
}

/// As many as a server asks for in two days.
fn ten_thousand_pages_leave_nothing_behind() {
    let agent = with_stock_files();
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{}/status", agent.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let pages = |count: usize| (0..count).for_each(|_| assert!(!agent.metrics().is_empty()));
    pages(1000);
    let before = resident();
    pages(10_000);
    let after = resident();
    assert!(after < before + 1024, "{before} kB before, {after} kB after");
}
