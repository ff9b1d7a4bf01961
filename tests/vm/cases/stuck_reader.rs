//! Disks whose commands never come back: their readers hang in the kernel and survive SIGKILL, and also their check
//! process. A disk is reported as not answering and left alone, the others go on being read; with two readers stuck
//! nothing is asked any more. All is well once the kernel lets go.

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    disk::{Image, Server},
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("stuck_reader")
        .case_with(&[Need::LongSuite, GUEST], "is_left_alone_until_it_is_gone", is_left_alone_until_it_is_gone)
        .case_with(&[Need::LongSuite, GUEST], "two_of_them_end_all_questions", two_of_them_end_all_questions);
}

const CONFIG: &str = "check-processes = \"spawn\"\n[disk]\ninterval = \"1m\"\n";
const SATA: [&str; 3] = ["ahci", "sd_mod", "sg"];
/// The tasks that hang in the kernel, by name.
const HANGING: &str = "cat /proc/[0-9]*/stat 2>/dev/null | sed -n 's/^[0-9]* (\\(.*\\)) D .*/\\1/p'";
/// How often a check process logged this of a disk: of each stuck reader that it had, and of each that it found.
const STUCK_READERS: &str = "grep -c 'survives SIGKILL.* at=\"sd' /run/agent.log || true";
/// Arguments of a command line are ended by zeros.
const PID_OF_CHECK_PROCESS: &str =
    "grep -l '^nodewell-checks.run.disk' /proc/[0-9]*/cmdline 2>/dev/null | sed 's/[^0-9]//g'";

fn is_left_alone_until_it_is_gone() {
    let server = Server::of(Image::empty(16));
    let (first, second) = (Image::empty(16), Image::empty(16));
    let plan = Plan::default().sata("stuck", &server, 0).nvme("first", &first, None).nvme("second", &second, None);
    let guest = plan.modules(&SATA).modules(&["nvme"]).boot();
    start(&guest);
    server.fall_silent();
    hang(&guest, "sda");
    the_others_are_read(&guest);
    restart_check_process(&guest);
    wait_stuck_readers(&guest, 2);
    the_others_are_read(&guest);
    server.speak();
    wait_release(&guest);
}

fn two_of_them_end_all_questions() {
    let servers = [(); 3].map(|()| Server::of(Image::empty(16)));
    let plan = (0..)
        .zip(&servers)
        .fold(Plan::default(), |plan, (port, server)| plan.sata(&format!("stuck{port}"), server, port));
    let guest = plan.modules(&SATA).boot();
    start(&guest);
    servers.iter().for_each(Server::fall_silent);
    ["sda", "sdb", "sdc"].iter().for_each(|disk| hang(&guest, disk));
    nothing_is_asked(&guest);
    restart_check_process(&guest);
    // Those that it makes, and those that it finds.
    wait_stuck_readers(&guest, 4);
    nothing_is_asked(&guest);
    servers.iter().for_each(Server::speak);
    wait_release(&guest);
}

/// All three disks are read, and well.
fn start(guest: &Guest) {
    guest.start_agent(CONFIG);
    guest.wait_hardware("disks", |disks| disks.healthy == 3);
    guest.wait_condition("DiskUnhealthy", "False");
}

/// The controller takes no other command for a disk while a queued write to it is under way (`ata_std_qc_defer` in
/// libata-core.c), so that one which asks for the disk's health waits for it, unkillable. The kernel would reset the
/// controller after 30 s.
fn hang(guest: &Guest, disk: &str) {
    guest.sh(&format!("echo 3600 >/sys/block/{disk}/device/timeout"));
    guest.sh(&format!("dd if=/dev/zero of=/dev/{disk} bs=64k count=1 oflag=direct >/dev/null 2>&1 &"));
}

fn the_others_are_read(guest: &Guest) {
    guest.until("a reader hangs in the kernel", || guest.sh(HANGING).contains("nwd:sda").then_some(()));
    guest.wait_hardware("disks", |disks| disks.states.get("not answering") == Some(&1));
    // What the others report from now on arrives.
    guest.set("first", "smart_critical_warning", 1);
    let problem = guest.wait_problem("DiskUnhealthy", "NvmeSpareLow");
    assert_eq!(problem.subject.as_deref(), Some("nvme0"), "{problem:?}");
    guest.set("first", "smart_critical_warning", 0);
    guest.until("the others are well again", || {
        let disks = guest.condition("DiskUnhealthy")?;
        disks.problems.is_empty().then_some(())
    });
    assert_eq!(guest.sh(HANGING).matches("nwd:sda").count(), 1, "the stuck disk is asked no more");
}

fn nothing_is_asked(guest: &Guest) {
    guest.wait_hardware("disks", |disks| disks.states.get("not answering") == Some(&3));
    let disks = guest.until("the reason is reported", || {
        let disks = guest.condition("DiskUnhealthy")?;
        disks.message.contains("stuck in the kernel").then_some(disks)
    });
    assert_eq!((disks.status.as_str(), disks.reason.as_str()), ("Unknown", "DeviceNotAnswering"), "{disks:?}");
    assert_eq!(guest.sh(HANGING).matches("nwd:").count(), 2, "no third reader");
}

/// Its report stays until another one reports; the agent starts that.
fn restart_check_process(guest: &Guest) {
    let before = guest.sh(PID_OF_CHECK_PROCESS);
    guest.sh(&format!("kill -9 {before}"));
    guest.until("another check process runs", || {
        let now = guest.run(PID_OF_CHECK_PROCESS).stdout;
        (!now.is_empty() && now.trim() != before).then_some(())
    });
}

fn wait_stuck_readers(guest: &Guest, count: u32) {
    guest.until("its stuck readers are found", || (guest.sh(STUCK_READERS).parse::<u32>() == Ok(count)).then_some(()));
}

fn wait_release(guest: &Guest) {
    guest.until("nothing hangs", || guest.sh(HANGING).is_empty().then_some(()));
    guest.wait_hardware("disks", |disks| disks.healthy == 3);
    guest.wait_condition("DiskUnhealthy", "False");
}
