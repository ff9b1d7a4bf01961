//! The installed package under a real systemd, step by step through its life on one booted machine: installed, looked
//! at, killed, hung, restarted, reloaded, stopped, upgraded, removed, purged. The controller's package likewise.

mod check_processes;
mod controller;
mod faults;
mod identity;
mod life;
mod looks;
mod reports;

use nodewell_tests::{
    kmsg::RealKmsg,
    machine::{Machine, Package, Release},
    suite::{Need, Suite},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("booted_service")
        .case_with(&[Need::KernelLog, Need::Machine(Release::Bookworm)], "systemd_252", || whole(Release::Bookworm))
        .case_with(&[Need::LongSuite, Need::KernelLog, Need::Machine(Release::Trixie)], "systemd_257", || {
            whole(Release::Trixie)
        })
        .case_with(
            &[Need::LongSuite, Need::OldGlibc, Need::KernelLog, Need::Machine(Release::Bullseye)],
            "systemd_247",
            || whole(Release::Bullseye),
        )
        .case_with(&[Need::Machine(Release::Bookworm)], "controller_on_systemd_252", || {
            controller::whole(Release::Bookworm)
        })
        .case_with(&[Need::LongSuite, Need::Machine(Release::Trixie)], "controller_on_systemd_257", || {
            controller::whole(Release::Trixie)
        })
        .case_with(
            &[Need::LongSuite, Need::OldGlibc, Need::Machine(Release::Bullseye)],
            "controller_on_systemd_247",
            || controller::whole(Release::Bullseye),
        );
}

/// What the steps work on.
struct Node {
    machine: Machine,
    /// In every line that this case writes to the kernel log, which it shares with other cases.
    token: String,
}

/// The kernel log takes no writes as the kernel: its user space is believed here. So the rules are this case's alone: the
/// log is the test machine's own, and what other cases have written there is no problem of this one; nor is a disk of
/// the test machine that is nearly full.
const CONFIG: &str = "rules = [\"/etc/nodewell/rules.d\"]

[kmsg]
facilities = [0, 1]

[mounts]
space-enough-gib = 0

[[grant]]
unit = \"raid-monitor.service\"
conditions = [\"TestUnhealthy\"]
events = true
rate = \"200/s\"
";

impl Node {
    fn boot(release: Release) -> Self {
        let machine = Machine::boot(release);
        let token = format!("nodewell-booted {}-{}", std::process::id(), release.name());
        let rules = format!(
            r#"
[[condition]]
type = "TestUnhealthy"
healthy-reason = "TestIsHealthy"
healthy-message = "nothing is wrong with the test"

[[rule]]
reason = "TestFault"
type = "permanent"
condition = "TestUnhealthy"
source = "kmsg"
severity = "error"
clears = {{ boot = true }}
pattern = '^{token} fault on (?P<subject>\w+)'
matches = [{{ text = "{token} fault on sda", subject = "sda" }}]
ignores = ["fault on sda"]

[[rule]]
reason = "TestLine"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^{token} line (?P<subject>\w+)'
matches = [{{ text = "{token} line l1", subject = "l1" }}]
ignores = ["line l1"]

[[rule]]
reason = "TestEntry"
type = "temporary"
source = "journal"
severity = "warn"
where = {{ SYSLOG_IDENTIFIER = "nodewell-tests" }}
pattern = '^entry (?P<subject>\w+)'
matches = [{{ text = "entry one", subject = "one", fields = {{ SYSLOG_IDENTIFIER = "nodewell-tests" }} }}]
ignores = ["entry one"]
"#
        );
        machine.write("/etc/nodewell/rules.d/test.toml", rules);
        machine.write("/etc/nodewell/nodewell.toml.d/test.toml", CONFIG);
        Self { machine, token }
    }

    /// One line in the kernel log that the rules of this case know.
    fn write(&self, kmsg: &RealKmsg, text: &str) {
        kmsg.write(&format!("{} {text}", self.token));
    }
}

/// One step of a package's life.
type Step = fn(&Node);

fn whole(release: Release) {
    let node = Node::boot(release);
    let steps: [(&str, Step); 29] = [
        ("installed, it runs and reports that it is standalone", life::installed),
        ("it asks GPUs where there is a driver", check_processes::it_runs_where_there_is_a_gpu_driver),
        ("any user may read", looks::any_user_may_read),
        ("the agent has no capability, and what systemd opened", looks::least_privilege),
        ("its program is in locked memory, and of no file", looks::program_in_memory),
        ("exposure is as published", looks::exposure),
        ("records of pstore are copied for the agent alone", looks::pstore_records),
        ("a kernel line turns a condition", looks::a_kernel_line_turns_a_condition),
        ("the journal has fields and explains", looks::the_journal_explains),
        ("a restart refuses no client", faults::a_restart_refuses_no_client),
        ("killed, it comes back, refuses no client and loses no line", faults::killed),
        ("hung, it is restarted", faults::hung),
        ("a masked socket of the kernel log is named", faults::kernel_log_masked),
        ("a reload takes good rules and refuses bad ones", faults::reload),
        ("journald may be restarted", faults::journald_restarts),
        ("a taken metrics port is no fault", faults::metrics_port_taken),
        ("a report counts by the grant of its unit", reports::a_grant_counts),
        ("a restart loses no report", reports::a_restart_loses_no_report),
        ("check processes may open what their units allow", check_processes::devices_are_those_of_the_unit),
        ("check processes have no way into the agent", check_processes::none_has_a_way_into_the_agent),
        ("a GPU driver may come late", check_processes::a_gpu_driver_comes_late),
        ("a reader that is killed for its memory is replaced", check_processes::a_reader_over_its_memory_is_replaced),
        ("a stopped check process leaves no reader behind", check_processes::a_stop_leaves_no_reader),
        ("stopped, it stays stopped", life::stopped),
        ("an upgrade restarts once and keeps what is there", life::upgraded),
        ("the version before goes on with what stands", life::went_back),
        ("the kubelet's credentials are published and followed", identity::published),
        ("a start that races with a removal leaves nothing running", life::raced),
        ("removed, it is gone; purged, nothing is left", life::removed),
    ];
    for (number, (step, run)) in steps.into_iter().enumerate() {
        let begun = std::time::Instant::now();
        eprintln!("systemd {}: {}. {step}", release.systemd(), number + 1);
        run(&node);
        eprintln!("systemd {}:    {:.1} s", release.systemd(), begun.elapsed().as_secs_f64());
    }
}

fn package() -> Package {
    Package::built()
}
