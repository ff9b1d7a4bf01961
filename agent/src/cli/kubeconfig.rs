//! `nodewell kubeconfig`: a kubeconfig as JSON, for the agent, which reads no YAML. It prints secrets, to a pipe.

use std::io::Read;

use clap::Args;

use super::{
    error::{CommandError, SOFTWARE},
    out::Out,
};
use crate::{
    identity::{DATA_ERROR, KubeconfigError, as_json},
    runtime::program::close_memory,
};

const EXAMPLES: &str = "\
Examples:
  nodewell kubeconfig </etc/kubernetes/kubelet.conf | jq .clusters

Exit codes: 0 done; 65 the YAML is at fault; 70 it failed.";

/// Read a kubeconfig from stdin and write it as JSON, with its secrets
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct KubeconfigCommand {}

impl KubeconfigCommand {
    pub(super) fn run(&self, out: &mut Out) -> Result<(), CommandError> {
        close_memory();
        let mut yaml = Vec::new();
        std::io::stdin().read_to_end(&mut yaml).map_err(|error| CommandError::new(SOFTWARE, error.to_string()))?;
        let code =
            |error: &KubeconfigError| if matches!(error, KubeconfigError::Content(_)) { DATA_ERROR } else { SOFTWARE };
        let json = as_json(&yaml).map_err(|error| CommandError::new(code(&error), error.to_string()))?;
        out.line(&json)?;
        Ok(())
    }
}
