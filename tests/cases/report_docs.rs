//! What docs/connect.md and docs/start.md show is run: the shell and Python examples, and the hooks of other tools.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nodewell_kit::write_program;
use nodewell_tests::{
    agent::{Agent, Plan},
    book,
    cli::binary,
    openapi::OpenApi,
    process::Process,
    suite::Suite,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_docs")
        .case("what_a_newcomer_types_works", what_a_newcomer_types_works)
        .case("the_shell_examples_report", the_shell_examples_report)
        .case("the_python_example_is_a_daemon", the_python_example_is_a_daemon)
        .case("the_examples_work_where_nothing_can_be_saved", the_examples_work_where_nothing_can_be_saved)
        .case("mdadm_becomes_a_problem_daemon", mdadm_becomes_a_problem_daemon)
        .case("smartd_becomes_a_problem_daemon", smartd_becomes_a_problem_daemon)
        .case("ssacli_becomes_a_problem_daemon", ssacli_becomes_a_problem_daemon);
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// The fenced blocks of a language in connect.md, in their order.
fn blocks(language: &str) -> Vec<String> {
    blocks_of("connect.md", language)
}

fn blocks_of(page: &str, language: &str) -> Vec<String> {
    let all = book::blocks(page).into_iter();
    all.filter(|block| block.language == language).map(|block| block.text).collect()
}

/// An agent that knows the type which the page declares.
fn agent() -> Agent {
    agent_of(Plan::default())
}

fn agent_of(plan: Plan) -> Agent {
    let declared = blocks("toml").into_iter().find(|block| block.contains("[[condition]]")).unwrap();
    plan.file("rules.d/raid.toml", &declared);
    plan.start()
}

/// Runs `command` where `nodewell` is the one under test, at its agent; everything must go well.
fn run(agent: &Agent, command: &mut Command) -> String {
    let folder = binary("nodewell").parent().unwrap().to_owned();
    let fakes = agent.plan().folder().join("fakes");
    let path = format!("{}:{}:{}", fakes.display(), folder.display(), std::env::var("PATH").unwrap());
    let output = command.env("PATH", path).env("NODEWELL_SOCKET", agent.socket()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn with_socket(agent: &Agent, text: &str) -> String {
    text.replace("/run/nodewell/nodewell.sock", &agent.socket().display().to_string())
}

fn what_a_newcomer_types_works() {
    newcomer_types(&agent());
}

/// The commands of docs/start.md that need an agent alone: `sh` blocks, in their order.
fn newcomer_types(agent: &Agent) {
    let commands = blocks_of("start.md", "sh");
    assert!(commands.len() > 1, "{commands:?}");
    let typed = |block: &String| run(agent, Command::new("sh").args(["-ec", block.as_str()]));
    let printed: String = commands.iter().map(typed).collect();
    let shown = book::block("start.md", "text", "node-1: 1 problem");
    // Its first line has what monitors of this machine cannot see, too.
    let (_, condition) = shown.split_once('\n').unwrap();
    assert_eq!(book::missing(condition, &printed), None, "{printed}");
    let left = agent.condition("DiskUnhealthy").map(|view| view.problems).unwrap_or_default();
    assert_eq!(left, [], "the page ends what it has begun");
    let awaited = agent.view().daemons.iter().any(|daemon| daemon.name.starts_with("nodewell-report@"));
    assert!(!awaited, "nor would one be after a boot");
}

fn the_shell_examples_report() {
    shell_examples_report(&agent());
}

fn shell_examples_report(agent: &Agent) {
    let api = OpenApi::of_docs();
    let examples = blocks("sh");
    let (calls, scripts): (Vec<_>, Vec<_>) = examples.iter().partition(|block| block.starts_with("curl"));
    assert_eq!((calls.len(), scripts.len()), (3, 1));
    for call in calls {
        let output = run(agent, Command::new("sh").args(["-ec", &with_socket(agent, call)]));
        let answer: serde_json::Value = serde_json::from_str(&output).unwrap();
        assert!(answer.get("error").is_none(), "{answer}");
        if let Some(body) = body_of(call) {
            let errors = api.errors_of_request("POST", "/v1/status", &body);
            assert!(errors.is_empty(), "{errors:?}");
            let status = agent.condition("RaidProblem").map(|view| view.status.as_str());
            assert_eq!(status, (body["last"] != true).then_some("True"), "{body}");
        }
    }
    assert_eq!(agent.events("ArrayLostADisk").len(), 1);
    run(agent, Command::new("sh").args(["-ec", scripts[0].as_str()]));
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "False");
}

/// What a call sends, with a time for what the shell puts in.
fn body_of(call: &str) -> Option<serde_json::Value> {
    let (_, rest) = call.split_once("-d '")?;
    let rest = rest.replace("'$(date -u +%FT%TZ)'", "2026-11-21T06:00:00Z");
    let (body, _) = rest.rsplit_once('\'')?;
    Some(serde_json::from_str(body).unwrap())
}

fn the_python_example_is_a_daemon() {
    python_example_is_a_daemon(&agent());
}

fn python_example_is_a_daemon(agent: &Agent) {
    let arrays = agent.plan().folder().join("arrays");
    let array = arrays.join("md1/md");
    fs::create_dir_all(&array).unwrap();
    // The daemon never reads a half of it.
    let lacks = |disks: &str| {
        fs::write(array.join("new"), disks).unwrap();
        fs::rename(array.join("new"), array.join("degraded")).unwrap();
    };
    lacks("0\n");
    let script = with_socket(agent, &blocks("python")[0]).replace("/sys/block", &arrays.display().to_string());
    let often = script.replace("time.sleep(20)", "time.sleep(0.2)");
    assert_ne!(often, script);
    let argv: [OsString; 3] = ["python3", "-c", often.as_str()].map(OsString::from);
    let _daemon = Process::start(&argv, &agent.plan().folder().join("python.log")).unwrap();
    agent.wait_condition("RaidProblem", "False");
    lacks("1\n");
    let view = agent.wait_condition("RaidProblem", "True");
    assert_eq!((view.problems[0].subject.as_deref(), view.message.as_str()), (Some("md1"), "md1 lacks a disk"));
    assert!(view.problems[0].source.starts_with("python-raid@"));
    lacks("0\n");
    agent.wait_condition("RaidProblem", "False");
}

/// Each report is answered 202 there.
fn the_examples_work_where_nothing_can_be_saved() {
    let agent = agent_that_saves_nothing();
    let report = r#"{"source": "probe", "ttl": 60}"#;
    let answer = run(
        &agent,
        Command::new("curl").args(["-sS", "--unix-socket"]).arg(agent.socket()).args([
            "http://localhost/v1/status",
            "-H",
            "Content-Type: application/json",
            "-d",
            report,
        ]),
    );
    assert!(answer.contains("\"durable\":false"), "{answer}");
    let examples = [
        newcomer_types,
        shell_examples_report,
        python_example_is_a_daemon,
        mdadm_reports,
        smartd_reports,
        ssacli_reports,
    ];
    examples.iter().for_each(|example| example(&agent_that_saves_nothing()));
}

fn agent_that_saves_nothing() -> Agent {
    let plan = Plan::default();
    plan.file("state", "a file where the state directory is to be");
    agent_of(plan)
}

fn hook(agent: &Agent, name: &str, args: &[&str], environment: &[(&str, &str)]) {
    run(agent, Command::new(docs().join("examples").join(name)).args(args).envs(environment.iter().copied()));
}

/// An `mdadm` that finds every array whole, or none.
fn fake_mdadm(agent: &Agent, whole: bool) {
    let folder = agent.plan().folder().join("fakes");
    fs::create_dir_all(&folder).unwrap();
    let text = if whole { "#!/bin/sh\nexit 0\n" } else { "#!/bin/sh\nexit 1\n" };
    write_program(&folder.join("mdadm"), 0o755, text);
}

fn mdadm_becomes_a_problem_daemon() {
    mdadm_reports(&agent());
}

fn mdadm_reports(agent: &Agent) {
    let status = || agent.condition("RaidProblem").map(|view| view.status.as_str().to_owned());
    let mdadm = |args: &[&str]| hook(agent, "mdadm-nodewell", args, &[]);
    mdadm(&["TestMessage", "/dev/md0"]);
    assert!(status().is_none(), "a test is no problem");
    mdadm(&["Fail", "/dev/md0", "/dev/sdb1"]);
    let view = agent.condition("RaidProblem").unwrap();
    assert_eq!((view.reason.as_str(), view.message.as_str()), ("RaidDegraded", "sdb1 failed in md0"));
    fake_mdadm(agent, false);
    mdadm(&["RebuildFinished", "/dev/md0"]);
    assert_eq!(status().as_deref(), Some("True"), "finished is not whole");
    fake_mdadm(agent, true);
    mdadm(&["SpareActive", "/dev/md0", "/dev/sdc1"]);
    assert_eq!(status().as_deref(), Some("False"));
    mdadm(&["Rebuild40", "/dev/md0"]);
    assert_eq!(agent.wait_event("RaidRebuild40").subject.as_deref(), Some("md0"));
    mdadm(&["DeviceDisappeared", "/dev/md/data"]);
    assert_eq!(agent.condition("RaidProblem").unwrap().problems[0].subject.as_deref(), Some("data"));
}

fn smartd_becomes_a_problem_daemon() {
    smartd_reports(&agent());
}

fn smartd_reports(agent: &Agent) {
    let smartd = |failure: &str, message: &str| {
        let environment = [("SMARTD_FAILTYPE", failure), ("SMARTD_DEVICE", "/dev/sda"), ("SMARTD_MESSAGE", message)];
        hook(agent, "smartd-nodewell", &[], &environment);
    };
    let ours = |view: nodewell_model::view::ConditionView| {
        view.problems.into_iter().find(|problem| problem.source.starts_with("smartd@"))
    };
    smartd("EmailTest", "TEST EMAIL from smartd for device: /dev/sda");
    smartd("Health", "Device: /dev/sda [SAT], FAILED SMART self-check. BACK UP DATA NOW!");
    let problem = ours(agent.condition("DiskUnhealthy").unwrap()).unwrap();
    assert_eq!((problem.reason.as_str(), problem.subject.as_deref()), ("SmartHealthFailed", Some("sda")));
    assert_eq!(problem.action.as_deref(), Some("replace-disk"));
    smartd("FailedOpenDevice", "Device: /dev/sda [SAT], unable to open device");
    let problem = ours(agent.condition("DiskUnhealthy").unwrap()).unwrap();
    assert!(problem.unconfirmed_since.is_some(), "it reports unknown now, and the verdict stays");
    smartd("Temperature", "Device: /dev/sda [SAT], Temperature 61 Celsius reached critical limit of 60 Celsius");
    assert_eq!(agent.events("SmartTemperature").len(), 1);
}

/// An `ssacli` that shows what lies in the folder `ssacli/SAMPLE`, in the tool's own form: made up by hand, of a
/// controller with volumes and of one without. It fails where the tool prints an error, and shows nothing that is not
/// there.
fn fake_ssacli(agent: &Agent, sample: &str) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/ssacli").join(sample);
    let folder = agent.plan().folder().join("fakes");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in\n\"ctrl all show status\") file=controllers ;;\n\"ctrl slot=\"*\" all show status\") \
         file=$3-${{2#slot=}} ;;\n*) exit 64 ;;\nesac\ncat \"{0}/$file\" && ! grep -q ^Error \"{0}/$file\"\n",
        samples.display()
    );
    write_program(&folder.join("ssacli"), 0o755, &text);
}

fn ssacli_becomes_a_problem_daemon() {
    ssacli_reports(&agent());
}

fn ssacli_reports(agent: &Agent) {
    let noted = agent.plan().folder().join("ssacli-state").display().to_string();
    let ssacli = |sample: &str| {
        fake_ssacli(agent, sample);
        hook(agent, "ssacli-nodewell", &[], &[("SSACLI_STATE", &noted)]);
        agent.condition("RaidProblem").unwrap()
    };
    let problems = |view: &nodewell_model::view::ConditionView| -> Vec<(String, String, u64)> {
        let of = |problem: &nodewell_model::view::ProblemView| {
            (problem.subject.clone().unwrap(), problem.reason.to_string(), problem.count)
        };
        let mut problems: Vec<_> = view.problems.iter().map(of).collect();
        problems.sort();
        problems
    };
    // A cache whose battery charges, a volume that grows, a controller without volumes.
    assert_eq!(ssacli("healthy").status.as_str(), "False");
    let expected = [
        ("slot 0 battery", "SsaBatteryFailed"),
        ("slot 0 cache", "SsaCacheFailed"),
        ("slot 0 disk 1I:1:2", "SsaDiskFailed"),
        ("slot 0 volume 1", "SsaVolumeDegraded"),
        ("slot 3 disk 1E:1:1", "SsaDiskPredictsFailure"),
    ];
    let expected = expected.map(|(subject, reason)| (subject.to_owned(), reason.to_owned(), 1));
    assert_eq!(problems(&ssacli("failing")), expected);
    // The same again is no news, and a tool that fails takes nothing back.
    assert_eq!(problems(&ssacli("failing")), expected);
    let unread = ssacli("gone");
    assert!(unread.problems.iter().all(|problem| problem.unconfirmed_since.is_some()), "{unread:?}");
    assert_eq!(problems(&unread), expected);
    assert_eq!(ssacli("healthy").status.as_str(), "False");
}
