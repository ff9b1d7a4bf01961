//! The kernel kills the agent for its memory, in a cgroup that has become too small: the next one knows what it knew, reads
//! what came meanwhile, and no problem is over for a moment.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use nodewell_tests::{
    agent::Agent,
    cgroup::Cgroup,
    cluster::Cluster,
    suite::{Need, Suite},
    wait::until,
};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::TEST_RULES,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("killed_for_memory").case_with(
        &[Need::Controller("memory")],
        "the_next_one_goes_on",
        the_next_one_goes_on,
    );
}

fn the_next_one_goes_on() {
    let (cluster, node) = (Cluster::double(), "killed-for-memory");
    let mut agent = plan_on(&cluster, node).rules(TEST_RULES).start();
    agent.kmsg().write("test: fault on alpha");
    let first = wait_published(&cluster, node, "TestUnhealthy", "True");
    until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    let (over, was_well) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let seen = cluster.condition(node, "TestUnhealthy");
                was_well.fetch_or(seen.is_none_or(|seen| seen["status"] != "True"), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let _end = End(&over);
        kill_for_memory(&agent);
        agent.kmsg().write("test: fault on beta");
        agent.restart();
        until("both faults are there", || {
            agent.condition("TestUnhealthy").filter(|condition| condition.problems.len() == 2)
        });
        until("each is one Event", || (cluster.events(node, "TestFault").len() == 2).then_some(()));
        until("nothing waits", || (agent.view().apiserver.undelivered == 0).then_some(()));
    });
    assert!(!was_well.into_inner(), "the Node showed no problem for a moment");
    let last = cluster.condition(node, "TestUnhealthy").unwrap();
    assert_eq!(last["lastTransitionTime"], first["lastTransitionTime"], "it is the same problem");
}

/// What it asks for from now on is more than there is.
fn kill_for_memory(agent: &Agent) {
    let memory = Cgroup::with_controller("memory", &format!("nodewell-killed-{}", agent.pid())).unwrap();
    memory.limit_memory(4096);
    memory.take(agent.pid());
    until("the kernel kills it", || {
        let _ = agent.get("/v1/status");
        let stat = fs::read_to_string(format!("/proc/{}/stat", agent.pid())).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z')).then_some(())
    });
    assert_eq!(memory.memory_kills(), 1);
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
