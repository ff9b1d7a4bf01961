//! Filesystems of the real kernel: full, cut off after an error, served by a program that hangs or has ended.

use std::path::Path;

use nodewell_model::view::ConditionView;
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::{CheckProcess, runs},
    disk::Disk,
    fuse::{self, Fuse, Manner},
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("mounts")
        .case_with(
            &[Need::LoopDevice],
            "a_full_filesystem_is_reported_until_there_is_room",
            a_full_filesystem_is_reported_until_there_is_room,
        )
        .case_with(
            &[Need::LoopDevice],
            "what_the_kernel_cut_off_is_one_problem",
            what_the_kernel_cut_off_is_one_problem,
        )
        .case_with(
            &[Need::LoopDevice, Need::Other(fuse::unmet)],
            "a_program_that_hangs_takes_no_other_with_it",
            a_program_that_hangs_takes_no_other_with_it,
        );
}

/// Of other cases, which hang on purpose.
const IGNORE: &str = "[mounts]\nignore = [\"*/nodewell-fuse-*\"]\n";

/// Asks twice a second, and gives each a second to answer.
fn started(agent: &Agent) -> CheckProcess {
    started_with(agent, "1s")
}

fn started_with(agent: &Agent, deadline: &str) -> CheckProcess {
    let flags = [("--interval", Path::new("500ms")), ("--deadline", Path::new(deadline))];
    CheckProcess::of(agent.plan(), "check", &flags)
}

fn on(agent: &Agent, condition: &str, subject: &str) -> Option<ConditionView> {
    let found = agent.condition(condition)?;
    found.problems.iter().any(|problem| problem.subject.as_deref() == Some(subject)).then_some(found)
}

/// Waits until `subject` has a problem of this reason, and gives its message and its source.
fn reported(agent: &Agent, condition: &str, reason: &str, subject: &str) -> (String, String) {
    until(&format!("{condition}: {reason} on {subject}"), || {
        let problems = on(agent, condition, subject)?.problems;
        let is_it = |one: &&_| matches!(one, nodewell_model::view::ProblemView { reason: r, subject: Some(s), .. } if r.as_str() == reason && s == subject);
        problems.iter().find(is_it).map(|found| (found.message.clone(), found.source.clone()))
    })
}

fn over(agent: &Agent, condition: &str, subject: &str) {
    until(&format!("{condition} on {subject} is over"), || on(agent, condition, subject).is_none().then_some(()));
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn a_full_filesystem_is_reported_until_there_is_room() {
    let disk = Disk::mounted();
    let point = text(&disk.mount_point());
    let agent = Plan::default().config(IGNORE).start();
    let _check_process = started(&agent);
    until("filesystems are looked at", || agent.condition("FilesystemFull"));
    assert!(on(&agent, "FilesystemFull", &point).is_none());
    disk.fill();
    let (message, _) = reported(&agent, "FilesystemFull", "FilesystemSpaceLow", &point);
    assert!(message.contains("100 % of the space is used (limit 98 %), nothing left; free space"), "{message}");
    disk.make_room();
    over(&agent, "FilesystemFull", &point);
}

fn what_the_kernel_cut_off_is_one_problem() {
    let disk = Disk::mounted();
    disk.mount("remount,errors=remount-ro");
    let agent = Plan::default().config(IGNORE).start();
    let _check_process = started(&agent);
    until("mounts are looked at", || agent.condition("FilesystemFull"));
    assert!(on(&agent, "ReadonlyFilesystem", disk.name()).is_none());
    disk.break_filesystem();
    let (_, source) = reported(&agent, "ReadonlyFilesystem", "FilesystemIsReadOnly", disk.name());
    assert!(source.starts_with("mounts@"), "{source}");
    agent.kmsg().write(&format!("EXT4-fs ({}): Remounting filesystem read-only", disk.name()));
    until("both report it", || {
        let problems = on(&agent, "ReadonlyFilesystem", disk.name())?.problems;
        let ours: Vec<_> = problems.iter().filter(|one| one.subject.as_deref() == Some(disk.name())).collect();
        (ours.len() == 1 && ours[0].source.contains("kernel-monitor") && ours[0].source.contains("mounts@"))
            .then_some(())
    });
    disk.unmount();
    disk.mount("rw");
    over(&agent, "ReadonlyFilesystem", disk.name());
    disk.fill();
    reported(&agent, "FilesystemFull", "FilesystemSpaceLow", &text(&disk.mount_point()));
    assert!(on(&agent, "ReadonlyFilesystem", disk.name()).is_none(), "what is over is not reported again");
}

fn a_program_that_hangs_takes_no_other_with_it() {
    let (mut fuse, disk) = (Fuse::mounted(), Disk::mounted());
    let (hanging, point) = (text(&fuse.mount_point()), text(&disk.mount_point()));
    let agent = Plan::default().start();
    // Enough for the readers that do not hang, on a host that is busy with all other cases.
    let check_process = started_with(&agent, "5s");
    until("mounts are looked at", || agent.condition("MountHung"));
    assert!(on(&agent, "MountHung", &hanging).is_none());
    let (check, mounts) = (check_process.worker(), check_process.worker_of_group("mounts"));
    // Its reader can be killed.
    fuse.behave(Manner::Leaves);
    let (message, _) = reported(&agent, "MountHung", "MountNotAnswering", &hanging);
    assert!(message.contains("made-up (fuse.nodewell): no answer within 5 s"), "{message}");
    until("its reader is gone", || (!runs(mounts)).then_some(()));
    fuse.behave(Manner::Answers);
    over(&agent, "MountHung", &hanging);
    // Its reader cannot be killed: it is left alone, and the others are asked by another one.
    fuse.behave(Manner::Takes);
    check_process.wait_logged("survives SIGKILL", 1);
    reported(&agent, "MountHung", "MountNotAnswering", &hanging);
    disk.fill();
    reported(&agent, "FilesystemFull", "FilesystemSpaceLow", &point);
    assert!(runs(check), "the reader of the other checks has nothing to do with it");
    fuse.behave(Manner::Answers);
    over(&agent, "MountHung", &hanging);
    fuse.behave(Manner::Ended);
    let (message, _) = reported(&agent, "MountHung", "MountUnusable", &hanging);
    assert!(message.contains("not connected"), "{message}");
    drop(fuse);
    over(&agent, "MountHung", &hanging);
}
