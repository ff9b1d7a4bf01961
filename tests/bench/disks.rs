//! One look at 24 disks, from the first question to the last answer: how long it takes, and what it costs the check
//! process that asks and its worker.

use std::{ffi::OsString, fs, path::Path, thread, time::Duration};

use nodewell_tests::{agent::Plan, check_process::children_of, process::Process};
use nodewell_vm::{
    disk::Image,
    guest::{Guest, Plan as GuestPlan},
};
use tempfile::TempDir;

use crate::{
    daemon::Daemon,
    programs,
    round::{Look, Rounds},
    setting::Setting,
    table::Row,
    usage::Usage,
    wait,
};

pub(crate) const DISKS: usize = 24;
const MIB_EACH: u64 = 16;
/// Long against a round, of an emulated machine too: what is measured between two looks is of one round alone.
const INTERVAL: &str = "10s";
/// The level at which a check process logs how long a round took.
const LEVEL: &str = "NODEWELL_LOG=debug";
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let mut rows = made_up(setting.times(11, 3));
    let measure = format!("{DISKS} NVMe disks, emulated guest (TCG): a round");
    match nodewell_vm::unmet() {
        None => rows.extend(emulated(setting.times(11, 3)).rows(&measure)),
        Some(missing) => rows.push(Row::not_run(measure, missing)),
    }
    rows
}

/// What everything but the disks costs: their files are there, and nothing that answers behind them.
fn made_up(times: usize) -> Vec<Row> {
    let (daemon, tree) = (Daemon::start(Plan::new("bench-24-disks").with_fifo()), tree());
    let folder = daemon.plan().folder();
    let mut argv: Vec<OsString> = vec!["env".into(), LEVEL.into(), programs::path("nodewell-checks").into()];
    argv.extend(["run", "disk", "--interval", INTERVAL].map(Into::into));
    argv.extend(["--socket".into(), folder.join("socket").into(), "--state-dir".into(), folder.join("disks").into()]);
    argv.extend(["--sys".into(), tree.path().join("sys").into(), "--dev".into(), tree.path().join("dev").into()]);
    let log = folder.join("disk.log");
    let check_process = Process::start(&argv, &log).expect("it starts");
    let worker = wait::until("its worker runs", || children_of(check_process.pid()).into_iter().next());
    let both = [check_process.pid(), worker].map(Usage::of);
    let rounds = Rounds::measure(times, || {
        thread::sleep(LOOK_EVERY);
        let [check_process, worker] = both.each_ref().map(Usage::cpu);
        Look { log: fs::read_to_string(&log).expect("it is ours"), check_process, worker }
    });
    rounds.rows(&format!("{DISKS} made-up disks, files without a device: a round"))
}

/// As sysfs shows NVMe controllers.
fn tree() -> TempDir {
    let tree = TempDir::with_prefix("nodewell-bench-").expect("there is room");
    let put = |path: &Path, text: &str| fs::write(path, text).expect("there is room");
    let dev = tree.path().join("dev");
    fs::create_dir_all(&dev).expect("there is room");
    for number in 0..DISKS {
        let folder = tree.path().join(format!("sys/class/nvme/nvme{number}"));
        fs::create_dir_all(&folder).expect("there is room");
        put(&folder.join("model"), "Made-up SSD\n");
        put(&folder.join("serial"), &format!("BENCH{number}\n"));
        put(&folder.join("firmware_rev"), "1.0\n");
        put(&folder.join("state"), "live\n");
        put(&folder.join("transport"), "pcie\n");
        put(&dev.join(format!("nvme{number}")), "");
    }
    tree
}

/// A real kernel's disks; the emulation makes everything slower, its disks and its processor.
fn emulated(times: usize) -> Rounds {
    let images: Vec<Image> = (0..DISKS).map(|_| Image::empty(MIB_EACH)).collect();
    let plan = images.iter().enumerate().fold(GuestPlan::default().memory_mib(1024), |plan, (number, image)| {
        plan.nvme(&format!("disk{number}"), image, None)
    });
    let guest = plan.modules(&["nvme"]).boot();
    guest.start_agent("check-processes = \"none\"\n");
    guest.sh(&format!(
        "{LEVEL} setsid nodewell-checks run disk --config /etc/nodewell.toml --interval {INTERVAL} \
         --state-dir /var/lib/nodewell-disk </dev/null >/run/disk.log 2>&1 &"
    ));
    let pids = ["run", "worker"].map(|name| guest.until(name, || pid(&guest, name)));
    Rounds::measure(times, || {
        thread::sleep(LOOK_EVERY);
        let [check_process, worker] = pids.each_ref().map(|pid| cpu(&guest, pid));
        Look { log: guest.sh("cat /run/disk.log"), check_process, worker }
    })
}

/// Of the process whose command line has `name` as an argument.
fn pid(guest: &Guest, name: &str) -> Option<String> {
    let found = guest.sh(&format!("grep -lz '^{name}$' /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3"));
    found.lines().next().map(str::to_owned)
}

/// Processor time so far: the first field of `schedstat` of all its threads, in nanoseconds
/// (Documentation/scheduler/sched-stats.rst); `stat` counts in hundredths of a second.
fn cpu(guest: &Guest, pid: &str) -> Duration {
    let reported = guest.sh(&format!("cat /proc/{pid}/task/*/schedstat"));
    let first = |line: &str| line.split(' ').next()?.parse::<u64>().ok();
    Duration::from_nanos(reported.lines().filter_map(first).sum())
}
