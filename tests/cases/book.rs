//! Each command of the book's parts Start and Tasks is run by a case as it stands there, or has its reason here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nodewell_tests::{
    book::{Block, blocks, pages_with_commands, workspace},
    suite::Suite,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("book").case("each_command_is_run_or_has_its_reason", each_command_is_run_or_has_its_reason);
}

/// Page, beginning and reason of what is run in no case as it stands.
const NOT_RUN: [(&str, &str, &str); 17] = [
    ("start.md", "make deb", "the cases install packages that packaging/build made in the same way"),
    ("install.md", "dnf install", "no Red Hat system can be had; release_dnf installs into a root"),
    ("install.md", "install -D -m 0644 nodewell-", "no loop device in a container; release_sysext merges a folder"),
    ("install.md", "systemctl stop nodewell.service", "the same"),
    ("install.md", "cp -r /usr/share/nodewell/selinux", "the guest case `selinux` does it in enforcing mode"),
    ("identity.md", "kubeadm", "no kubeadm; the case `enroll` enrols by a bootstrap token"),
    ("identity.md", "nodewell doctor", "no machine with an agent has an API server; doctor_identity asks the same"),
    ("in-the-cluster.md", "helm upgrade", "no Prometheus operator, whose kinds it needs"),
    ("ansible.md", "cd packaging/ansible", "ansible_rollout plays it with an inventory of booted machines"),
    ("ansible.md", "ansible-playbook", "the same"),
    ("external-remediation.md", "kubectl apply -f /usr/share/doc", "no kinds of medik8s"),
    ("external-remediation.md", "kubectl apply -f nodefence", "no kinds of Cluster API"),
    ("remediation.md", "(umask 077; kubeadm", "no kubeadm"),
    ("remediation.md", "systemctl enable", "no machine with the unit has an API server; booted_service starts it"),
    ("fencing.md", "curl -k -u fence", "it asks for the password at a terminal"),
    ("storage-fencing.md", "while sleep 1", "it goes on until a person ends it"),
    ("storage-fencing.md", "sg_persist", "no disk with persistent reservations"),
];

/// Pages whose blocks of `sh` are all run, by `report_docs`.
const SHELL_PAGES: [&str; 2] = ["start.md", "connect.md"];

/// A page, and how a block of it begins.
type Beginning = (String, String);

fn each_command_is_run_or_has_its_reason() {
    let run = run_by_cases();
    let excused = NOT_RUN.map(|(page, start, _)| (page.to_owned(), start.to_owned()));
    let all: Vec<(String, Block)> = pages_with_commands()
        .into_iter()
        .flat_map(|page| blocks(&page).into_iter().map(move |block| (page.clone(), block)))
        .collect();
    let mut wrong: Vec<String> =
        all.iter().filter_map(|(page, block)| what_is_wrong(page, block, &run, &excused)).collect();
    let is_surplus = |beginning: &&Beginning| !all.iter().any(|(page, block)| begins(page, block, beginning));
    let surplus = run.iter().chain(&excused).filter(is_surplus);
    wrong.extend(surplus.map(|(page, start)| format!("docs/{page} has no commands that begin with {start:?}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn begins(page: &str, block: &Block, beginning: &Beginning) -> bool {
    block.language == "bash" && beginning.0 == page && block.text.starts_with(&beginning.1)
}

fn what_is_wrong(page: &str, block: &Block, run: &[Beginning], excused: &[Beginning]) -> Option<String> {
    let count = |beginnings: &[Beginning]| beginnings.iter().filter(|beginning| begins(page, block, beginning)).count();
    let why = match (block.language.as_str(), count(run), count(excused)) {
        ("sh", ..) if !SHELL_PAGES.contains(&page) => "no case runs a block of sh there",
        ("bash", 0, 0) => "no case runs it, and no reason is listed",
        ("bash", 1.., 1..) => "a case runs it, and a reason is listed",
        ("bash", 0, 2..) => "two reasons are listed",
        _ => return None,
    };
    Some(format!("docs/{page}: {why}: {}", block.text.lines().next().unwrap_or_default()))
}

/// What the cases ask for by `book::commands`, here and on a real cluster.
fn run_by_cases() -> Vec<Beginning> {
    const CALL: &str = concat!("commands", "(");
    let mut beginnings = Vec::new();
    let folders = ["tests/cases", "tests/cluster/cases"];
    for file in folders.iter().flat_map(|folder| sources(&workspace().join(folder))) {
        let code = without_comments(&fs::read_to_string(file).unwrap());
        for call in code.split(CALL).skip(1).filter(|call| call.trim_start().starts_with('"')) {
            let mut texts = call.split('"').skip(1).step_by(2).map(|text| text.replace("\\n", "\n"));
            beginnings.extend(texts.next().zip(texts.next()));
        }
    }
    beginnings
}

/// A call that is put in a comment is none. One that nothing calls does not compile without a warning.
fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}
