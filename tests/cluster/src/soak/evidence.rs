//! What machines and the API server know of a fault that was missed, or of an act without a cause, as long as they do;
//! and each report: under `target/soak`, in a folder for each seed.

use std::{fs, io, path::PathBuf};

use nodewell_tests::machine::machines;

use super::{outcome::Run, report, say};
use crate::cluster::Cluster;

/// A machine that hangs holds up no more than this.
const JOURNAL: [&str; 9] = [
    "timeout",
    "60",
    "journalctl",
    "--no-pager",
    "--output=short-iso-precise",
    "--since=-15min",
    "--unit=nodewell*",
    "--unit=kubelet",
    "--unit=containerd",
];
const OBJECTS: [&str; 5] =
    ["get", "nodes,pods,nodefences", "--all-namespaces", "--output=yaml", "--request-timeout=30s"];

fn folder(seed: u64) -> PathBuf {
    machines().with_file_name("soak").join(seed.to_string())
}

/// Writes the journals of all machines that are on, and what the API server has, into a folder of this name.
///
/// # Errors
/// If they cannot be written.
pub(super) fn gather(cluster: &Cluster, seed: u64, name: &str) -> io::Result<()> {
    let folder = folder(seed).join(name);
    fs::create_dir_all(&folder)?;
    say(format!("soak: journals and objects go into {}", folder.display()));
    let objects = cluster.kubectl(&OBJECTS);
    fs::write(folder.join("objects.yaml"), objects.stdout + &objects.stderr)?;
    let workers = cluster.workers().iter().filter(|worker| worker.is_on());
    let workers = workers.map(|worker| (worker.name(), worker.inside()));
    let hosts = cluster.controllers().iter().map(|host| (host.name(), host.inside()));
    for (machine, inside) in workers.chain(hosts) {
        let journal = inside.run(JOURNAL);
        fs::write(folder.join(format!("{machine}.journal")), journal.stdout + &journal.stderr)?;
    }
    Ok(())
}

/// Leaves the report where neither a terminal that is gone nor a cluster that does not end takes it away.
pub(super) fn keep_report(run: &Run) {
    let name = format!("report-{}.json", run.begun.strftime("%Y%m%dT%H%M%SZ"));
    let file = folder(run.seed).join(name);
    let written =
        fs::create_dir_all(folder(run.seed)).and_then(|()| fs::write(&file, format!("{}\n", report::json(run))));
    match written {
        Ok(()) => say(format!("soak: its report is in {}", file.display())),
        Err(why) => say(format!("soak: its report is not in {}: {why}", file.display())),
    }
    say(report::text(run));
}
