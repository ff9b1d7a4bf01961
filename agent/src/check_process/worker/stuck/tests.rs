//! Stuck workers of an earlier run, found in a made-up /proc.

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::check_process::worker::task::tests::stat;

const UID: u32 = 990;

/// Only init is there.
struct Proc(TempDir);

impl Proc {
    fn new() -> Self {
        let proc = Self(tempfile::tempdir().unwrap());
        proc.put(1, "init", 'S', 0, 5);
        proc
    }

    fn put(&self, pid: u32, name: &str, state: char, parent: u32, started: u64) -> PathBuf {
        let folder = self.0.path().join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), stat(pid, name, state, parent, 1, started)).unwrap();
        self.status(pid, UID, 0);
        folder
    }

    fn status(&self, pid: u32, uid: u32, pending: u32) {
        let text = format!("Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nSigPnd:\t{pending:016x}\nShdPnd:\t0\n");
        fs::write(self.0.path().join(pid.to_string()).join("status"), text).unwrap();
    }

    async fn found(&self) -> StuckWorkers {
        self.found_by(WorkerIdentity { worker_group: WorkerGroup::Disk, uid: UID, cgroup: None }).await
    }

    async fn found_by(&self, ours: WorkerIdentity) -> StuckWorkers {
        let mut stuck = StuckWorkers::default();
        stuck.find(self.0.path(), &ours).await;
        stuck
    }
}

fn at(device: &str) -> TaskName {
    TaskName::named(&format!("nwd:{device}"), WorkerGroup::Disk).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_orphan_at_a_device_is_respected_until_it_is_gone() {
    let proc = Proc::new();
    let folder = proc.put(77, "nwd:nvme0", 'D', 1, 400);
    let mut stuck = proc.found().await;
    let no_answer = stuck.forbid(&at("nvme0")).unwrap();
    assert_eq!(no_answer.message, "its worker, pid 77, is stuck in the kernel");
    assert!(stuck.forbid(&at("nvme1")).is_none());
    assert!(!stuck.reap());
    fs::remove_file(folder.join("stat")).unwrap();
    fs::create_dir(folder.join("stat")).unwrap();
    assert!(!stuck.reap(), "it cannot be looked at");
    fs::remove_dir_all(folder).unwrap();
    assert!(stuck.reap());
    assert!(stuck.forbid(&at("nvme0")).is_none());
}

#[tokio::test(start_paused = true)]
async fn two_orphans_are_many_and_another_process_with_its_pid_is_not_it() {
    let proc = Proc::new();
    proc.put(77, "nwd:nvme0", 'D', 1, 400);
    proc.put(78, "nwd:nvme1", 'D', 1, 401);
    let mut stuck = proc.found().await;
    assert!(stuck.are_many());
    proc.put(77, "nwd:nvme0", 'S', 1, 9000);
    assert!(stuck.reap());
    assert!(!stuck.are_many());
}

#[tokio::test(start_paused = true)]
async fn only_an_orphan_that_is_still_there_is_stuck() {
    let proc = Proc::new();
    proc.put(50, CHECKS, 'S', 1, 10);
    proc.put(77, "nwd:nvme0", 'D', 50, 400);
    proc.put(78, "nwd:nvme1", 'Z', 1, 400);
    proc.put(79, "kworker/0:1", 'D', 2, 400);
    fs::create_dir(proc.0.path().join("sys")).unwrap();
    fs::create_dir(proc.0.path().join("80")).unwrap();
    fs::write(proc.0.path().join("80/stat"), "80 (nwd:x").unwrap();
    assert_eq!(proc.found().await.summary(), None);
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_process_with_our_name_is_not_ours() {
    let proc = Proc::new();
    proc.put(77, "nwd:nvme0", 'S', 1, 400);
    assert_eq!(proc.found().await.summary(), None);
    proc.status(77, UID, 1 << 8);
    assert!(proc.found().await.forbid(&at("nvme0")).is_some(), "it was killed and is still there");
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_hangs_makes_its_process_stuck() {
    let proc = Proc::new();
    let thread = proc.put(77, "nwd:nvme0", 'S', 1, 400).join("task/78");
    fs::create_dir_all(&thread).unwrap();
    fs::write(thread.join("stat"), stat(78, "nwd:nvme0", 'D', 1, 2, 401)).unwrap();
    assert!(proc.found().await.forbid(&at("nvme0")).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_stuck_process_of_another_user_or_group_is_not_ours() {
    let proc = Proc::new();
    proc.put(77, "nwd:nvme0", 'D', 1, 400);
    proc.status(77, UID + 1, 0);
    proc.put(78, "nwg:nvme0", 'D', 1, 400);
    assert_eq!(proc.found().await.summary(), None);
}

#[tokio::test(start_paused = true)]
async fn a_service_knows_its_own_by_the_cgroup_whatever_their_user() {
    let proc = Proc::new();
    for (pid, unit) in [(77, "nodewell-disk.service"), (78, "other.scope")] {
        let folder = proc.put(pid, &format!("nwd:sd{pid}"), 'D', 1, 400);
        fs::write(folder.join("cgroup"), format!("0::/nodewell.slice/{unit}\n")).unwrap();
    }
    let cgroup = Some("0::/nodewell.slice/nodewell-disk.service\n".to_owned());
    let found = proc.found_by(WorkerIdentity { worker_group: WorkerGroup::Disk, uid: UID, cgroup }).await;
    assert_eq!(found.summary().unwrap(), "workers stuck in the kernel at sd77; 1 since the start");
}
