//! The process that holds the cluster: it brings it up, does what commands ask, and all of the cluster ends with it.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use nodewell_cluster::{
    Cluster, Plan,
    manifests::{DEAD_NODES, SHOP},
    worker::Worker,
};
use nodewell_tests::{machine, own_mounts};

use super::{
    Failure, Size, folder,
    lock::Lock,
    request::{Answer, serve},
};

pub(super) fn hold(size: Size) -> Result<(), Failure> {
    // Before anything is started: there is never a second one, and `down` finds this one from here on.
    let _lock = Lock::take()?;
    own_mounts::separate();
    let plan = Plan { workers: size.workers, controllers: size.controllers, kernel_log: Some(1), ..Plan::default() };
    let mut cluster = Some(Cluster::start(plan));
    if let Some(cluster) = &cluster {
        furnish(cluster, size);
        machine::remove_copies();
    }
    let served = serve(|verb, machine| match (verb, &cluster) {
        ("down", _) => {
            drop(cluster.take());
            Answer::Last("the cluster is down".to_owned())
        }
        (verb, Some(cluster)) => unharmed(|| answer(cluster, verb, machine)),
        (_, None) => Answer::Refused("the cluster is down".to_owned()),
    });
    served.map_err(|error| Failure::Failed(format!("{}: {error}", folder().display())))
}

fn furnish(cluster: &Cluster, size: Size) {
    if !size.bare {
        cluster.install();
        cluster.apply_text(DEAD_NODES);
    }
    cluster.apply_text(SHOP);
    cluster.must_kubectl(&["rollout", "status", "statefulset/shop", "--timeout=120s"]);
    if !size.bare {
        cluster.wait_until_fences_are_ready();
    }
    let kubeconfig = folder().join("kubeconfig");
    fs::copy(cluster.kubeconfig(), &kubeconfig).unwrap();
    fs::set_permissions(&kubeconfig, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A line of progress, which `up` shows.
pub(super) fn report(what: &str) {
    eprintln!("{PROGRESS}{what}");
}

/// What such lines begin with.
pub(super) const PROGRESS: &str = "cluster: ";

/// What a request cannot do ends that request, and not the cluster.
fn unharmed(act: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Answer::Refused(format!("{}; {} has more", text.unwrap_or("it failed"), folder().join("log").display()))
    })
}

fn answer(cluster: &Cluster, verb: &str, machine: &str) -> Answer {
    if verb == "status" {
        return Answer::Done(status(cluster));
    }
    if let Some(worker) = cluster.worker(machine) {
        return of_worker(worker, verb);
    }
    let Some(host) = cluster.controllers().iter().find(|host| host.name() == machine) else {
        return Answer::Refused(format!("no machine is called {machine:?}: there are {}", names(cluster)));
    };
    match verb {
        "cut" => host.cut(),
        "join" => host.join(),
        "leader" => return Answer::Done(host.inside().leader().to_string()),
        _ => return Answer::Refused(format!("{machine} has no power that could be switched: only workers have a BMC")),
    }
    Answer::Done(format!("{machine}: {verb}"))
}

fn of_worker(worker: &Worker, verb: &str) -> Answer {
    let name = worker.name();
    match (verb, worker.is_on()) {
        ("on", _) => {
            if let Err(why) = worker.on() {
                return Answer::Refused(format!("{name} did not start: {why}"));
            }
        }
        ("off", _) => worker.off(),
        ("cut", _) => worker.cut(),
        ("join", _) => worker.join(),
        (_, false) => return Answer::Refused(format!("{name} is off; `make cluster ARGS=\"on {name}\"` turns it on")),
        ("stop", true) => {
            if let Err(why) = worker.stop() {
                return Answer::Refused(why);
            }
        }
        ("leader", true) => return Answer::Done(worker.inside().leader().to_string()),
        (other, true) => return Answer::Refused(format!("{other} is no request")),
    }
    Answer::Done(match verb {
        "on" => format!("{name} is on"),
        "off" => format!("{name} has no power"),
        "stop" => format!("{name} has shut down"),
        "cut" => format!("the network cable of {name} is out"),
        _ => format!("the network cable of {name} is in"),
    })
}

fn names(cluster: &Cluster) -> String {
    let workers = cluster.workers().iter().map(Worker::name);
    workers.chain(cluster.controllers().iter().map(|host| host.name())).collect::<Vec<_>>().join(" ")
}

fn status(cluster: &Cluster) -> String {
    let mut text = "MACHINE  POWER  ADDRESS       BMC           NODE READY\n".to_owned();
    for worker in cluster.workers() {
        let power = if worker.is_on() { "on" } else { "off" };
        let ready = cluster.api().condition(worker.name(), "Ready").unwrap_or_else(|| "no Node".to_owned());
        let (address, bmc) = (worker.address(), worker.bmc_address());
        let _ = writeln!(text, "{:<8} {power:<6} {address:<13} {bmc:<13} {ready}", worker.name());
    }
    for host in cluster.controllers() {
        let _ = writeln!(text, "{:<8} on     {:<13} -             nodewell-controller", host.name(), host.address());
    }
    let _ = write!(
        text,
        "kubeconfig: {}\nlogs of the control plane: {}",
        folder().join("kubeconfig").display(),
        cluster.folder().display()
    );
    text
}
