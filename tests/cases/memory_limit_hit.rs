//! A flood of problems, each unlike the others, under a limit of memory and without an API server: the agent sheds what
//! it cannot hold, counts what it saw, and lives.

use std::{fmt::Write as _, fs::File, io, path::Path, time::Duration};

use nodewell_tests::{
    agent::Agent,
    cgroup::Cgroup,
    cli::binary,
    cluster::Cluster,
    double::Fault,
    process::Process,
    suite::{Need, Suite},
    wait::{stable, until, until_within},
};

use crate::{
    api_conditions::plan_on,
    lines::{LINE_RULE, TEST_RULES},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("memory_limit_hit").case_with(
        &[Need::Controller("memory")],
        "it_sheds_counts_and_lives",
        it_sheds_counts_and_lives,
    );
}

/// More than an agent holds once it is ready: with texts of full length some 45 MiB at most, and for a moment some 20 for an
/// answer with all its events, as this case asks for. With the 18 MiB that the program as shipped begins with, it is half of
/// what `nodewell.service` has before it is slowed down. An unoptimised one begins with twice that: its own code, of which
/// each agent has a copy in memory.
const ROOM: u64 = 80 << 20;
/// Of each of two kinds: as many as the ledger queues, more than any other queue holds.
const LINES: usize = 10_000;

/// An unoptimised agent on a busy machine.
const LONG: Duration = Duration::from_secs(90);

fn it_sheds_counts_and_lives() {
    let cluster = Cluster::double();
    cluster.as_double().fail_all(Fault::status(503));
    let memory = Cgroup::with_controller("memory", &format!("nodewell-test-limit-{}", std::process::id())).unwrap();
    let agent = start(&cluster, &memory);
    memory.limit_memory(memory.anonymous_bytes() + ROOM);
    let known = || agent.daemon("kernel-monitor").map_or(0, |monitor| monitor.records + monitor.lost);
    let before = stable("nothing is read yet", known);
    flood(&agent, &memory);
    until_within(LONG, "each line was seen or counted as lost", || {
        (known() - before >= 2 * LINES as u64).then_some(())
    });
    assert_eq!(known() - before, 2 * LINES as u64);
    let counted = metric(&agent, "problem_counter{reason=\"TestLine\"}");
    assert_eq!(counted, LINES as u64);
    agent.kmsg().write("test: line last");
    until("what comes later is heard", || {
        agent.events("TestLine").into_iter().find(|event| event.subject.as_deref() == Some("last"))
    });
    assert!(agent.get("/readyz").unwrap().status.is_success());
    assert!(agent.condition("TestUnhealthy").unwrap().problems.len() < LINES, "what it holds is bounded");
    assert!(memory.limit_hits() > 0, "the limit was never reached");
    assert_eq!(memory.memory_kills(), 0);
}

fn start(cluster: &Cluster, memory: &Cgroup) -> Agent {
    // The cgroup of a file's first reader is charged for its pages, for as long as the agent maps them; an unoptimised
    // program would be most of the limit.
    io::copy(&mut File::open(binary("nodewelld")).unwrap(), &mut io::sink()).unwrap();
    let plan = plan_on(cluster, "memory-limit").rules(&[TEST_RULES, LINE_RULE].concat());
    plan.wrapped_in(memory.enter()).start()
}

/// Written by a process under the same limit, so that what is written counts, too.
fn flood(agent: &Agent, memory: &Cgroup) {
    let mut text = String::new();
    let filler = "and a long story ".repeat(110);
    for number in 0..LINES {
        for (kind, sequence) in [("line n", 2 * number + 1), ("fault on s", 2 * number + 2)] {
            let _ = writeln!(text, "3,{sequence},1,-;test: {kind}{number} {filler}");
        }
    }
    let prepared = agent.plan().file("flood", &text);
    let mut argv = memory.enter();
    let script = "cat \"$0\" >>\"$1\"";
    argv.extend(["sh".into(), "-c".into(), script.into(), prepared.into_os_string(), agent.kmsg().path().into()]);
    let mut writer = Process::start(&argv, Path::new("/dev/null")).unwrap();
    assert!(writer.wait().success());
    agent.kmsg().lose(2 * LINES as u64);
}

fn metric(agent: &Agent, series: &str) -> u64 {
    let metrics = agent.metrics();
    let line = metrics.lines().find_map(|line| line.strip_prefix(series));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("no {series} in {metrics}"))
}
