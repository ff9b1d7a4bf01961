//! The pod of [`SHOP`](crate::manifests::SHOP), which writes ten times a second for how long the kernel has run: that
//! is one clock for all machines, and shows who wrote when.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use crate::{cluster::Cluster, worker::Worker};

/// Its name.
pub const POD: &str = "shop-0";
/// Where its volume lies in the folder of a pod.
const WRITTEN: &str = "volumes/kubernetes.io~empty-dir/data/index.html";
/// Many lines.
const END_BYTES: u64 = 4096;

/// Whether it runs there, on a machine that is on: its processes are known by their command line.
#[must_use]
pub fn runs_the_pod(worker: &Worker) -> bool {
    worker.inside().run(["pgrep", "--full", "httpd -p 8080 -h /data"]).code == 0
}

/// What the pod that there is now has written first.
///
/// # Panics
/// If it cannot be asked.
#[must_use]
pub fn first_written(cluster: &Cluster) -> u64 {
    let first = cluster.must_kubectl(&["exec", POD, "--", "head", "-n", "1", "/data/index.html"]);
    uptime(&first).unwrap_or_else(|| panic!("{POD} has written {first:?}"))
}

/// What a pod has written last to a volume of this machine, on or off, if it has one.
#[must_use]
pub fn last_written(worker: &Worker) -> Option<u64> {
    let pods = fs::read_dir(worker.kubelets_folder().join("pods")).into_iter().flatten().flatten();
    pods.filter_map(|pod| uptime(last_line(&end_of(&pod.path().join(WRITTEN))?)?)).max()
}

/// The last line of a file that has ended: a pod that is killed may leave half of one.
#[must_use]
pub fn last_line(end: &str) -> Option<&str> {
    end.rsplit_once('\n')?.0.rsplit('\n').next()
}

/// For how many hundredths of a second the kernel had run: `7.25 …` is 725.
#[must_use]
pub fn uptime(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.replacen('.', "", 1).parse().ok()
}

fn end_of(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES))).ok()?;
    let mut end = String::new();
    file.read_to_string(&mut end).ok()?;
    Some(end)
}
