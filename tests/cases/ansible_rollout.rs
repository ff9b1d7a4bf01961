//! The Ansible role on three booted machines: forward behind its gate, a bad version stopped at the canary, and back, with
//! nothing lost that the agent knew.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nodewell_model::view::ConditionView;
use nodewell_tests::{
    ansible::{self, ControlNode},
    cli::Outcome,
    leftovers,
    machine::{Hardware, Machine, Package},
    suite::{Need, Suite},
};
use serde_json::{Value, json};
use tempfile::TempDir;

const NEEDS: &[Need] = &[Need::LongSuite, Need::Other(ansible::unmet)];

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("ansible_rollout").case_with(
        NEEDS,
        "forward_past_a_bad_version_stopped_at_the_canary_and_back",
        forward_and_back,
    );
}

/// The rules of this case alone: the kernel log is the test machine's, and what other cases do there is no problem of these.
const SETTINGS: &str = "rules = [\"/etc/nodewell/rules.d\"]\n";
const RULES: &str = r#"
[[condition]]
type = "TestUnhealthy"
healthy-reason = "TestIsHealthy"
healthy-message = "nothing is wrong with the test"

[[rule]]
reason = "TestFault"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^nodewell-ansible-rollout: no such line'
matches = ["nodewell-ansible-rollout: no such line"]
ignores = ["no such line"]
"#;
/// A list of modules, as a monitor of Node Problem Detector's names it.
const LIST: &str = "monitors.d/guestosconfig/known-modules.json";
/// Of the packages that are made here the program is the same, and reports the same version.
const AGENT: &str = env!("CARGO_PKG_VERSION");

/// Its agent ends at once.
const ENDS: &str = "#!/bin/sh\nexit 1\n";
/// Its agent raises a false alarm.
const FALSE_ALARM: &str = "#!/bin/sh
(
  until /usr/bin/nodewell report --source bad --condition ServiceUnhealthy=true --reason FalseAlarm --message 'all is lost'
  do sleep 0.2
  done
) >/dev/null 2>&1 &
exec /usr/lib/nodewell-real/nodewelld \"$@\"
";

/// A package of the version `AGENT` and this suffix, with another program in place of `nodewelld`.
fn repacked(folder: &Path, suffix: &str, nodewelld: Option<&str>) -> PathBuf {
    let tree = folder.join("tree");
    let dpkg = |args: &[&str]| {
        let output = Command::new("dpkg-deb").args(args).output().unwrap();
        assert!(output.status.success(), "dpkg-deb {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    dpkg(&["--raw-extract", Package::built().path().to_str().unwrap(), tree.to_str().unwrap()]);
    let control = fs::read_to_string(tree.join("DEBIAN/control")).unwrap();
    let version = format!("{AGENT}{suffix}-1");
    let changed = control.replace(&format!("Version: {AGENT}-1"), &format!("Version: {version}"));
    assert_ne!(changed, control);
    fs::write(tree.join("DEBIAN/control"), changed).unwrap();
    if let Some(text) = nodewelld {
        let (real, program) = (tree.join("usr/lib/nodewell-real"), tree.join("usr/bin/nodewelld"));
        fs::create_dir_all(&real).unwrap();
        fs::rename(&program, real.join("nodewelld")).unwrap();
        nodewell_kit::write_program(&program, 0o755, text);
    }
    let own = Package::built().path().file_name().unwrap().to_str().unwrap();
    let file = folder.join(own.replacen(&format!("{AGENT}-1"), &version, 1));
    dpkg(&["--root-owner-group", "-Znone", "--build", tree.to_str().unwrap(), file.to_str().unwrap()]);
    fs::remove_dir_all(tree).unwrap();
    file
}

struct Fleet {
    machines: [Machine; 3],
    control: ControlNode,
    packages: TempDir,
}

const NAMES: [&str; 3] = ["n1", "n2", "n3"];
/// The last one of the inventory, so that the order of the batches shows.
const CANARY: usize = 2;

impl Fleet {
    fn boot() -> Self {
        let tree = ansible::TREE.path().unwrap_or_else(|reason| panic!("{reason}"));
        let machines = NAMES.map(|name| {
            let name = name.to_owned();
            Machine::boot_as(&Hardware { is_volatile: true, name, ..Hardware::of(&tree) })
        });
        // What the check processes find on the test machine is no matter of this case.
        let checks = "nodewell-check.service nodewell-disk.service nodewell-gpu.service";
        machines.iter().for_each(|machine| drop(machine.sh(&format!("systemctl mask {checks} 2>&1"))));
        let known: Vec<(&str, &Machine)> = NAMES.into_iter().zip(&machines).collect();
        let groups: [(&str, &[&str]); 4] =
            [("gpu", &["n1"]), ("raid", &["n1"]), ("storage", &["n2"]), ("canary", &["n3"])];
        let control = ControlNode::new(&known, &groups);
        control.write("nodewell/all/nodewell.toml.d/10-test.toml", SETTINGS);
        control.write("nodewell/all/rules.d/test.toml", RULES);
        control.write(&format!("nodewell/gpu/{LIST}"), "[]\n");
        control.write("nodewell/gpu/nodewell.toml.d/50-gpu.toml", "[gpu]\ninterval = \"1m\"\n");
        control
            .write("nodewell/raid/nodewell.toml.d/50-raid.toml", "[[grant]]\nunit = \"raid.service\"\nevents = true\n");
        Self { machines, control, packages: leftovers::folder("repacked") }
    }

    fn roll_out(&self, package: &Path, more: Value) -> Outcome {
        let mut variables = json!({
            "nodewell_packages": [package], "nodewell_config": self.control.path("nodewell"),
            "nodewell_agent_version": AGENT, "nodewell_settle_secs": 3, "nodewell_timeout_secs": 45,
        });
        let Value::Object(more) = more else { panic!("variables are an object") };
        variables.as_object_mut().unwrap().extend(more);
        self.control.play("rollout.yml", &variables, &[])
    }

    fn go_back(&self, limit: &str) -> Outcome {
        let variables = json!({"nodewell_settle_secs": 3, "nodewell_timeout_secs": 45});
        self.control.play("rollback.yml", &variables, &["--limit", limit])
    }

    /// The suffixes of the versions that are installed.
    fn versions(&self) -> [String; 3] {
        self.machines.each_ref().map(|machine| {
            let version = machine.sh("dpkg-query --show --showformat '${Version}' nodewell");
            version.trim_start_matches(AGENT).trim_end_matches("-1").to_owned()
        })
    }

    /// What a person has reported to each, as it stands.
    fn reported(&self) -> [ConditionView; 3] {
        self.machines.each_ref().map(|machine| machine.wait_condition("TestUnhealthy", "True"))
    }

    fn canary(&self) -> &Machine {
        &self.machines[CANARY]
    }
}

#[track_caller]
fn passed(outcome: &Outcome) {
    assert_eq!(outcome.code, 0, "{}\n{}", outcome.stdout, outcome.stderr);
}

/// Stopped, by a message with all of these.
#[track_caller]
fn stopped(outcome: &Outcome, says: &[&str]) {
    assert_ne!(outcome.code, 0, "{}", outcome.stdout);
    let output = format!("{}\n{}", outcome.stdout, outcome.stderr);
    let missing: Vec<&&str> = says.iter().filter(|part| !output.contains(**part)).collect();
    assert!(missing.is_empty(), "no {missing:?} in\n{output}");
}

/// What a report leaves: since when the problem is there, and the condition's own time.
fn times(reported: &[ConditionView; 3]) -> Vec<(String, String, u64)> {
    let time = |view: &ConditionView| {
        (view.transition.to_string(), view.problems[0].since.to_string(), view.problems[0].count)
    };
    reported.iter().map(time).collect()
}

fn forward_and_back() {
    let fleet = Fleet::boot();
    let first = Package::built().path();
    let folder = fleet.packages.path();
    let (good, ends) = (repacked(folder, "+t1", None), repacked(folder, "+t2", Some(ENDS)));
    let alarm = repacked(folder, "+t3", Some(FALSE_ALARM));

    eprintln!("1. installed on all, each with the configuration of its groups");
    passed(&fleet.roll_out(first, json!({})));
    assert_eq!(fleet.versions(), ["", "", ""]);
    let files = |machine: &Machine| machine.sh("ls -m /etc/nodewell/nodewell.toml.d");
    let expected = ["10-test.toml, 50-gpu.toml, 50-raid.toml", "10-test.toml", "10-test.toml"];
    assert_eq!(fleet.machines.each_ref().map(files), expected);
    let has_list = |machine: &Machine| machine.run(["test", "-f", &format!("/etc/nodewell/{LIST}")]).code == 0;
    assert_eq!(fleet.machines.each_ref().map(has_list), [true, false, false]);
    let hashes = fleet.machines.each_ref().map(hash);
    assert!(hashes[0] != hashes[1] && hashes[1] == hashes[2], "{hashes:?}");
    for machine in &fleet.machines {
        let report = "nodewell report --source test --condition TestUnhealthy=true --reason TestFault --subject d0 \
                      --message 'd0 is broken'";
        assert_eq!(machine.as_unit("test-report.service", &[], report).code, 0);
    }
    let before = times(&fleet.reported());

    eprintln!("2. forward, and once more without any change");
    passed(&fleet.roll_out(&good, json!({})));
    assert_eq!(fleet.versions(), ["+t1", "+t1", "+t1"]);
    assert_eq!(times(&fleet.reported()), before);
    let again = fleet.roll_out(&good, json!({}));
    passed(&again);
    assert_eq!(again.stdout.matches("changed=0 ").count(), 3, "{}", again.stdout);

    // What only the host has: a folder that no monitor reads, and a name in letters of its own.
    let own = "/etc/nodewell/monitors.d";
    fleet.canary().sh(&format!("mkdir -p {own}/attic && touch {own}/attic/old.txt '{own}/prüfung alt.txt'"));
    let owned = || fleet.canary().sh(&format!("cd {own} && find . -type f | LC_ALL=C sort"));
    let before_of_own = owned();
    assert_eq!(before_of_own, "./attic/old.txt\n./prüfung alt.txt");
    eprintln!("3. one whose agent ends stops at the canary");
    fleet.control.write("nodewell/all/nodewell.toml.d/20-new.toml", "[clock]\nenabled = false\n");
    let way_back = "rollback.yml --limit n3";
    let outcome = fleet.roll_out(&ends, json!({"nodewell_timeout_secs": 10}));
    stopped(&outcome, &["n3 did not pass: after 10 s the agent does not answer", "nodewell.service is", way_back]);
    assert_eq!(fleet.versions(), ["+t1", "+t1", "+t2"]);
    for machine in &fleet.machines[..CANARY] {
        assert!(!files(machine).contains("20-new"), "others than the canary are as they were");
    }

    eprintln!("4. back, with its configuration and what it knew");
    passed(&fleet.go_back("n3"));
    assert_eq!(fleet.versions(), ["+t1", "+t1", "+t1"]);
    assert_eq!(files(fleet.canary()), "10-test.toml");
    assert_eq!(owned(), before_of_own);
    assert_eq!(hash(fleet.canary()), hashes[2]);
    assert_eq!(times(&fleet.reported()), before);

    eprintln!("5. one that raises a false alarm stops there, too, and the way back names what it left");
    let outcome = fleet.roll_out(&alarm, json!({}));
    let alarm = "ServiceUnhealthy is True (FalseAlarm: all is lost)";
    stopped(&outcome, &["n3 did not pass: ", alarm, way_back]);
    assert_eq!(fleet.versions(), ["+t1", "+t1", "+t3"]);
    stopped(&fleet.go_back("n3"), &[alarm, "nodewell clear"]);
    assert_eq!(fleet.versions(), ["+t1", "+t1", "+t1"]);
    assert_eq!(fleet.canary().as_unit("test-clear.service", &[], "nodewell clear ServiceUnhealthy").code, 0);
    passed(&fleet.go_back("n3"));

    eprintln!("6. a configuration with an error is not taken, and is not left there");
    fleet.control.write("nodewell/all/nodewell.toml.d/20-new.toml", "[clock]\nenabeld = false\n");
    stopped(&fleet.roll_out(&good, json!({})), &["did you mean", "enabled"]);
    assert_eq!(files(fleet.canary()), "10-test.toml");
    fs::remove_file(fleet.control.path("nodewell/all/nodewell.toml.d/20-new.toml")).unwrap();

    eprintln!("7. the first version on all, past the same gate");
    stopped(&fleet.roll_out(first, json!({})), &["later version"]);
    passed(&fleet.roll_out(first, json!({"nodewell_allow_downgrade": true})));
    assert_eq!(fleet.versions(), ["", "", ""]);
    assert_eq!(times(&fleet.reported()), before, "nothing was lost");
}

fn hash(machine: &Machine) -> String {
    let status = machine.ask("/v1/status").expect("the agent answers").json();
    status["configuration"]["hash"].as_str().expect("it shows what it goes by").to_owned()
}
