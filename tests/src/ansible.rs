//! Ansible with the plays of packaging/ansible, for machines that a case has booted.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cli::Outcome,
    leftovers,
    machine::{self, Machine, Release, Tree},
    process::bounded,
};

/// What Ansible's modules need in a machine.
pub const TREE: Tree = Tree::with("bookworm-ansible", Release::Bookworm, "python3,python3-apt");
/// A folder with `ansible-playbook`, in place of the one that packaging/tools makes.
const VARIABLE: &str = "NODEWELL_ANSIBLE";
/// A whole play: three batches, each with a gate.
const LIMIT: Duration = Duration::from_secs(1200);

/// Why this machine cannot play, if it cannot.
#[must_use]
pub fn unmet() -> Option<String> {
    let program = program();
    let install = "packaging/tools requirements-ansible.txt ansible-playbook";
    let missing = || format!("needs ansible-core, in {}: `{install}` puts it there", program.display());
    if program.is_file() { machine::unmet(TREE) } else { Some(missing()) }
}

fn program() -> PathBuf {
    let tools = || workspace().join("target/tools/requirements-ansible/bin");
    std::env::var_os(VARIABLE).map_or_else(tools, PathBuf::from).join("ansible-playbook")
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is a folder of the workspace")
}

/// A control node: an inventory of machines in a folder of its own.
#[derive(Debug)]
pub struct ControlNode {
    folder: TempDir,
}

impl ControlNode {
    /// One that knows these machines by name and group.
    ///
    /// # Panics
    /// If the inventory cannot be written.
    #[must_use]
    pub fn new(machines: &[(&str, &Machine)], groups: &[(&str, &[&str])]) -> Self {
        let host = |(name, machine): &(&str, &Machine)| {
            ((*name).to_owned(), json!({"machine_leader": machine.inside().leader()}))
        };
        let hosts: serde_json::Map<String, Value> = machines.iter().map(host).collect();
        let group = |(name, hosts): &(&str, &[&str])| {
            let hosts: serde_json::Map<String, Value> =
                hosts.iter().map(|host| ((*host).to_owned(), json!({}))).collect();
            ((*name).to_owned(), json!({"hosts": hosts}))
        };
        let children: serde_json::Map<String, Value> = groups.iter().map(group).collect();
        // What enters a machine by its namespaces is root there.
        let vars = json!({
            "ansible_connection": "machine", "ansible_become": false, "ansible_python_interpreter": "/usr/bin/python3",
        });
        let control = Self { folder: leftovers::folder("ansible") };
        // JSON is YAML.
        let inventory = json!({"all": {"hosts": hosts, "children": children, "vars": vars}});
        control.write("hosts.yml", &inventory.to_string());
        control.write("ansible.cfg", "[defaults]\n");
        control
    }

    /// Its folder, which is that of the inventory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into it.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Plays `rollout.yml` or `rollback.yml` to its end; `variables` win over all others.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn play(&self, playbook: &str, variables: &Value, flags: &[&str]) -> Outcome {
        let home = self.folder.path();
        let mut command = bounded(LIMIT, program());
        command.arg("--inventory").arg(self.path("hosts.yml")).args(["--extra-vars", &variables.to_string()]);
        command.args(flags).arg(workspace().join("packaging/ansible").join(playbook));
        command.env("HOME", home).env("ANSIBLE_HOME", home.join("ansible")).env("ANSIBLE_NOCOLOR", "1");
        command.env("ANSIBLE_CONNECTION_PLUGINS", workspace().join("tests/ansible")).env("ANSIBLE_PIPELINING", "1");
        // Not that of the person who runs the tests.
        command.env("ANSIBLE_CONFIG", self.path("ansible.cfg")).env("LC_ALL", "C.UTF-8").current_dir(home);
        command.stdin(Stdio::null()).output().unwrap().into()
    }
}
