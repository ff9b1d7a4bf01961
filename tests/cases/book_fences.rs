//! The first fence by the book: an account, a ConfigMap, whose machine it is, and the same for many nodes, against a
//! simulated BMC on the real API server. Of the blocks only addresses and the user's name are others.

use std::{collections::BTreeMap, process::Command, sync::Arc};

use nodewell_bmc::{Bmc, Manner, PASSWORD, USER};
use nodewell_tests::{
    book::{block, commands, missing},
    cluster::{Call, Cluster},
    controller::apply_manifests,
    shell::Shell,
    stand_in::{Machine, Make, StandIn},
    suite::{Need, Suite},
    wait::until,
};
use serde_json::Value;

const BMC: Need = Need::Other(nodewell_bmc::missing);
const JQ: Need = Need::Other(no_jq);

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("book_fences").real_with(&[BMC, JQ], "by_ipmi", by_ipmi);
}

fn no_jq() -> Option<String> {
    Command::new("jq").arg("--version").output().is_err().then(|| "needs jq (Debian's package jq)".to_owned())
}

/// That of the page.
const UUID: &str = "4c4c4544-0042-3510-8054-b7c04f4e3732";
const SECRETS: &str = "/api/v1/namespaces/nodewell/secrets";

/// What the page calls `worker-1`.
struct Fence<'a> {
    cluster: &'a Cluster,
    shell: Shell,
    bmc: Arc<Bmc>,
}

fn by_ipmi(cluster: &Cluster) {
    apply_manifests(cluster);
    let bmc = Arc::new(Bmc::start(&UUID.replace('-', ""), Manner::Obeys).unwrap());
    let make = Make {
        name: "worker-1",
        labels: BTreeMap::new(),
        system_uuid: UUID.to_owned(),
        address: "127.0.0.1".to_owned(),
    };
    let node = StandIn::start(cluster, &make, Arc::clone(&bmc) as Arc<dyn Machine>);
    until("the kubelet has reported its machine", || node.reported_boot());
    let fence = Fence { cluster, shell: Shell::at(cluster), bmc };
    fence.is_accepted_and_ready();
    fence.is_asked_by_hand();
    fence.has_its_secret_bound();
    fence.shares_one_secret();
    fence.changes_its_password();
}

impl Fence<'_> {
    /// The page's addresses as they are here: the simulator has a port of its own, and knows one cipher suite.
    fn here(&self, text: &str, line_end: &str) -> String {
        let port = self.bmc.port;
        let options = format!("ip=127.0.0.1{line_end}ipport={port}{line_end}cipher=3");
        let text = text.replace("ip=10.0.9.11", &options).replace("username=fence", &format!("username={USER}"));
        text.replace("10.0.9.11", &format!("127.0.0.1:{port}"))
    }

    fn secret(&self, name: &str) -> Value {
        let (code, secret) = self.cluster.admin(&Call::get(&format!("{SECRETS}/{name}")));
        assert_eq!(code, 200, "{secret}");
        secret["data"].clone()
    }

    fn is_accepted_and_ready(&self) {
        let account = self.here(&commands("fencing.md", "read -rs PW          #"), "\n");
        let made = self.shell.typed(&account, &format!("{PASSWORD}\n"));
        assert_eq!(made.code, 0, "{made:?}");
        let manifest = self.here(&block("fencing.md", "yaml", "# worker-1.yaml"), "\n    ");
        self.shell.write("worker-1.yaml", &manifest);
        let check = commands("fencing.md", "kubectl apply -f worker-1.yaml");
        let first = self.shell.typed(&check, "");
        assert_eq!(first.code, 70, "{first:?}");
        let shown = block("fencing.md", "text", "worker-1: no system_uuid=");
        assert_eq!(missing(&shown, &format!("{}{}", first.stdout, first.stderr)), None, "{first:?}");
        let accept = first.stdout.lines().find(|line| line.starts_with("kubectl ")).unwrap();
        self.shell.run(accept);
        let ready = self.shell.run("nodewell-controller check --node worker-1");
        let shown = block("fencing.md", "text", "worker-1: FenceReady");
        assert_eq!(missing(&self.here(&shown, "\n"), &ready), None, "{ready}");
    }

    fn is_asked_by_hand(&self) {
        let ask = self.here(&commands("fencing.md", "read -rs PW\nprintf 'action=status"), "\\n");
        let asked = self.shell.typed(&ask, &format!("{PASSWORD}\n"));
        assert!(asked.code == 0 && asked.stdout.ends_with("0\n"), "0 is on: {asked:?}");
    }

    fn has_its_secret_bound(&self) {
        let bind = commands("fence-accounts.md", "kubectl -n nodewell patch secret secret-fence-method-bmc-worker-1");
        self.shell.run(&self.here(&bind, "\n"));
        assert_ne!(self.secret("secret-fence-method-bmc-worker-1")["address"], Value::Null);
        self.shell.run("nodewell-controller check --node worker-1");
    }

    /// The template's options are those of worker-2, whose machine nothing confirms yet.
    fn shares_one_secret(&self) {
        self.cluster.create_node("worker-2");
        let account = commands("fence-accounts.md", "read -rs PW");
        let account = account.replace("10.0.7.0/24", &format!("127.0.0.1:{}", self.bmc.port));
        let made = self.shell.typed(&account, &format!("{PASSWORD}\n"));
        assert_eq!(made.code, 0, "{made:?}");
        let template = block("fence-accounts.md", "yaml", "# rack7.yaml");
        let options = format!("lanplus=1\n    ipport={}\n    cipher=3", self.bmc.port);
        self.shell.write("rack7.yaml", &self.here(&template.replace("lanplus=1", &options), "\n    "));
        self.shell.write("bmcs", "worker-2 127.0.0.1\n");
        self.shell.run(&commands("fence-accounts.md", "kubectl apply -f rack7.yaml"));
        let check = self.shell.typed("nodewell-controller check --node worker-2", "");
        assert!(check.stdout.contains("patch configmap fence-config-worker-2 --type merge"), "{check:?}");
        assert!(check.stdout.contains(UUID), "{check:?}");
    }

    fn changes_its_password(&self) {
        let change = commands("fence-accounts.md", "read -rs NEW");
        let changed = self.shell.typed(&change, &format!("new-{PASSWORD}\n{PASSWORD}\n"));
        assert_eq!(changed.code, 0, "{changed:?}");
        let name = "secret-fence-method-rack7";
        let both = self.secret(name);
        assert!(both["password.previous"].is_string() && both["password"] != both["password.previous"], "{both}");
        self.shell.run(&commands(
            "fence-accounts.md",
            "kubectl -n nodewell patch secret secret-fence-method-rack7 --type merge -p",
        ));
        assert_eq!(self.secret(name)["password.previous"], Value::Null);
    }
}
