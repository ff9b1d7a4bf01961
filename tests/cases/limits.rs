//! Checks of limits. What runs short, hangs, grows, expires or happens too often on a made-up machine is reported and
//! is over again; this machine as it is has nothing of it. The machine is a tree of files like /proc and /sys.

use std::{fs, time::Duration};

use nix::time::{ClockId, clock_gettime};
use nodewell_model::{BootId, view::ProblemView};
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::CheckProcess,
    suite::Suite,
    wait::{until, until_within},
};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::json;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("limits")
        .case("what_runs_short_is_reported_and_is_over", what_runs_short_is_reported_and_is_over)
        .case("what_runs_short_is_reported_over_restarts", what_runs_short_is_reported_over_restarts)
        .case("a_swap_storm_is_reported_while_it_lasts", a_swap_storm_is_reported_while_it_lasts)
        .case("tasks_that_hang_or_are_not_reaped_are_reported", tasks_that_hang_or_are_not_reaped_are_reported)
        .case("a_leak_is_saved_and_ends_with_its_day", a_leak_is_saved_and_ends_with_its_day)
        .case("a_certificate_is_reported_until_it_is_renewed", a_certificate_is_reported_until_it_is_renewed)
        .case("what_happens_is_reported_once", what_happens_is_reported_once)
        .case("a_kill_in_a_pod_names_the_pod", a_kill_in_a_pod_names_the_pod)
        .case("garbage_is_no_problem", garbage_is_no_problem)
        .case("this_machine_has_no_such_problem", this_machine_has_no_such_problem);
}

const CONDITIONS: [&str; 7] = [
    "ResourceExhausted",
    "MemoryPressureHigh",
    "CpuPressureHigh",
    "IoPressureHigh",
    "ResourceLeak",
    "TasksUnhealthy",
    "CertificateExpiring",
];

/// Condition and subject, the file that shows it, and what stands in it while it is a problem and while it is none.
const LEVELS: [(&str, &str, &str, &str, &str); 8] = [
    ("ResourceExhausted", "conntrack", "proc/sys/net/netfilter/nf_conntrack_count", "95", "10"),
    (
        "ResourceExhausted",
        "file-handles",
        "proc/sys/fs/file-nr",
        "95\t0\t100",
        "9223372036854775807\t0\t9223372036854775807",
    ),
    ("ResourceExhausted", "pids", "proc/sys/kernel/pid_max", "1001", "4194304"),
    ("ResourceExhausted", "threads", "proc/sys/kernel/threads-max", "1001", "190000"),
    ("ResourceExhausted", "pids of kubepods.slice", "sys/fs/cgroup/kubepods.slice/pids.current", "95", "79"),
    (
        "MemoryPressureHigh",
        "",
        "proc/pressure/memory",
        "full avg10=0.00 avg60=0.00 avg300=20.00 total=1",
        "full avg10=99.00 avg60=99.00 avg300=9.99 total=1",
    ),
    (
        "CpuPressureHigh",
        "",
        "proc/pressure/cpu",
        "some avg10=0.00 avg60=0.00 avg300=99.00 total=1",
        "some avg10=99.00 avg60=99.00 avg300=79.00 total=1",
    ),
    (
        "IoPressureHigh",
        "",
        "proc/pressure/io",
        "full avg10=0.00 avg60=0.00 avg300=60.00 total=1",
        "full avg10=99.00 avg60=99.00 avg300=39.99 total=1",
    ),
];

/// A level counts and is over by two readings.
const IMPATIENT: &str = "[limits]\nfor = \"1ms\"\nkeep-firing-for = \"1ms\"\nzombies = [3, 2]\nblocked-tasks = [3, 2]\n\
                         certificates = [\"/etc/kubernetes/pki/apiserver.crt\"]\n";

/// A machine where nothing runs short, with one CPU and long queues.
fn machine() -> Plan {
    let plan = Plan::default().config(IMPATIENT);
    plan.file("proc/loadavg", "0.00 99.00 0.00 1/1000 11206\n");
    plan.file("proc/sys/net/netfilter/nf_conntrack_max", "100\n");
    plan.file("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
    plan.file("sys/fs/cgroup/kubepods.slice/pids.max", "100\n");
    for (_, _, file, _, good) in LEVELS {
        plan.file(file, &level(file, good));
    }
    plan
}

/// PSI has a line for `some` in any case.
fn level(file: &str, text: &str) -> String {
    let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
    if file.starts_with("proc/pressure") && text.starts_with("full") {
        format!("{some}{text}\n")
    } else {
        format!("{text}\n")
    }
}

/// Asks twice a second.
fn started(plan: &Plan) -> CheckProcess {
    let path = |name: &str| plan.folder().join(name);
    let (proc, sys, dev, tracing) = (path("proc"), path("sys"), path("dev"), path("tracing"));
    let flags = [("--proc", &*proc), ("--sys", &*sys), ("--dev", &*dev), ("--tracing", &*tracing)];
    CheckProcess::of(plan, "check", &[&flags[..], &[("--interval", "500ms".as_ref())]].concat())
}

/// Replaces `name` whole: a reader sees one or the other.
fn write(agent: &Agent, name: &str, content: &str) {
    let folder = agent.plan().folder();
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join("draft"), content).unwrap();
    fs::rename(folder.join("draft"), folder.join(name)).unwrap();
}

fn problem(agent: &Agent, condition: &str, subject: &str) -> Option<ProblemView> {
    let is_it = |problem: &ProblemView| problem.subject.as_deref().unwrap_or_default() == subject;
    agent.condition(condition)?.problems.into_iter().find(is_it)
}

/// It asks the slow things seldom.
const LONG: Duration = Duration::from_secs(120);

fn wait_problem(agent: &Agent, condition: &str, subject: &str) -> ProblemView {
    until_within(LONG, &format!("{condition} of {subject:?}"), || problem(agent, condition, subject))
}

fn wait_over(agent: &Agent, condition: &str) {
    until_within(LONG, &format!("{condition} is over"), || {
        agent.condition(condition).filter(|found| found.problems.is_empty() && found.status.as_str() == "False")
    });
}

/// The first round was judged: its state is saved.
fn wait_judged(agent: &Agent) {
    let saved = agent.plan().folder().join("hardware/limits.json");
    until("limits were judged", || saved.exists().then_some(()));
}

fn what_runs_short_is_reported_and_is_over() {
    let agent = machine().start();
    let _check_process = started(agent.plan());
    wait_judged(&agent);
    for (condition, subject, ..) in LEVELS {
        assert_eq!(problem(&agent, condition, subject), None, "{condition} of {subject:?}");
    }
    for (condition, subject, file, bad, _) in LEVELS {
        write(&agent, file, &level(file, bad));
        wait_problem(&agent, condition, subject);
    }
    for (_, _, file, _, good) in LEVELS {
        write(&agent, file, &level(file, good));
    }
    for (condition, ..) in LEVELS {
        wait_over(&agent, condition);
    }
}

fn what_runs_short_is_reported_over_restarts() {
    let mut agent = machine().start();
    let mut check_process = started(agent.plan());
    let (condition, subject, file, bad, _) = LEVELS[0];
    write(&agent, file, bad);
    let first = wait_problem(&agent, condition, subject);
    assert_eq!(first.reason.as_str(), "ConntrackFull");
    // Between the two levels it goes on.
    write(&agent, file, "85");
    assert!(check_process.stop().success(), "{}", check_process.log());
    agent.restart();
    let _check_process = started(agent.plan());
    let now = until("it is reported again", || {
        problem(&agent, condition, subject).filter(|problem| problem.message.contains("85 of 100"))
    });
    assert_eq!((now.id, now.since, now.count), (first.id, first.since, 1));
}

fn a_swap_storm_is_reported_while_it_lasts() {
    let agent = machine().start();
    let _check_process = started(agent.plan());
    let mut pages = 0_u64;
    let storm = until_within(LONG, "the storm is reported", || {
        pages += 100_000;
        write(&agent, "proc/vmstat", &format!("nr_free_pages 7\npswpin {pages}\npswpout {pages}\n"));
        problem(&agent, "MemoryPressureHigh", "swap")
    });
    assert_eq!(storm.reason.as_str(), "SwapStorm");
    wait_over(&agent, "MemoryPressureHigh");
}

struct Task {
    pid: u32,
    name: &'static str,
    state: char,
    parent: u32,
}

fn task(agent: &Agent, task: Task) {
    let Task { pid, name, state, parent } = task;
    let line = format!("{pid} ({name}) {state} {parent} 1 1 0 -1 0 0 0 0 0 3 4 0 0 20 0 1 0 {pid} 0 0\n");
    write(agent, &format!("proc/{pid}/stat"), &line);
}

fn nfsd(agent: &Agent, pid: u32, state: char) {
    task(agent, Task { pid, name: "nfsd", state, parent: 1 });
}

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";

/// As the kubelet does before it starts one.
fn name_the_pod(agent: &Agent) {
    write(agent, &format!("var/log/pods/kube-system_dns-0_{UID}/dns/0.log"), "");
}

fn tasks_that_hang_or_are_not_reaped_are_reported() {
    let agent = machine().start();
    task(&agent, Task { pid: 7, name: "cron", state: 'S', parent: 1 });
    write(&agent, "proc/7/cgroup", "0::/system.slice/cron.service\n");
    task(&agent, Task { pid: 8, name: "java", state: 'S', parent: 1 });
    write(&agent, "proc/8/cgroup", &format!("0::/kubepods.slice/kubepods-pod{}.slice/x\n", UID.replace('-', "_")));
    for pid in 10..13 {
        task(&agent, Task { pid, name: "sh", state: 'Z', parent: 7 });
        nfsd(&agent, pid + 10, 'D');
        task(&agent, Task { pid: pid + 20, name: "sh", state: 'Z', parent: 8 });
    }
    name_the_pod(&agent);
    let _check_process = started(agent.plan());
    assert_eq!(wait_problem(&agent, "TasksUnhealthy", "cron (pid 7) of cron.service").reason.as_str(), "ZombieTasks");
    let of_pod = agent.wait_event("PodZombieTasks");
    assert_eq!(of_pod.subject.as_deref(), Some("kube-system/dns-0"));
    assert!(of_pod.message.contains("java (pid 8)") && of_pod.message.contains(UID), "{}", of_pod.message);
    let blocked = wait_problem(&agent, "TasksUnhealthy", "blocked tasks");
    assert!(blocked.message.contains("3 × nfsd"), "{}", blocked.message);
    for pid in 10..13 {
        fs::remove_dir_all(agent.plan().folder().join(format!("proc/{pid}"))).unwrap();
        nfsd(&agent, pid + 10, 'S');
    }
    // The pod's zombies are still there.
    wait_over(&agent, "TasksUnhealthy");
}

/// Saves what the judge knows of a day of the kernel's memory.
fn save_day(agent: &Agent, per_hour: u64, leak: Option<&str>) {
    let hour = clock_gettime(ClockId::CLOCK_BOOTTIME).unwrap().tv_sec() / 3600;
    let boot_id = BootId::parse(&fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap()).unwrap().to_string();
    let sample = |n: u64| json!({ "hour": hour - 24 + n.cast_signed(), "least": 1_000_000 + n * per_hour });
    let leak = leak.map(|message| json!({ "kind": "slab", "message": message }));
    let mut slab = json!({ "day": { "samples": (0..24).map(sample).collect::<Vec<_>>() } });
    if let Some(leak) = leak {
        slab["leak"] = leak;
    }
    let judge = json!({ "boot_id": boot_id, "leaks": { "series": { "slab": slab } } });
    let folder = agent.plan().folder().join("hardware");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("limits.json"), json!({ "judge": judge, "reported": [] }).to_string()).unwrap();
}

fn a_leak_is_saved_and_ends_with_its_day() {
    let agent = machine().start();
    write(&agent, "proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 8000000 kB\nSUnreclaim: 3400000 kB\n");
    save_day(&agent, 100_000, None);
    let mut check_process = started(agent.plan());
    let leak = wait_problem(&agent, "ResourceLeak", "slab");
    assert!(leak.message.contains("has grown by 2344 MiB within a day"), "{}", leak.message);
    assert!(check_process.stop().success(), "{}", check_process.log());
    save_day(&agent, 0, Some("it grew"));
    let _check_process = started(agent.plan());
    wait_over(&agent, "ResourceLeak");
}

fn certificate(to_year: i32) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(to_year, 1, 1));
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

fn a_certificate_is_reported_until_it_is_renewed() {
    const FILE: &str = "etc/kubernetes/pki/apiserver.crt";
    let agent = machine().start();
    write(&agent, FILE, &certificate(2021));
    let _check_process = started(agent.plan());
    let expired = wait_problem(&agent, "CertificateExpiring", &format!("/{FILE}"));
    assert_eq!(
        (expired.reason.as_str(), expired.message.split_once(';').map(|(what, _)| what)),
        ("CertificateExpired", Some("expired at 2021-01-01T00:00:00Z"))
    );
    write(&agent, FILE, &certificate(2090));
    wait_over(&agent, "CertificateExpiring");
}

fn what_happens_is_reported_once() {
    let agent = machine().start();
    let events = format!("sys/fs/cgroup/kubepods.slice/kubepods-pod{}.slice/memory.events", UID.replace('-', "_"));
    name_the_pod(&agent);
    write(&agent, &events, "oom 9\noom_kill 9\n");
    write(&agent, "proc/sys/kernel/tainted", "4096\n");
    let _check_process = started(agent.plan());
    wait_judged(&agent);
    for reason in ["FrequentPodOOMKills", "KernelTainted", "RebootRequired"] {
        assert!(agent.events(reason).is_empty(), "{reason}");
    }
    write(&agent, &events, "oom 14\noom_kill 14\n");
    let killed = agent.wait_event("FrequentPodOOMKills");
    assert_eq!(killed.subject.as_deref(), Some("kube-system/dns-0"));
    assert!(killed.message.contains(UID), "{}", killed.message);
    write(&agent, "proc/sys/kernel/tainted", "4608\n");
    let tainted = agent.wait_event("KernelTainted");
    assert!(tainted.message.contains("(W)") && !tainted.message.contains("(O)"), "{}", tainted.message);
    write(&agent, "run/reboot-required.pkgs", "linux-image-6.1.0-21-amd64\n");
    write(&agent, "run/reboot-required", "*** System restart required ***\n");
    assert!(agent.wait_event("RebootRequired").message.contains("linux-image-6.1.0-21-amd64"));
    let is_counted = |agent: &Agent| agent.view().hardware.iter().any(|one| one.class == "reboots");
    until("the reboot is counted", || is_counted(&agent).then_some(()));
    fs::remove_file(agent.plan().folder().join("run/reboot-required")).unwrap();
    until("the reboot is over", || (!is_counted(&agent)).then_some(()));
    for reason in ["FrequentPodOOMKills", "KernelTainted", "RebootRequired"] {
        assert_eq!(agent.events(reason).len(), 1, "{reason}");
    }
}

/// By the name that the check process, which is root, found in the kubelet's folder; the agent itself does not look there.
fn a_kill_in_a_pod_names_the_pod() {
    let agent = machine().start();
    let slice = format!("/kubepods.slice/kubepods-pod{}.slice", UID.replace('-', "_"));
    let kill = |pid: u32| {
        let head = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-1.scope,mems_allowed=0";
        agent.kmsg().write(&format!("{head},oom_memcg={slice},task_memcg={slice}/x,task=java,pid={pid},uid=0"));
        agent.kmsg().write(&format!(
            "Memory cgroup out of memory: Killed process {pid} (java) total-vm:9kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB"
        ));
    };
    let event = |subject: &str| {
        until("the kill is an Event", || {
            agent.events("OOMKilling").into_iter().find(|event| event.subject.as_deref() == Some(subject))
        })
    };
    kill(4711);
    assert!(event(UID).message.starts_with(&format!("pod {UID}: Memory cgroup out of memory: Killed process 4711")));
    let _check_process = started(agent.plan());
    name_the_pod(&agent);
    let names = agent.plan().folder().join("pods/names");
    until("the check process knows the pod", || {
        fs::read_to_string(&names).is_ok_and(|all| all.contains(UID)).then_some(())
    });
    kill(4712);
    let named = event("kube-system/dns-0").message;
    assert!(named.starts_with(&format!("pod kube-system/dns-0 (uid {UID}): Memory cgroup out of memory")), "{named}");
    assert!(named.contains("Killed process 4712 (java)"), "{named}");
}

fn garbage_is_no_problem() {
    let agent = machine().start();
    let check_process = started(agent.plan());
    wait_judged(&agent);
    for (_, _, file, ..) in LEVELS {
        write(&agent, file, "\0\u{fffd}-1 99999999999999999999 avg300=\n");
    }
    for file in ["proc/meminfo", "proc/vmstat", "proc/self/cgroup", "proc/9/stat", "etc/kubernetes/pki/apiserver.crt"] {
        write(&agent, file, "-----BEGIN CERTIFICATE-----\n\0(\u{fffd}\n-----END CERTIFICATE-----\n");
    }
    let (condition, subject, file, bad, _) = LEVELS[0];
    write(&agent, file, bad);
    wait_problem(&agent, condition, subject);
    assert!(check_process.has_worker(), "{}", check_process.log());
    for condition in CONDITIONS {
        let problems = agent.condition(condition).map(|found| found.problems).unwrap_or_default();
        let others: Vec<_> = problems.iter().filter(|found| found.subject.as_deref() != Some(subject)).collect();
        assert!(others.is_empty(), "{condition}: {others:?}");
    }
}

fn this_machine_has_no_such_problem() {
    let agent = Plan::default().start();
    let _check_process = CheckProcess::of(agent.plan(), "check", &[("--interval", "500ms".as_ref())]);
    wait_judged(&agent);
    for condition in CONDITIONS {
        wait_over(&agent, condition);
    }
    for reason in ["KernelTainted", "FrequentPodOOMKills"] {
        assert!(agent.events(reason).is_empty(), "{reason}");
    }
}
