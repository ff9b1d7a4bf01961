//! Log files: followed through both ways of rotation, by our own rules and by Node Problem Detector's.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, tz::TimeZone};
use nodewell_tests::{
    agent::{Agent, Plan},
    suite::Suite,
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("log_files")
        .case("rotation_by_rename_loses_nothing", rotation_by_rename_loses_nothing)
        .case("rotation_by_copy_loses_nothing", rotation_by_copy_loses_nothing)
        .case("a_file_that_comes_later_is_found", a_file_that_comes_later_is_found)
        .case("an_npd_filelog_config_reads_its_file", an_npd_filelog_config_reads_its_file)
        .case("npds_docker_and_disk_logs_are_read", npds_docker_and_disk_logs_are_read);
}

pub(crate) const FILE_RULES: &str = r#"
[[source]]
name = "app-log"
paths = ["FOLDER/app.log"]
timestamp = "rfc3339"

[[rule]]
reason = "AppFault"
type = "temporary"
source = "app-log"
severity = "warn"
pattern = 'fault (?P<subject>\w+)'
matches = [{ text = "host app: fault one", subject = "one" }]
ignores = ["host app: default"]
"#;

/// An agent that reads `app.log` in its folder.
pub(crate) fn reader_of_app_log(create: bool) -> Agent {
    let plan = Plan::default();
    if create {
        plan.file("app.log", "");
    }
    let rules = FILE_RULES.replace("FOLDER", &plan.folder().display().to_string());
    plan.rules(&rules).start()
}

pub(crate) fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

pub(crate) fn write_line(agent: &Agent, text: &str) {
    append(&agent.plan().folder().join("app.log"), format!("{} host app: {text}\n", Timestamp::now()).as_bytes());
}

pub(crate) fn wait_fault(agent: &Agent, subject: &str) {
    until(&format!("fault {subject} is seen"), || {
        agent.events("AppFault").into_iter().find(|event| event.subject.as_deref() == Some(subject))
    });
}

fn rotation_by_rename_loses_nothing() {
    let agent = reader_of_app_log(true);
    write_line(&agent, "fault one");
    wait_fault(&agent, "one");
    let folder = agent.plan().folder();
    fs::rename(folder.join("app.log"), folder.join("app.log.1")).unwrap();
    // The writer has the old file open for a while.
    append(&folder.join("app.log.1"), format!("{} host app: fault late\n", Timestamp::now()).as_bytes());
    write_line(&agent, "fault two");
    wait_fault(&agent, "two");
    wait_fault(&agent, "late");
    assert_eq!(agent.events("AppFault").len(), 3);
}

fn rotation_by_copy_loses_nothing() {
    let agent = reader_of_app_log(true);
    write_line(&agent, "fault one and some more text, so that the new content is shorter");
    wait_fault(&agent, "one");
    let path = agent.plan().folder().join("app.log");
    OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    write_line(&agent, "fault two");
    wait_fault(&agent, "two");
    assert_eq!(agent.events("AppFault").len(), 2);
}

fn a_file_that_comes_later_is_found() {
    let agent = reader_of_app_log(false);
    write_line(&agent, "fault one");
    wait_fault(&agent, "one");
}

/// A stock config whose log lies in the plan's folder, empty.
fn stock_on_own_log(plan: Plan, name: &str, log_path: &str) -> (Plan, PathBuf) {
    let log = plan.file(&format!("{name}.log"), "");
    let stock = crate::npd_stock_configs::stock(name);
    let config = plan.file(name, &stock.replace(log_path, log.to_str().unwrap()));
    (plan.flag("--npd-config", config), log)
}

fn npds_docker_and_disk_logs_are_read() {
    let (plan, docker) = stock_on_own_log(Plan::default(), "docker-monitor-filelog.json", "/var/log/docker.log");
    let (plan, disk) = stock_on_own_log(plan, "disk-log-message-filelog.json", "/var/log/messages");
    let agent = plan.start();
    let now = Timestamp::now().to_zoned(TimeZone::system());
    let image = "/var/lib/docker/image/overlay2";
    let time = now.strftime("%Y-%m-%dT%H:%M:%S.%9f%:z");
    let failed =
        format!("Error trying v2 registry: failed to register layer: rename {image}/a {image}/b: directory not empty");
    append(&docker, format!("time=\"{time}\" level=error msg=\"{failed}\"\n").as_bytes());
    assert_eq!(agent.wait_event("CorruptDockerImage").source, "docker-monitor");
    let time = now.strftime("%b %e %H:%M:%S");
    let sectors = "smartd[870]: Device: /dev/sda [SAT], 328 Currently unreadable (pending) sectors";
    append(&disk, format!("{time} host {sectors}\n").as_bytes());
    assert_eq!(agent.wait_condition("DiskBadBlock", "True").reason.as_str(), "DiskBadBlock");
}

fn an_npd_filelog_config_reads_its_file() {
    let plan = Plan::default();
    let log = plan.file("kern.log", "");
    let stock = crate::npd_stock_configs::stock("kernel-monitor-filelog.json");
    let config = plan.file("kernel-monitor-filelog.json", &stock.replace("/var/log/kern.log", log.to_str().unwrap()));
    let agent = plan.flag("--npd-config", config).start();
    let now = Timestamp::now().to_zoned(TimeZone::system()).strftime("%b %e %H:%M:%S").to_string();
    append(&log, format!("{now} host kernel: [12.5] task docker:7 blocked for more than 300 seconds.\n").as_bytes());
    let condition = agent.wait_condition("KernelDeadlock", "True");
    assert_eq!(condition.reason.as_str(), "DockerHung");
}
