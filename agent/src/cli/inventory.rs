//! `nodewell inventory`: the hardware of this boot and what is missing of it, and that a person accepts what is gone.

mod text;

use std::{env, time::Duration};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use nodewell_client::Client;
use nodewell_model::{
    api::ConditionProblem,
    inventory::{Acceptance, InventoryView},
};
use nodewell_settings::duration;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    error::{CommandError, NO_PERMISSION, TEMPORARY, USAGE},
    out::Out,
    output::Output,
    render::Look,
};
use crate::{inventory::InventoryFiles, runtime::clock};

const LOOKS_APART: Duration = Duration::from_millis(250);
/// Before the address of a PCI Express link.
const LINK: &str = "link ";
const LINK_REASONS: [&str; 2] = ["PcieLinkNarrow", "PcieLinkSlow"];

/// Show the hardware of this boot and what is missing since an earlier one, or accept what is gone (root).
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  nodewell inventory
  nodewell inventory --json
  sudo nodewell inventory accept

What an earlier boot had and this one has not is a problem of HardwareMissing; more,
or other hardware in the same slot, is accepted by itself. As JSON and YAML: the
answer to GET /v1/inventory, with firmware, driver and kernel to compare nodes by.

Exit codes: 0 shown, whatever is missing; 69 the agent cannot be reached; 75 the
host was not looked at yet."
)]
pub(super) struct InventoryCommand {
    #[command(subcommand)]
    command: Option<What>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Subcommand)]
enum What {
    Accept(Accept),
}

/// Accept that missing hardware is gone, as after it was taken out on purpose (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell inventory accept
  sudo nodewell inventory accept 'disk S3X1NX0K71' 'memory module DIMM_A1'
  sudo nodewell inventory accept 'link 0000:3b:00.0'

It accepts what is missing at this moment and nothing that is lost later, and
returns once the problems are over. A PCI Express link that is narrower or slower
than it could be is accepted by its address: it is meant to run as it does. As JSON
and YAML: {accepted}.

Exit codes: 0 accepted, or nothing is missing; 64 one that was named is not missing;
69 the agent cannot be reached; 75 the check process has not taken it yet: it will;
77 no permission.")]
struct Accept {
    /// Only these, as `nodewell inventory` names them, or `link ADDRESS`; without a name all that is missing.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// How long to wait for the check process.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    wait: Duration,
    #[command(flatten)]
    output: Output,
}

impl InventoryCommand {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        if let Some(What::Accept(accept)) = self.command {
            return accept.run(client, out).await;
        }
        let view = shown(client).await?;
        match self.output.document() {
            Some(form) => out.document(form, &view),
            None if view.read.is_none() => Err(not_yet()),
            None => Ok(out.text(&text::text(&view, &Look::of_stdout()))?),
        }
    }
}

impl Accept {
    async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let view = shown(client).await?;
        if view.read.is_none() {
            return Err(not_yet());
        }
        let links = if self.names_link() { links(client).await? } else { Vec::new() };
        let names = self.chosen(&view, &links)?;
        if !names.is_empty() {
            write(client, &names)?;
            self.wait_until_taken(client, &names).await?;
        }
        match self.output.document() {
            Some(form) => out.document(form, &json!({"accepted": names})),
            None if names.is_empty() => Ok(out.line("nothing is missing; there is nothing to accept")?),
            None => Ok(out.line(&format!("accepted as gone: {}", names.join(", ")))?),
        }
    }

    fn names_link(&self) -> bool {
        self.names.iter().any(|name| name.starts_with(LINK))
    }

    fn chosen(&self, view: &InventoryView, links: &[String]) -> Result<Vec<String>, CommandError> {
        let missing: Vec<String> = view.missing().map(|component| component.name.clone()).collect();
        let Some(unknown) = self.names.iter().find(|name| !missing.contains(name) && !links.contains(name)) else {
            return Ok(if self.names.is_empty() { missing } else { self.names.clone() });
        };
        if unknown.starts_with(LINK) {
            let there =
                if links.is_empty() { "none has".to_owned() } else { format!("some have: {}", links.join(", ")) };
            return Err(CommandError::new(USAGE, format!("{unknown:?} is no link with a problem; {there}")));
        }
        let there =
            if missing.is_empty() { "nothing is".to_owned() } else { format!("missing: {}", missing.join(", ")) };
        Err(CommandError::new(USAGE, format!("{unknown:?} is not missing; {there}")))
    }

    async fn wait_until_taken(&self, client: &Client, names: &[String]) -> Result<(), CommandError> {
        let give_up = Instant::now() + self.wait;
        while self.is_open(client, names).await? {
            if Instant::now() >= give_up {
                let message = "the check process has not taken it yet; it does when it runs, until the next boot: see \
                               systemctl status nodewell-check";
                return Err(CommandError::new(TEMPORARY, message));
            }
            sleep(LOOKS_APART).await;
        }
        Ok(())
    }

    /// Whether any of it is still a problem.
    async fn is_open(&self, client: &Client, names: &[String]) -> Result<bool, CommandError> {
        let is_missing = shown(client).await?.missing().any(|component| names.contains(&component.name));
        Ok(is_missing || (self.names_link() && links(client).await?.iter().any(|link| names.contains(link))))
    }
}

/// The links of which a problem is that they run below what they could: `link 0000:3b:00.0`.
async fn links(client: &Client) -> Result<Vec<String>, CommandError> {
    let problems: Vec<ConditionProblem> = client.get("/v1/problems").await?;
    let is_link = |problem: &ConditionProblem| LINK_REASONS.contains(&problem.problem.reason.as_str());
    let links = problems.into_iter().filter(is_link).filter_map(|problem| problem.problem.subject);
    Ok(links.map(|address| format!("{LINK}{address}")).collect())
}

async fn shown(client: &Client) -> Result<InventoryView, CommandError> {
    Ok(client.get("/v1/inventory").await?)
}

fn write(client: &Client, names: &[String]) -> Result<(), CommandError> {
    let files = InventoryFiles::of(client.path());
    let boot_id = clock::boot_id().map(|id| id.to_string()).unwrap_or_default();
    let acceptance = Acceptance { boot_id, time: Timestamp::now(), names: names.to_vec(), by: person() };
    files.accept(&acceptance).map_err(|error| {
        let path = files.accepted_path();
        let message = format!("cannot write {}: {error}; only root or the agent's user can accept", path.display());
        CommandError::new(NO_PERMISSION, message)
    })
}

/// Who is behind sudo.
fn person() -> String {
    let user = env::var("SUDO_USER").ok().filter(|user| !user.is_empty());
    let uid = nix::unistd::geteuid();
    let runs_as = if uid.is_root() { "root".to_owned() } else { format!("uid {uid}") };
    user.map_or_else(|| runs_as.clone(), |user| format!("{user} ({runs_as})"))
}

fn not_yet() -> CommandError {
    let message = "the host was not looked at yet: the check process does that at its start, unless [inventory] is off \
                   or this is a container; see systemctl status nodewell-check";
    CommandError::new(TEMPORARY, message)
}

#[cfg(test)]
mod tests {
    use nodewell_model::inventory::{Component, ComponentClass, ComponentView};

    use super::*;

    fn accept(names: &[&str]) -> Accept {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Accept { names, wait: Duration::ZERO, output: Output::default() }
    }

    fn view(missing: &[&str]) -> InventoryView {
        let component = |name: &&str| ComponentView {
            class: ComponentClass::Disk,
            name: (*name).to_owned(),
            component: Component::default(),
            missing: true,
            last_seen: None,
            accepted: None,
        };
        InventoryView { components: missing.iter().map(component).collect(), ..InventoryView::default() }
    }

    #[test]
    fn what_is_accepted_is_missing() {
        let all = view(&["disk S1", "memory"]);
        assert_eq!(accept(&[]).chosen(&all, &[]).unwrap(), ["disk S1", "memory"]);
        assert_eq!(accept(&["memory"]).chosen(&all, &[]).unwrap(), ["memory"]);
        let error = accept(&["disk S9"]).chosen(&all, &[]).unwrap_err().to_string();
        assert_eq!(error, "\"disk S9\" is not missing; missing: disk S1, memory");
        assert!(accept(&["disk S9"]).chosen(&view(&[]), &[]).unwrap_err().to_string().ends_with("nothing is"));
    }

    #[test]
    fn a_link_is_accepted_only_by_its_name_and_while_it_has_a_problem() {
        let (all, links) = (view(&["disk S1"]), ["link 0000:3b:00.0".to_owned()]);
        assert_eq!(accept(&[]).chosen(&all, &links).unwrap(), ["disk S1"]);
        let both = ["link 0000:3b:00.0", "disk S1"];
        assert_eq!(accept(&both).chosen(&all, &links).unwrap(), both);
        let error = |links: &[String]| accept(&["link 0000:01:00.0"]).chosen(&all, links).unwrap_err().to_string();
        assert_eq!(error(&[]), "\"link 0000:01:00.0\" is no link with a problem; none has");
        assert!(error(&links).ends_with("some have: link 0000:3b:00.0"));
        assert!(accept(&both).names_link() && !accept(&["disk S1"]).names_link());
    }
}
