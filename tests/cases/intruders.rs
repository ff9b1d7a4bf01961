//! Into the agent's memory and files leads no way for other users, those of the check processes among them, nor for the
//! agent's own: `/proc/PID/mem`, ptrace, its descriptors.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};

use nodewell_tests::{
    agent::{Agent, Plan},
    intruder::{Intruder, refused_to_all},
    process::Process,
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("intruders")
        .case_with(&[Need::Root], "who_has_the_agents_user_has_not_its_memory", who_has_the_agents_user)
        .case_with(&[Need::Root], "other_users_have_neither_memory_nor_files", other_users)
        .case_with(
            &[Need::Root, Need::Other(refused_to_all)],
            "the_harness_sees_a_way_in_where_there_is_one",
            the_harness_sees_a_way_in,
        );
}

/// No user of this machine.
const AGENT: Intruder = Intruder { uid: 60_001, capabilities: &[] };
/// As the unit of the GPUs' check process has them.
const GPU: Intruder = Intruder { uid: 60_002, capabilities: &[] };
/// As the unit of the disks' has them. The third reads all files; what it is not to see, processes
/// among that, its unit hides.
const DISK: Intruder = Intruder { uid: 60_003, capabilities: &["sys_rawio", "sys_admin", "dac_read_search"] };

/// An agent of an ordinary user's, and the file that stands for its key.
struct Victim {
    agent: Agent,
    key: PathBuf,
}

impl Victim {
    fn start() -> Self {
        let plan = Plan::default();
        let key = plan.file("state/pki/key.pem", "secret");
        // Its user finds its way there, and so do all others: what stops them is the state folder.
        open_to_all(plan.folder());
        ["", "state", "kmsg"].iter().for_each(|name| chown(plan.folder().join(name), Some(AGENT.uid), None).unwrap());
        fs::set_permissions(plan.folder().join("state"), fs::Permissions::from_mode(0o700)).unwrap();
        Self { agent: plan.wrapped_in(AGENT.enter()).start(), key }
    }

    fn ways_of(&self, intruder: &Intruder) -> Vec<String> {
        let state = self.agent.plan().folder().join("state");
        intruder.ways_into(self.agent.pid(), &[&state, &state.join("state.db"), &self.key])
    }
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// It may read the files: they are its own.
fn who_has_the_agents_user() {
    let victim = Victim::start();
    let ways = victim.ways_of(&AGENT);
    assert!(ways.iter().all(|way| way.starts_with('/')), "{ways:?}");
    assert!(victim.agent.get("/healthz").is_some());
}

fn other_users() {
    let victim = Victim::start();
    assert_eq!(victim.ways_of(&GPU), [""; 0]);
    // Newer kernels let CAP_SYS_ADMIN read what lies where, and the environment, which has no secret.
    let mut ways = victim.ways_of(&DISK);
    ways.retain(|way| !way.starts_with('/') && !["reads /proc/PID/maps", "reads /proc/PID/environ"].contains(&&**way));
    assert_eq!(ways, [""; 0]);
}

/// Of the same user, into a program that does nothing against it.
fn the_harness_sees_a_way_in() {
    let argv = [AGENT.enter(), ["sleep", "600"].map(OsString::from).to_vec()].concat();
    let process = Process::start(&argv, Path::new("/dev/null")).unwrap();
    let runs = || fs::read_to_string(format!("/proc/{}/comm", process.pid())).is_ok_and(|name| name == "sleep\n");
    until("it runs", || runs().then_some(()));
    assert_eq!(AGENT.ways_into(process.pid(), &[]).len(), 7);
    assert_eq!(GPU.ways_into(process.pid(), &[]), [""; 0]);
}
