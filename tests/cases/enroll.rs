//! `nodewell enroll` and the root oneshot on the real server, with the controller that signs: from the kubelet's
//! credentials to an identity that can touch its own Node only, and on to its renewal.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
};

use nodewell_tests::{
    agent::{Agent, Plan},
    cli::{Outcome, binary, nodewell},
    cluster::{Call, Client, Cluster, Identity},
    real::RealServer,
    suite::{Need, Suite},
    wait::until,
};
use serde_json::{Value, json};

use crate::{api_conditions::wait_published, lines::OOPS};

/// What signs is one of its controllers.
const SIGNER: &[Need] = &[Need::ControllerManager];

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("enroll")
        .real_shared_with(
            SIGNER,
            "a_node_is_enrolled_and_the_agent_changes_over",
            a_node_is_enrolled_and_the_agent_changes_over,
        )
        .real_shared_with(SIGNER, "a_bootstrap_token_is_enough", a_bootstrap_token_is_enough)
        .real("a_denial_is_reported_and_not_asked_again", a_denial_is_reported_and_not_asked_again)
        .real_shared_with(SIGNER, "the_oneshot_enrols_by_itself_and_renews", the_oneshot_enrols_by_itself_and_renews)
        .real_alone(
            "a_node_that_joined_another_cluster_is_its_kubelet_again",
            a_node_that_joined_another_cluster_is_its_kubelet_again,
        )
        .real("who_may_not_ask_gets_an_error", who_may_not_ask_gets_an_error)
        .case("without_credentials_there_is_one_clear_line", without_credentials_there_is_one_clear_line);
}

/// A machine in the folder of an agent: its configuration names the kubelet's kubeconfig and folders of its own.
pub(crate) struct Machine {
    plan: Plan,
    node: String,
}

impl Machine {
    pub(crate) fn new(cluster: &Cluster, node: &str, mode: &str) -> Self {
        cluster.as_real().apply_manifests();
        cluster.create_node(node);
        let plan = Plan::new(node);
        let kubelet = cluster.kubeconfig(&Identity::Node(node.to_owned()));
        Self::with_kubelet(plan, node, mode, &kubelet)
    }

    fn with_kubelet(plan: Plan, node: &str, mode: &str, kubelet: &Value) -> Self {
        // Built now, if it must be: that takes longer than a case waits.
        let _ = binary("nodewell");
        let path = plan.file("kubelet.conf", &kubelet.to_string());
        let state = plan.folder().join("state");
        fs::create_dir(&state).unwrap();
        let plan = plan.config(&format!(
            "node-name = {node:?}\nstate-dir = {state:?}\n[identity]\nmode = {mode:?}\nkubelet-kubeconfig = {path:?}\nfolder = {:?}\n\
             certificate-lifetime = \"1h\"\n",
            state.parent().unwrap().join("identity"),
        ));
        Self { plan, node: node.to_owned() }
    }

    fn config(&self) -> PathBuf {
        self.plan.folder().join("nodewell.toml")
    }

    pub(crate) fn enroll(&self, more: &[&str]) -> Outcome {
        enroll(&self.config(), more)
    }

    /// One run of the root oneshot.
    fn oneshot(&self) -> Outcome {
        let config = self.config();
        nodewell(["identity".as_ref(), "--wait".as_ref(), "1s".as_ref(), "--config".as_ref(), config.as_os_str()])
    }

    fn own(&self) -> PathBuf {
        self.plan.folder().join("state/pki/kubeconfig")
    }

    fn published(&self) -> PathBuf {
        self.plan.folder().join("identity/kubeconfig")
    }

    fn published_client(&self) -> Client {
        Client::new(&read(&self.published()))
    }
}

fn enroll(config: &Path, more: &[&str]) -> Outcome {
    let config = config.to_string_lossy().into_owned();
    let mut args = vec!["enroll", "--config", &config];
    args.extend(more);
    nodewell(args)
}

fn read(kubeconfig: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(kubeconfig).unwrap()).unwrap()
}

fn whoami(client: &Client) -> String {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let (_, answer) = client.call(&Call::post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review));
    answer["status"]["userInfo"]["username"].as_str().unwrap_or_default().to_owned()
}

/// The request of `node` that no approver has judged yet, as an administrator finds it.
fn request_of(server: &RealServer, node: &str) -> Value {
    let list = ["get", "csr", "-l", "app.kubernetes.io/name=nodewell", "-o", "json"];
    until("the request is there", || {
        let found: Value = serde_json::from_str(&server.kubectl(&list).stdout).ok()?;
        let open = |request: &&Value| {
            let name = request["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with(&format!("nodewell-{node}-")) && request["status"]["conditions"].is_null()
        };
        found["items"].as_array()?.iter().find(open).cloned()
    })
}

fn approve(server: &RealServer, request: &Value) {
    let name = request["metadata"]["name"].as_str().unwrap();
    let outcome = server.kubectl(&["certificate", "approve", name]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

/// Its output is shown if the case fails.
fn meanwhile(work: impl FnOnce() -> Outcome + Send + 'static) -> JoinHandle<Outcome> {
    thread::spawn(|| {
        let outcome = work();
        eprintln!("nodewell enroll: {outcome:?}");
        outcome
    })
}

fn a_node_is_enrolled_and_the_agent_changes_over(cluster: &Cluster) {
    let server = cluster.as_real();
    let _signer = server.start_signer();
    let machine = Machine::new(cluster, "enroll-me", "auto");
    // The kubelet's first: what the oneshot copies at the agent's start.
    assert_eq!(machine.oneshot().code, 0);
    assert_eq!(whoami(&machine.published_client()), "system:node:enroll-me");
    let config = machine.config();
    let enrolling = meanwhile(move || enroll(&config, &["--timeout", "60s", "--json"]));
    let request = request_of(server, "enroll-me");
    assert_eq!(request["spec"]["username"], "system:node:enroll-me");
    assert_eq!(request["spec"]["signerName"], "kubernetes.io/kube-apiserver-client");
    assert_eq!(request["spec"]["usages"], json!(["digital signature", "client auth"]));
    approve(server, &request);
    let outcome = enrolling.join().unwrap();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let reported = outcome.json();
    assert_eq!((&reported["state"], &reported["user"]), (&json!("enrolled"), &json!("nodewell:node:enroll-me")));

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&machine.own()), mode(machine.own().parent().unwrap())), (0o600, 0o700));
    assert!(!machine.own().with_file_name("pending.json").exists());
    let own = machine.published_client();
    assert_eq!(whoami(&own), "nodewell:node:enroll-me");
    assert_eq!(own.call(&Call::get("/api/v1/nodes/enroll-me")).0, 403, "less than the kubelet may");
    // Again: there is nothing to do. And the oneshot leaves it as it is.
    let again = machine.enroll(&["--json"]);
    assert_eq!((again.code, &again.json()["state"]), (0, &json!("enrolled")));
    let before = fs::read(machine.published()).unwrap();
    assert_eq!(machine.oneshot().code, 0);
    assert_eq!(fs::read(machine.published()).unwrap(), before);
    agent_works_with_it(cluster, machine);
}

/// The agent finds the copied credentials by itself, and does its work with them.
fn agent_works_with_it(cluster: &Cluster, machine: Machine) {
    let Machine { plan, node } = machine;
    let agent: Agent = plan.with_identity().start();
    wait_published(cluster, &node, "KernelUnhealthy", "False");
    agent.kmsg().write(OOPS);
    wait_published(cluster, &node, "KernelUnhealthy", "True");
    until("its Event is there", || (!cluster.events(&node, "KernelOops").is_empty()).then_some(()));
}

fn a_bootstrap_token_is_enough(cluster: &Cluster) {
    let server = cluster.as_real();
    let _signer = server.start_signer();
    server.apply_manifests();
    let (id, secret) = ("nodewl", "0123456789abcdef");
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": { "name": format!("bootstrap-token-{id}"), "namespace": "kube-system" },
        "stringData": { "token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:nodewell" },
    });
    let (code, answer) = cluster.admin(&Call::post("/api/v1/namespaces/kube-system/secrets", &object));
    assert_eq!(code, 201, "{answer}");
    cluster.create_node("by-token");
    // No kubelet's kubeconfig on this machine.
    let machine = Machine::with_kubelet(Plan::new("by-token"), "by-token", "auto", &json!({}));
    let address = cluster.kubeconfig(&Identity::Admin)["clusters"][0]["cluster"]["server"].clone();
    let (token, authority) = (format!("{id}.{secret}"), server.authority().display().to_string());
    let asker = cluster.client(&Identity::Bearer(token.clone()));
    let none = Call::get("/apis/certificates.k8s.io/v1/certificatesigningrequests/none");
    until("the token and its role are in force", || (asker.call(&none).0 == 404).then_some(()));
    let (config, address) = (machine.config(), address.as_str().unwrap().to_owned());
    let enrolling = meanwhile(move || {
        let way = ["--token", &token, "--server", &address, "--certificate-authority", &authority, "--timeout", "60s"];
        enroll(&config, &way)
    });
    approve(server, &request_of(server, "by-token"));
    let outcome = enrolling.join().unwrap();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("kubectl certificate approve nodewell-by-token-"), "{outcome:?}");
    assert_eq!(whoami(&machine.published_client()), "nodewell:node:by-token");
}

fn a_denial_is_reported_and_not_asked_again(cluster: &Cluster) {
    let server = cluster.as_real();
    let machine = Machine::new(cluster, "denied-node", "auto");
    let waiting = machine.enroll(&["--timeout", "1s"]);
    assert_eq!(waiting.code, 75, "{waiting:?}");
    let request = request_of(server, "denied-node");
    let name = request["metadata"]["name"].as_str().unwrap();
    assert_eq!(server.kubectl(&["certificate", "deny", name]).code, 0);
    let oneshot = machine.oneshot();
    assert!(oneshot.code == 0 && oneshot.stderr.contains("was refused (Denied"), "{oneshot:?}");
    assert_eq!(whoami(&machine.published_client()), "system:node:denied-node", "the kubelet's meanwhile");
    assert!(!machine.oneshot().stderr.contains("refused"), "logged once");
    // A person who asks again gets a new request.
    assert_eq!(machine.enroll(&["--timeout", "1s"]).code, 75);
    assert_ne!(request_of(server, "denied-node")["metadata"]["name"], request["metadata"]["name"]);
}

fn the_oneshot_enrols_by_itself_and_renews(cluster: &Cluster) {
    let server = cluster.as_real();
    let _signer = server.start_signer();
    let machine = Machine::new(cluster, "by-itself", "enroll");
    let first = machine.oneshot();
    assert!(first.code == 0 && first.stderr.contains("waits for approval"), "{first:?}");
    approve(server, &request_of(server, "by-itself"));
    let enrolled = || {
        assert_eq!(machine.oneshot().code, 0);
        (whoami(&machine.published_client()) == "nodewell:node:by-itself").then_some(())
    };
    until("it is enrolled", enrolled);
    // What it has is old now: as after 70 % of its life. A new one is asked for, and the old one serves on.
    let before = fs::read_to_string(machine.own()).unwrap();
    let old = server.certificate("nodewell:node:by-itself", "nodewell:nodes", -80..20);
    let mut kubeconfig = read(&machine.own());
    kubeconfig["users"][0]["user"] = old;
    fs::write(machine.own(), kubeconfig.to_string()).unwrap();
    let due = machine.oneshot();
    assert!(due.stderr.contains("waits for approval"), "{due:?}");
    assert_eq!(whoami(&machine.published_client()), "nodewell:node:by-itself", "the old one serves on");
    let published = fs::read_to_string(machine.published()).unwrap();
    approve(server, &request_of(server, "by-itself"));
    until("the new one is published", || {
        assert_eq!(machine.oneshot().code, 0);
        (fs::read_to_string(machine.published()).unwrap() != published).then_some(())
    });
    assert_ne!(fs::read_to_string(machine.own()).unwrap(), before, "with a new key");
    assert_eq!(whoami(&machine.published_client()), "nodewell:node:by-itself");
}

/// It was enrolled in the cluster that all cases share, and its kubelet is in this one now.
fn a_node_that_joined_another_cluster_is_its_kubelet_again(cluster: &Cluster) {
    let node = "moved-node";
    let machine = Machine::new(cluster, node, "auto");
    let before = RealServer::shared().kubeconfig(&Identity::Agent(node.to_owned()));
    assert_eq!(machine.oneshot().code, 0);
    fs::write(machine.own(), before.to_string()).unwrap();
    let outcome = machine.oneshot();
    assert!(outcome.stderr.contains("it is another cluster's, and not used; enroll again"), "{outcome:?}");
    assert_eq!(whoami(&machine.published_client()), "system:node:moved-node");
    // While the server is away nothing is decided.
    cluster.stop();
    assert!(!machine.oneshot().stderr.contains("another cluster's"));
}

fn who_may_not_ask_gets_an_error(cluster: &Cluster) {
    let machine = Machine::new(cluster, "may-not-ask", "auto");
    let ask_as = |identity: &Identity| {
        let path = machine.plan.file("asker.conf", &cluster.kubeconfig(identity).to_string());
        machine.enroll(&["--bootstrap-kubeconfig", &path.to_string_lossy()])
    };
    let stranger = ask_as(&Identity::Stranger);
    assert!(stranger.code == 77 && stranger.stderr.contains("nodewell-enroll.yaml"), "{stranger:?}");
    let unknown = ask_as(&Identity::Unknown);
    assert!(unknown.code == 77 && unknown.stderr.contains("have expired, or are another cluster's"), "{unknown:?}");
    // The agent's own identity cannot ask for more of its kind.
    assert_eq!(ask_as(&Identity::Agent("may-not-ask".to_owned())).code, 77);
}

fn without_credentials_there_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("state")).unwrap();
    let config = folder.path().join("nodewell.toml");
    let text = |kubelet: &Path| {
        format!(
            "state-dir = {:?}\n[identity]\nfolder = {:?}\nkubelet-kubeconfig = {kubelet:?}\n",
            folder.path().join("state"),
            folder.path().join("identity")
        )
    };
    fs::write(&config, text(&folder.path().join("none"))).unwrap();
    let outcome = enroll(&config, &[]);
    assert!(outcome.code == 66 && outcome.stderr.lines().count() == 1, "{outcome:?}");
    let nowhere = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": "http://127.0.0.1:1" } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
    });
    let kubelet = folder.path().join("kubelet.conf");
    fs::write(&kubelet, nowhere.to_string()).unwrap();
    fs::write(&config, text(&kubelet)).unwrap();
    let outcome = enroll(&config, &[]);
    assert!(outcome.code == 69 && outcome.stderr.lines().count() == 1, "{outcome:?}");
    // Half a configuration is an error with its line, before anything is asked.
    fs::write(&config, "[identity]\nmode = \"mine\"\n").unwrap();
    let outcome = enroll(&config, &[]);
    assert!(outcome.code == 78 && outcome.stderr.contains("nodewell.toml:2: "), "{outcome:?}");
    assert_eq!(enroll(&config, &["--token", "x"]).code, 64, "a token needs a server");
}
