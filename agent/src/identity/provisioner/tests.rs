//! Whose credentials the agent gets, run after run, on a machine in a folder.

use std::{fs, os::unix::fs::MetadataExt};

use proptest::prelude::*;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use tempfile::TempDir;

use super::*;
use crate::{
    config::Flags,
    identity::credentials::{Cluster, Secret},
};

struct Machine {
    root: TempDir,
    config: Config,
}

impl Machine {
    fn new(mode: IdentityMode) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut config = Config::of_flags(&Flags::default());
        config.node_name = "n1".to_owned();
        config.state_dir = Some(root.path().join("state"));
        config.identity.folder = root.path().join("identity");
        config.identity.mode = mode;
        fs::create_dir(root.path().join("state")).unwrap();
        Self { root, config }
    }

    async fn run(&self) -> Outcome {
        self.provisioner().run(Duration::ZERO).await.unwrap()
    }

    fn provisioner(&self) -> Provisioner {
        Provisioner::open(&self.config, self.root.path()).unwrap()
    }

    fn kubelet(&self, token: &str) -> std::path::PathBuf {
        let path = self.root.path().join("etc/kubernetes/kubelet.conf");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let secret = Secret { certificate: None, token: Some(token.to_owned()) };
        fs::write(&path, Credentials { cluster: cluster(), secret }.kubeconfig()).unwrap();
        path
    }

    fn own(&self, node: &str, until_year: i32) {
        let folder = Folder::open(&self.config.state_dir.as_ref().unwrap().join(PKI), Access::Private).unwrap();
        folder.replace(KUBECONFIG, own(node, until_year).kubeconfig().as_bytes()).unwrap();
    }

    fn published(&self) -> std::path::PathBuf {
        self.config.identity.folder.join(KUBECONFIG)
    }

    fn published_text(&self) -> String {
        fs::read_to_string(self.published()).unwrap_or_default()
    }
}

/// A port where no server listens: a request to it is refused at once.
fn cluster() -> Cluster {
    let (authority, tls_server_name, insecure_skip_tls_verify, proxy_url) = (None, None, None, None);
    Cluster { server: "http://127.0.0.1:1".to_owned(), authority, tls_server_name, insecure_skip_tls_verify, proxy_url }
}

fn own(node: &str, until_year: i32) -> Credentials {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, user_name(node));
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(until_year, 1, 1);
    let certificate = params.self_signed(&key).unwrap().pem().into_bytes();
    Credentials { cluster: cluster(), secret: Secret::of_certificate(certificate, key.serialize_pem().into_bytes()) }
}

#[tokio::test]
async fn the_kubelets_credentials_are_published_once_and_again_when_they_change() {
    let machine = Machine::new(IdentityMode::Auto);
    let path = machine.kubelet("first");
    let outcome = machine.run().await;
    assert_eq!((&outcome.published, outcome.changed), (&Published::Kubelet { path: path.clone() }, true));
    assert!(outcome.notes.is_empty() && machine.published_text().contains("first"), "{outcome:?}");
    let inode = fs::metadata(machine.published()).unwrap().ino();
    assert!(!machine.run().await.changed);
    assert_eq!(fs::metadata(machine.published()).unwrap().ino(), inode, "nothing is written while nothing changes");
    machine.kubelet("second");
    assert!(machine.run().await.changed);
    assert!(machine.published_text().contains("second"));
    assert_ne!(fs::metadata(machine.published()).unwrap().ino(), inode, "in one step, never half a file");
}

#[tokio::test]
async fn a_copy_does_not_outlive_its_original_but_one_that_cannot_be_read_just_now_stays() {
    let machine = Machine::new(IdentityMode::Auto);
    let path = machine.kubelet("first");
    machine.run().await;
    fs::write(&path, "half a kubeconf").unwrap();
    let outcome = machine.run().await;
    assert!(outcome.is_news && outcome.notes[0].contains("cannot be used"), "{outcome:?}");
    assert!(machine.published_text().contains("first"));
    assert!(!machine.run().await.is_news, "logged once");
    fs::remove_file(&path).unwrap();
    assert_eq!(machine.run().await.published, Published::Nobody);
    assert!(!machine.published().exists());
}

#[tokio::test]
async fn its_own_comes_first_while_it_is_good() {
    let machine = Machine::new(IdentityMode::Auto);
    let path = machine.kubelet("kubelets");
    machine.own("n1", 2090);
    assert!(matches!(machine.run().await.published, Published::Own { .. }));
    assert!(machine.published_text().contains("client-key-data"));
    machine.own("n1", 2021);
    let outcome = machine.run().await;
    assert_eq!(outcome.published, Published::Kubelet { path }, "over: the kubelet's meanwhile");
    // A renewal was tried: no server listens there.
    assert!(outcome.notes.iter().any(|note| note.contains("cannot ask for a certificate")), "{outcome:?}");
    assert!(machine.published_text().contains("kubelets"));
}

#[tokio::test]
async fn another_nodes_certificate_is_not_used() {
    let machine = Machine::new(IdentityMode::Auto);
    machine.kubelet("kubelets");
    machine.own("n2", 2090);
    let outcome = machine.run().await;
    assert!(matches!(outcome.published, Published::Kubelet { .. }));
    assert!(outcome.notes[0].contains("nodewell:node:n2's, and this is nodewell:node:n1"), "{outcome:?}");
}

#[tokio::test]
async fn what_cannot_be_read_of_its_own_is_reported_and_the_kubelets_used() {
    let machine = Machine::new(IdentityMode::Auto);
    machine.kubelet("kubelets");
    let folder = Folder::open(&machine.config.state_dir.as_ref().unwrap().join(PKI), Access::Private).unwrap();
    for junk in ["", "{", "apiVersion: v1"] {
        folder.replace(KUBECONFIG, junk.as_bytes()).unwrap();
        let outcome = machine.run().await;
        assert!(matches!(outcome.published, Published::Kubelet { .. }), "{junk:?}");
        assert!(outcome.notes[0].contains("nodewell enroll --renew"), "{outcome:?}");
    }
}

#[tokio::test]
async fn the_mode_decides() {
    let machine = Machine::new(IdentityMode::Kubelet);
    machine.kubelet("kubelets");
    machine.own("n1", 2090);
    assert!(matches!(machine.run().await.published, Published::Kubelet { .. }));
    let none = Machine { config: Config { standalone: true, ..machine.config.clone() }, ..machine };
    assert_eq!(none.run().await.published, Published::Nobody);
    assert!(!none.published().exists(), "what was published is removed");
}

#[tokio::test]
async fn no_certificate_is_requested_unless_configured() {
    let machine = Machine::new(IdentityMode::Auto);
    machine.kubelet("kubelets");
    assert!(machine.run().await.notes.is_empty());
    assert!(!machine.provisioner().enrolment().is_under_way().unwrap());
    let wished = Machine::new(IdentityMode::Enroll);
    wished.kubelet("kubelets");
    let outcome = wished.run().await;
    assert!(matches!(outcome.published, Published::Kubelet { .. }), "meanwhile");
    assert!(wished.provisioner().enrolment().is_under_way().unwrap(), "{outcome:?}");
}

#[tokio::test]
async fn a_machine_without_anything_is_quiet() {
    let outcome = Machine::new(IdentityMode::Auto).run().await;
    assert_eq!(outcome.published, Published::Nobody);
    assert!(!outcome.changed && outcome.notes.is_empty(), "{outcome:?}");
}

proptest! {
    #[test]
    fn renewal_is_never_before_seventy_percent_and_always_by_seventy_five(name in "[a-z0-9.-]{1,40}", days in 1_i64..4000) {
        let not_before: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let life = jiff::SignedDuration::from_hours(24 * days);
        let certificate = Certificate {
            common_name: user_name(&name),
            organizations: Vec::new(),
            not_before,
            not_after: not_before.checked_add(life).unwrap(),
            public_key: Vec::new(),
            has_alternative_names: false,
            is_for_clients: true,
        };
        let secret = Secret::default();
        let identity = NodeIdentity { credentials: Credentials { cluster: cluster(), secret }, certificate };
        let share = identity.renewal().duration_since(not_before).as_secs_f64() / life.as_secs_f64();
        prop_assert!((0.699_999..=0.750_001).contains(&share), "{share}");
    }
}

#[test]
fn nodes_that_were_enrolled_together_are_renewed_apart() {
    let renewals: std::collections::BTreeSet<Timestamp> = (0..1000)
        .map(|number| {
            let certificate = Certificate::read(&own_pem(&format!("worker-{number}"))).unwrap();
            let secret = Secret::default();
            NodeIdentity { credentials: Credentials { cluster: cluster(), secret }, certificate }.renewal()
        })
        .collect();
    assert!(renewals.len() > 950, "{} different ones", renewals.len());
}

fn own_pem(node: &str) -> Vec<u8> {
    own(node, 2090).secret.certificate.unwrap().certificate
}
