//! Fence agents that do not do as they should: scripts, under the real supervisor.

use std::{
    fs,
    time::{Duration, Instant},
};

use super::bench::{Bench, call, until};
use nodewell_power::agent::{Agents, Options};
use nodewell_remediation::{
    action::Failed,
    method::{AgentAction, ValidatedMethod},
    snapshot::PowerState,
};

fn options() -> Options {
    Options {
        values: [("ip", "1.2.3.4"), ("password", "hunter2-secret")].map(|(a, b)| (a.into(), b.into())).into(),
        secrets: vec!["hunter2-secret".to_owned()],
    }
}

fn agents(bench: &Bench) -> Agents {
    Agents::new(bench.path().to_owned(), bench.runner())
}

#[tokio::test]
async fn an_agent_gets_its_options_on_stdin_and_nothing_else() {
    let bench = Bench::new();
    bench.script(
        "fence_test",
        "cat > $0.stdin; env | sort > $0.env; echo $# > $0.count; ps -o sid= -p $$ > $0.sid; echo $$ > $0.pid",
    );
    agents(&bench).perform(&call(30), AgentAction::Off, &options(), &bench.lease_deadline(60)).await.unwrap();
    assert_eq!(bench.read("fence_test.stdin"), "action=off\nip=1.2.3.4\npassword=hunter2-secret\n");
    assert_eq!(bench.read("fence_test.count").trim(), "0");
    assert_eq!(bench.read("fence_test.sid").trim(), bench.read("fence_test.pid").trim(), "a session of its own");
    let env = bench.read("fence_test.env");
    let names: Vec<&str> = env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    // The shell adds its own.
    assert!(names.iter().all(|name| ["LANG", "PATH", "PWD", "OLDPWD", "SHLVL", "_"].contains(name)), "{env}");
}

/// It has no option for them, and an agent of a cloud would take them for its provider's.
#[tokio::test]
async fn authorities_of_bmcs_are_given_to_fence_redfish_alone() {
    let bench = Bench::new();
    let file = bench.path().join("ca.pem");
    fs::write(&file, "").unwrap();
    let agents = Agents::new(bench.path().to_owned(), bench.runner().trusting(Some(file.clone())));
    for (agent, expected) in [("fence_redfish", format!("{}\n", file.display())), ("fence_aws", "\n".to_owned())] {
        bench.script(agent, "echo $REQUESTS_CA_BUNDLE > $0.ca");
        let call = ValidatedMethod { agent: agent.into(), ..call(30) };
        agents.perform(&call, AgentAction::Off, &options(), &bench.lease_deadline(60)).await.unwrap();
        assert_eq!(bench.read(&format!("{agent}.ca")), expected);
    }
}

#[tokio::test]
async fn metadata_is_read_again_when_its_file_is_another() {
    let bench = Bench::new();
    let agents = agents(&bench);
    let metadata = |actions: &str| {
        let text = format!(
            "cat > /dev/null; echo run >> $0.runs; echo '<resource-agent name=\"fence_test\"><parameters/>\
             <actions>{actions}</actions></resource-agent>'"
        );
        bench.script("fence_test", &text);
    };
    metadata("<action name=\"off\"/>");
    let first = agents.metadata("fence_test").await.unwrap();
    assert_eq!(agents.metadata("fence_test").await.unwrap(), first);
    assert_eq!(bench.read("fence_test.runs"), "run\n");
    metadata("<action name=\"off\"/><action name=\"on\"/>");
    assert_ne!(agents.metadata("fence_test").await.unwrap(), first);
    assert_eq!(bench.read("fence_test.runs"), "run\nrun\n");
}

#[tokio::test]
async fn exit_statuses_are_what_is_believed() {
    for (script, state) in [
        ("exit 0", PowerState::On),
        // Whatever ended it: a shell that cannot fork, or read its script, ends so.
        ("exit 2", PowerState::Unknown),
        ("if", PowerState::Unknown),
        ("echo Status: OFF >&2; exit 2", PowerState::Unknown),
        ("echo Status: OFFLINE; exit 2", PowerState::Unknown),
        ("echo the last status: off; exit 2", PowerState::Unknown),
        ("echo Status: OFF; echo Status: ON; exit 2", PowerState::Unknown),
        ("exit 1", PowerState::Unknown),
        ("exit 3", PowerState::Unknown),
        ("kill -9 $$", PowerState::Unknown),
        ("echo Status: ON; exit 2", PowerState::Unknown),
        ("echo Status: OFF; exit 0", PowerState::Unknown),
        ("echo Status: OFF; exit 2", PowerState::Off),
        ("printf '\\377\\376'; exit 2", PowerState::Unknown),
        ("printf '\\377\\376\\nstatus: off'; exit 2", PowerState::Off),
    ] {
        let bench = Bench::new();
        bench.script("fence_test", script);
        let found = agents(&bench).status(&call(30), &options()).await;
        assert_eq!(found.state, state, "{script}");
        let is_hinted = found.why.is_some_and(|why| why.contains("if the agent prints \"Status: OFF\""));
        assert_eq!(is_hinted, script.ends_with("exit 2") && state == PowerState::Unknown || script == "if", "{script}");
    }
}

#[tokio::test]
async fn a_password_that_an_agent_prints_is_not_reported() {
    for script in [
        "cat; cat >&2; echo 'login of hunter2-secret failed' >&2; exit 1",
        "printf 'a\\377hunter2-secret\\377' >&2; exit 1",
        "yes hunter2-secret | head -c 40000; exit 1",
    ] {
        let bench = Bench::new();
        bench.script("fence_test", script);
        let failed = agents(&bench)
            .perform(&call(30), AgentAction::Off, &options(), &bench.lease_deadline(60))
            .await
            .unwrap_err();
        let Failed::Refused(why) = failed else { panic!("{failed:?}") };
        assert!(!why.contains("hunter2") && why.contains("[removed]"), "{why}");
    }
}

#[tokio::test]
async fn a_gigabyte_of_output_is_read_and_not_stored() {
    let bench = Bench::new();
    bench.script("fence_test", "echo Status: OFF; head -c 1000000000 /dev/zero; exit 2");
    assert_eq!(agents(&bench).status(&call(60), &options()).await.state, PowerState::Off);
}

#[tokio::test]
async fn one_that_hangs_is_ended_with_all_that_it_has_started() {
    let bench = Bench::new();
    bench.script("fence_test", "setsid sleep 600 & echo $! > $0.far; sleep 600 & echo $! > $0.near; wait");
    let begun = Instant::now();
    let failed =
        agents(&bench).perform(&call(3), AgentAction::Off, &options(), &bench.lease_deadline(60)).await.unwrap_err();
    assert_eq!(failed, Failed::Timeout(Duration::from_secs(3)));
    assert!(begun.elapsed() < Duration::from_secs(60), "the call waited for what sleeps");
    assert!(bench.is_dead("fence_test.near") && bench.is_dead("fence_test.far"));
}

#[tokio::test]
async fn one_that_ignores_being_asked_to_end_is_killed() {
    let bench = Bench::new();
    bench.script("fence_test", "trap '' TERM; echo $$ > $0.pid; while :; do sleep 1; done");
    let failed =
        agents(&bench).perform(&call(3), AgentAction::Off, &options(), &bench.lease_deadline(60)).await.unwrap_err();
    assert_eq!(failed, Failed::Timeout(Duration::from_secs(3)));
    assert!(bench.is_dead("fence_test.pid"));
}

#[tokio::test]
async fn what_it_leaves_behind_ends_with_it() {
    let bench = Bench::new();
    bench.script("fence_test", "setsid sh -c 'sleep 600' >/dev/null 2>&1 & echo $! > $0.far; exit 0");
    agents(&bench).perform(&call(30), AgentAction::Off, &options(), &bench.lease_deadline(60)).await.unwrap();
    assert!(bench.is_dead("fence_test.far"));
}

#[tokio::test]
async fn one_that_is_not_there_or_writable_by_others_is_not_begun() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let act = async || {
        agents(&bench).perform(&call(30), AgentAction::Off, &options(), &bench.lease_deadline(60)).await.unwrap_err()
    };
    assert!(matches!(act().await, Failed::NotBegun(_)));
    bench.script("fence_test", "exit 0");
    fs::set_permissions(bench.path().join("fence_test"), fs::Permissions::from_mode(0o777)).unwrap();
    let Failed::NotBegun(why) = act().await else { panic!("it was begun") };
    assert!(why.contains("can be written by others"), "{why}");
}

#[tokio::test]
async fn a_line_end_in_a_secret_is_not_another_option() {
    let bench = Bench::new();
    bench.script("fence_test", "exit 0");
    let mut options = options();
    options.values.insert("password".into(), "a\naction=on".into());
    let failed =
        agents(&bench).perform(&call(30), AgentAction::Off, &options, &bench.lease_deadline(60)).await.unwrap_err();
    assert!(matches!(failed, Failed::NotBegun(_)));
}

#[tokio::test]
async fn an_agent_ends_when_the_leaders_time_does() {
    let bench = Bench::new();
    let watch = "while :; do read up rest < /proc/uptime; echo $up >> $0.lived; sleep 0.1; done";
    bench.script("fence_test", &format!("trap '' TERM; echo $$ > $0.pid; {watch}"));
    let lease_deadline = bench.lease_deadline(4);
    let failed = agents(&bench).perform(&call(60), AgentAction::Off, &options(), &lease_deadline).await.unwrap_err();
    assert!(matches!(failed, Failed::InDoubt(_)), "{failed:?}");
    assert!(bench.is_dead("fence_test.pid"));
    // By its own report: what could not run did nothing.
    let report = bench.read("fence_test.lived");
    let lived = report.lines().filter_map(|line| line.parse::<f64>().ok()).next_back().unwrap();
    assert!(
        lived < lease_deadline.until().0.as_secs_f64() + 2.0,
        "it lived until {lived}, its leader's time was {lease_deadline:?}"
    );
}

#[tokio::test]
async fn a_renewal_lets_it_go_on() {
    let bench = Bench::new();
    bench.script("fence_test", "echo $$ > $0.pid; until [ -e $0.over ]; do sleep 0.1; done; exit 0");
    let (sender, lease_deadline) = bench.renewed(4);
    let (first, agents) = (lease_deadline.until(), agents(&bench));
    let (call, options) = (call(120), options());
    let act = agents.perform(&call, AgentAction::Off, &options, &lease_deadline);
    let renew = async {
        until(|| bench.has("fence_test.pid")).await;
        sender.send(bench.now().plus(Duration::from_secs(60))).unwrap();
        until(|| bench.now() > first.plus(Duration::from_secs(1))).await;
        fs::write(bench.path().join("fence_test.over"), "").unwrap();
        std::future::pending::<()>().await
    };
    tokio::select! { done = act => done.unwrap(), () = renew => unreachable!() }
}

#[tokio::test]
async fn a_term_that_is_over_begins_nothing_and_ends_what_runs() {
    let bench = Bench::new();
    bench.script("fence_test", "echo $$ > $0.pid; exec sleep 600");
    let agents = agents(&bench);
    let (call, options) = (call(60), options());
    let (sender, lease_deadline) = bench.renewed(60);
    let mut act = Box::pin(agents.perform(&call, AgentAction::Off, &options, &lease_deadline));
    tokio::select! {
        done = &mut act => panic!("{done:?}"),
        () = until(|| bench.has("fence_test.pid")) => {}
    }
    drop(sender);
    assert!(matches!(act.await, Err(Failed::InDoubt(_))));
    assert!(bench.is_dead("fence_test.pid"));
    assert!(matches!(
        agents.perform(&call, AgentAction::Off, &options, &lease_deadline).await,
        Err(Failed::NotBegun(_))
    ));
}

#[tokio::test]
async fn a_future_that_is_dropped_takes_its_agent_along() {
    let bench = Bench::new();
    bench.script("fence_test", "setsid sleep 600 & echo $! > $0.far; echo $$ > $0.pid; wait");
    let agents = agents(&bench);
    let (call, options, lease_deadline) = (call(60), options(), bench.lease_deadline(60));
    let mut act = Box::pin(agents.perform(&call, AgentAction::Off, &options, &lease_deadline));
    tokio::select! {
        done = &mut act => panic!("{done:?}"),
        () = until(|| bench.has("fence_test.pid")) => {}
    }
    drop(act);
    until(|| bench.is_dead("fence_test.pid") && bench.is_dead("fence_test.far")).await;
}

#[tokio::test]
async fn one_that_eats_memory_or_fills_a_disk_is_stopped_by_its_limits() {
    let bench = Bench::new();
    bench.script(
        "fence_test",
        "exec python3 -c 'b = bytearray(3 << 30); b[::4096] = b\"x\" * len(b[::4096]); print(1)'",
    );
    let failed =
        agents(&bench).perform(&call(60), AgentAction::Off, &options(), &bench.lease_deadline(90)).await.unwrap_err();
    assert!(matches!(&failed, Failed::Refused(why) if why.contains("MemoryError")), "{failed:?}");
    bench.script("fence_test", "head -c 100000000 /dev/zero > $0.big; stat -c %s $0.big > $0.size; exit 0");
    agents(&bench).perform(&call(60), AgentAction::Off, &options(), &bench.lease_deadline(90)).await.unwrap();
    assert_eq!(bench.read("fence_test.size").trim(), (64 * 1024 * 1024).to_string());
}

#[tokio::test]
async fn all_that_it_starts_has_its_limits_and_goes_first_when_memory_is_short() {
    let bench = Bench::new();
    bench.script(
        "fence_test",
        "setsid bash -c 'ulimit -c; ulimit -t; ulimit -n; ulimit -u; cat /proc/self/oom_score_adj' > $0.limits; exit 0",
    );
    agents(&bench).perform(&call(20), AgentAction::Off, &options(), &bench.lease_deadline(60)).await.unwrap();
    let limits = bench.read("fence_test.limits");
    let most = [0, 1800, 1024, 512];
    let limit_values: Vec<u64> = limits.lines().map(|line| line.parse().unwrap_or(u64::MAX)).collect();
    assert!(limit_values.len() == 5 && limit_values.iter().zip(most).all(|(value, most)| *value <= most), "{limits}");
    assert_eq!(limit_values[4], 500);
}
