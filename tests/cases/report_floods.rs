//! One peer that has a grant and floods: root, the kernel's faults and other peers are served as without it.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use nodewell_tests::{
    agent::Agent,
    cluster::Cluster,
    suite::{Need, Suite},
    wait::until,
};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::TEST_RULES,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("report_floods").case_with(
        &[Need::Root],
        "a_granted_peer_shuts_out_no_other",
        a_granted_peer_shuts_out_no_other,
    );
}

/// Users that exist on no machine.
const HOSTILE: u32 = 471_200;
const WELL: u32 = 471_201;
/// As many as one peer may have; together they have more reasons than a condition has place for.
const DAEMONS: usize = 64;
const CONDITIONS: usize = 16;
const EVENTS: usize = 64;
const FAULTS: usize = 20;

const GRANTS: &str = r#"
[[grant]]
user = "471200"
conditions = ["TestUnhealthy"]
events = true
rate = "100/s"

[[grant]]
user = "471201"
conditions = ["TestUnhealthy"]
events = true
"#;

/// `POST /v1/status` by this user, whose body is in a file: the code of the answer.
fn post(agent: &Agent, user: u32, body: &str) -> String {
    let path = agent.plan().file(&format!("report-{user}-{:?}.json", thread::current().id()), body);
    let id = user.to_string();
    let mut argv: Vec<OsString> = vec!["setpriv".into()];
    argv.extend(["--reuid", &id, "--regid", &id, "--clear-groups", "--", "curl", "-s"].map(OsString::from));
    argv.extend(["-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", "--unix-socket"].map(OsString::from));
    argv.extend([agent.socket().into_os_string(), "-H".into(), "Content-Type: application/json".into()]);
    argv.extend(["--data-binary".into(), format!("@{}", path.display()).into(), "http://localhost/v1/status".into()]);
    let output = Command::new(&argv[0]).args(&argv[1..]).stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn problems(source: &str, count: usize, name: &str) -> String {
    let mut all = String::new();
    for n in 0..count {
        let comma = if n > 0 { "," } else { "" };
        write!(
            all,
            r#"{comma}{{"type":"TestUnhealthy","status":true,"reason":"{name}{n}","subject":"{source}-{n}",
            "transition":"2026-11-21T02:00:00Z","message":"m"}}"#
        )
        .unwrap();
    }
    format!(r#"{{"source":"{source}","conditions":[{all}]}}"#)
}

/// Events that were never seen before, each as grave as it can say.
fn junk(round: usize) -> String {
    let mut all = String::new();
    for n in 0..EVENTS {
        let comma = if n > 0 { "," } else { "" };
        write!(
            all,
            r#"{comma}{{"severity":"critical","timestamp":"2026-11-21T02:00:00Z","reason":"Junk{round}x{n}","message":"m"}}"#
        )
        .unwrap();
    }
    format!(r#"{{"source":"junk","events":[{all}]}}"#)
}

fn a_granted_peer_shuts_out_no_other() {
    let (cluster, node) = (Cluster::double(), "flooded");
    let plan = plan_on(&cluster, node).rules(TEST_RULES).config(GRANTS);
    fs::set_permissions(plan.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let agent = plan.start();
    // Everything that it may hold, and more.
    let taken: Vec<String> = (0..DAEMONS)
        .map(|n| post(&agent, HOSTILE, &problems(&format!("d{n}"), CONDITIONS, &format!("Made{n}x"))))
        .collect();
    assert!(taken.contains(&"409".to_owned()), "it never was too much: {taken:?}");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                post(&agent, HOSTILE, &junk(round));
            }
        });
        // Also when what follows panics: the scope waits for the flood.
        let _end = End(&over);
        until("the flood is under way", || (raised(&agent, "Others") > 0).then_some(()));
        others_are_served(&cluster, node, &agent);
    });
}

fn others_are_served(cluster: &Cluster, node: &str, agent: &Agent) {
    let well = |reason: &str| {
        format!(
            r#"{{"source":"raid","conditions":[{{"type":"TestUnhealthy","status":true,"reason":"{reason}",
        "subject":"md0","transition":"2026-11-21T02:00:00Z","message":"m"}}]}}"#
        )
    };
    assert_eq!(post(agent, WELL, &well("RaidDegraded")), "200", "another peer");
    assert_eq!(agent.post("/v1/status", &well("RaidFailed")).code(), 200, "root");
    for n in 0..FAULTS {
        agent.kmsg().write(&format!("test: fault on sd{n}"));
    }
    wait_published(cluster, node, "TestUnhealthy", "True");
    until("the kernel's faults are Events", || {
        let subjects = (0..FAULTS).map(|n| format!("sd{n}"));
        let events = cluster.events(node, "TestFault");
        let has = |subject: &String| {
            events.iter().any(|event| event["message"].as_str().unwrap_or_default().ends_with(subject))
        };
        subjects.into_iter().all(|subject| has(&subject)).then_some(())
    });
    for reason in ["RaidDegraded", "RaidFailed"] {
        until(&format!("{reason} is an Event"), || (!cluster.events(node, reason).is_empty()).then_some(()));
    }
    assert_eq!(raised(agent, "TestFault"), u64::try_from(FAULTS).unwrap());
    assert_eq!((raised(agent, "RaidDegraded"), raised(agent, "RaidFailed")), (1, 1));
}

fn raised(agent: &Agent, reason: &str) -> u64 {
    let metrics = agent.metrics();
    let line = metrics
        .lines()
        .find(|line| line.starts_with("problem_counter{") && line.contains(&format!("reason=\"{reason}\"")));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
