//! `down`: ends the cluster, and removes what one that was killed has left.

use std::fs;

use nodewell_cluster::Cluster;

use super::{Failure, folder, lock, request};

pub(super) fn down() -> Result<(), Failure> {
    let answer = match lock::holder()? {
        None => "no cluster is up".to_owned(),
        Some(_) if request::connect().is_some() => {
            let answer = request::ask("down", "")?;
            lock::wait_until_free()?;
            answer
        }
        // It is bringing the cluster up, or hangs.
        Some(holder) => {
            lock::end(holder)?;
            "the cluster was being brought up, and is down".to_owned()
        }
    };
    // A cluster that was killed took its processes along; what is left are names, empty cgroups and files.
    Cluster::remove_leftovers();
    let _ = fs::remove_dir_all(folder());
    println!("{answer}");
    Ok(())
}
