//! Processes as /proc shows them, and as they vanish.

use std::os::unix::fs::symlink;

use super::*;

/// A folder like /proc.
struct Host(tempfile::TempDir);

impl Host {
    fn new(loadavg: &str) -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        host.put("loadavg", loadavg);
        host
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn task(&self, folder: &str, task: Task) {
        let Task { pid, name, state, parent, threads } = task;
        let line = format!("{pid} ({name}) {state} {parent} 1 1 0 -1 0 0 0 0 0 3 4 0 0 20 0 {threads} 0 5{pid} 0 0\n");
        self.put(&format!("{folder}/stat"), &line);
    }

    fn scan(&self) -> Scan {
        scan(self.0.path()).unwrap()
    }
}

struct Task {
    pid: u32,
    name: &'static str,
    state: char,
    parent: u32,
    threads: u32,
}

impl Task {
    /// Of one thread, and a child of init.
    fn new(pid: u32, name: &'static str, state: char) -> Self {
        Self { pid, name, state, parent: 1, threads: 1 }
    }
}

const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";
const CALM: &str = "0.10 0.10 0.10 1/80 11206\n";

#[test]
fn zombies_are_their_parents() {
    let host = Host::new(CALM);
    host.task("7", Task::new(7, "java", 'S'));
    host.put("7/cgroup", &format!("0::/kubepods/pod{UID}/abc\n"));
    host.task("8", Task { parent: 7, ..Task::new(8, "sh", 'Z') });
    host.task("9", Task { parent: 99, ..Task::new(9, "sh", 'Z') });
    host.task("10", Task { parent: 7, ..Task::new(10, "sh", 'Z') });
    let mut zombies = host.scan().zombies;
    zombies.sort_by_key(|zombie| zombie.id);
    let parents: Vec<&Process> = zombies.iter().map(|zombie| &zombie.parent).collect();
    let java = Process { pid: 7, name: "java".to_owned(), owner: Some(Owner::Pod(UID.to_owned())) };
    let gone = Process { pid: 99, name: "exited process".to_owned(), owner: None };
    assert_eq!(parents, [&java, &gone, &java]);
    assert_eq!(zombies[0].id, TaskId { pid: 8, start: 58 });
}

#[test]
fn zombies_of_a_pod_hide_none_of_the_node() {
    let host = Host::new(CALM);
    host.task("7", Task::new(7, "java", 'S'));
    host.put("7/cgroup", &format!("0::/kubepods/pod{UID}/abc\n"));
    host.task("8", Task::new(8, "cron", 'S'));
    host.put("8/cgroup", "0::/system.slice/cron.service\n");
    for pid in 10..u32::try_from(TASKS_LIMIT).unwrap() + 60 {
        host.task(&pid.to_string(), Task { parent: 7, ..Task::new(pid, "sh", 'Z') });
        host.task(&(pid + 10_000).to_string(), Task { parent: 8, ..Task::new(pid + 10_000, "sh", 'Z') });
    }
    let zombies = host.scan().zombies;
    let of_pod = |zombie: &&Zombie| zombie.parent.pid == 7;
    assert_eq!((zombies.len(), zombies.iter().filter(of_pod).count()), (2 * TASKS_LIMIT, TASKS_LIMIT));
}

/// A pod without a limit of its own may have a hundred thousand of them.
#[test]
fn zombies_with_a_parent_each_cost_a_bounded_number_of_looks() {
    let host = Host::new(CALM);
    let zombie = |pid: u32, parent: u32| Stat {
        pid,
        name: b"sh",
        state: b'Z',
        parent,
        session: 1,
        flags: 0,
        ticks: 0,
        threads: 1,
        started: 0,
    };
    let limit = u32::try_from(PARENTS_LIMIT).unwrap();
    let mut look = Look::new(host.0.path(), false);
    (0..limit + 100).for_each(|n| look.zombie(&zombie(n, 1_000_000 + n)));
    assert_eq!((look.parents.len(), look.found.zombies.len()), (PARENTS_LIMIT, TASKS_LIMIT));
    // Those of a parent that is known count all the same.
    let pod = Process { pid: 7, name: "java".to_owned(), owner: Some(Owner::Pod(UID.to_owned())) };
    look.parents.insert(7, pod);
    (0..limit).for_each(|n| look.zombie(&zombie(n, 7)));
    assert_eq!(look.zombies.of_pods, TASKS_LIMIT);
    look.parents.clear();
    look.zombie(&zombie(1, 1_000_000));
    assert!(look.parents.is_empty(), "enough of both: nothing is looked up");
}

#[test]
fn threads_are_looked_at_only_where_the_load_shows_more() {
    for (loadavg, found) in [(CALM, 1), ("9.00 9.00 9.00 1/80 11206\n", 2), ("9.00 9.00 9.00 8/80 11206\n", 1)] {
        let host = Host::new(loadavg);
        host.task("7", Task { threads: 3, ..Task::new(7, "nfsd", 'D') });
        host.task("7/task/7", Task { threads: 3, ..Task::new(7, "nfsd", 'D') });
        host.task("7/task/17", Task { threads: 3, ..Task::new(17, "worker", 'D') });
        host.task("7/task/18", Task { threads: 3, ..Task::new(18, "worker", 'S') });
        host.put("7/wchan", "io_schedule");
        host.put("7/cgroup", &format!("0::/kubepods/pod{UID}/abc\n"));
        let mut blocked = host.scan().blocked;
        blocked.sort_by_key(|task| task.id);
        assert_eq!(blocked.len(), found, "{loadavg}");
        assert_eq!(
            (blocked[0].name.as_str(), blocked[0].wait_channel.as_str(), blocked[0].ticks),
            ("nfsd", "io_schedule", 7)
        );
        assert_eq!(blocked[0].pod.as_deref(), Some(UID));
    }
}

#[test]
fn a_daemon_is_one_of_a_service_and_of_several_the_oldest() {
    let host = Host::new(CALM);
    let of_pod = format!("/kubepods/pod{UID}/abc");
    for (pid, cgroup) in
        [(90, "/system.slice/containerd.service"), (80, "/system.slice/containerd.service"), (7, &*of_pod)]
    {
        host.task(&pid.to_string(), Task::new(pid, "containerd", 'S'));
        host.put(&format!("{pid}/cgroup"), &format!("0::{cgroup}\n"));
        host.put(&format!("{pid}/status"), &format!("Name:\tcontainerd\nVmRSS:\t9 kB\nRssAnon:\t   {pid} kB\n"));
    }
    host.task("5", Task::new(5, "containerd", 'S'));
    host.put("5/cgroup", "0::/system.slice/k3s.service\n");
    let daemons = host.scan().daemons;
    let reported: Vec<_> = daemons.iter().map(|daemon| (daemon.name.as_str(), daemon.memory)).collect();
    assert_eq!(reported, [("containerd", Some(80)), ("containerd of k3s.service", None)]);
}

#[test]
fn what_vanishes_or_is_no_process_is_left_out() {
    let host = Host::new(CALM);
    fs::create_dir_all(host.0.path().join("11")).unwrap();
    host.put("12/stat", "");
    host.put("13/stat", "13 (cut off");
    host.put("14", "a file");
    symlink("/nowhere", host.0.path().join("15")).unwrap();
    host.put("sys/kernel/tainted", "0");
    assert_eq!(host.scan(), Scan::default());
}

#[test]
fn a_young_look_is_not_repeated() {
    let host = Host::new(CALM);
    let mut scanner = Scanner::new(host.0.path(), Duration::from_secs(3600));
    assert!(scanner.read().unwrap().scan.is_some());
    assert_eq!(scanner.read().unwrap().scan, None);
    assert!(Scanner::new(&host.0.path().join("none"), Duration::ZERO).read().is_err());
}

#[test]
fn we_find_our_own_descriptors() {
    let own = Path::new("/proc/self/fd");
    let counted = u64::try_from(own.read_dir().unwrap().count()).unwrap();
    // Other tests open and close files meanwhile.
    assert!(descriptors(own).unwrap().abs_diff(counted) < 200);
    assert_eq!(descriptors(Path::new("/proc/self/none")), None);
}
