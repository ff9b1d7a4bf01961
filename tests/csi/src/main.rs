//! `nodewell-csi`: the driver of one node, which runs until it cannot serve.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use nodewell_csi::plugin::Plugin;
use tokio::runtime::Builder;

#[derive(Debug, Parser)]
struct Args {
    /// The Node's name
    #[arg(long)]
    node: String,
    /// The folder in which each volume is one
    #[arg(long)]
    volumes: PathBuf,
    /// The kubelet's folder
    #[arg(long, default_value = "/var/lib/kubelet")]
    kubelet: PathBuf,
}

fn main() -> ExitCode {
    let Args { node, volumes, kubelet } = Args::parse();
    let runtime = Builder::new_current_thread().enable_io().build();
    let ended = runtime.map(|runtime| runtime.block_on(Plugin { node, volumes, kubelet }.run()));
    match ended {
        Ok(Err(error)) => eprintln!("nodewell-csi: {error}"),
        Err(error) => eprintln!("nodewell-csi: no runtime: {error}"),
    }
    ExitCode::FAILURE
}
