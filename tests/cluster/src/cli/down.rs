//! `down`: ends the cluster, and removes what one that was killed has left.

use std::fs;

use nodewell_cluster::Cluster;

use super::{Failure, folder, request};

pub(super) fn down() -> Result<(), Failure> {
    let answer = if request::connect().is_some() { request::ask("down", "")? } else { "no cluster is up".to_owned() };
    // A cluster that was killed took its processes along; what is left are names, empty cgroups and files.
    Cluster::remove_leftovers();
    let _ = fs::remove_dir_all(folder());
    println!("{answer}");
    Ok(())
}
