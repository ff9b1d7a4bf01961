//! The rules a command works with: the installed ones with the administrator's, or a folder that was named.

use std::path::PathBuf;

use clap::Args;
use nodewell_rules::{Diagnostic, LoadPlan, Loaded, RuleSet, RulesFrom, load};

use super::error::{CONFIG, CommandError};
use crate::config::{Config, Flags};

/// `--rules`, as `nodewelld` has it.
#[derive(Debug, Args)]
pub(super) struct RuleChoice {
    /// A folder of rule files instead of the installed rules and /etc/nodewell/rules.d. May be given several times.
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// A Node Problem Detector config to load as well. May be given several times.
    #[arg(long, value_name = "FILE")]
    npd_config: Vec<PathBuf>,
}

impl RuleChoice {
    /// Where a command has no such flags.
    pub(super) fn installed() -> Self {
        Self { rules: Vec::new(), npd_config: Vec::new() }
    }

    /// What the agent would load. A config with errors does not prevent a look at a log: the defaults apply then.
    pub(super) fn plan(&self) -> LoadPlan {
        if !self.rules.is_empty() {
            return LoadPlan {
                rules: RulesFrom::Dirs(self.rules.clone()),
                npd: self.npd_config.clone(),
                ..LoadPlan::default()
            };
        }
        let configured = Config::load(&Flags::default()).map(|config| config.load_plan()).unwrap_or_default();
        LoadPlan { npd: [configured.npd.clone(), self.npd_config.clone()].concat(), ..configured }
    }
}

/// The rules of `plan`; any error in them is a failure.
pub(super) fn loaded(plan: &LoadPlan) -> Result<RuleSet, CommandError> {
    let Loaded { set, diagnostics, .. } = load(plan);
    if diagnostics.is_empty() { Ok(set) } else { Err(CommandError::new(CONFIG, message(&diagnostics))) }
}

fn message(diagnostics: &[Diagnostic]) -> String {
    let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    format!("the rules have errors:\n{}", lines.join("\n"))
}
