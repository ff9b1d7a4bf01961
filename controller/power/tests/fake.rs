//! An API server that has ConfigMaps and Secrets, and nothing else.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use nodewell_reconcile::{
    cluster::{Cluster, Leadership, LeaseKind},
    failure::Failure,
};
use nodewell_remedy::{
    action::Telling,
    api::fence::NodeFence,
    facts::{Attachment, Budget, LeaseView, Node, Pod, PodRef, Taint},
};

type Texts = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub(crate) maps: Mutex<BTreeMap<String, Texts>>,
    pub(crate) secrets: Mutex<BTreeMap<String, BTreeMap<String, Vec<u8>>>>,
    pub(crate) down: Mutex<bool>,
}

impl Fake {
    pub(crate) fn map(&self, name: &str, key: &str, text: &str) {
        self.maps.lock().unwrap().entry(name.to_owned()).or_default().insert(key.to_owned(), text.to_owned());
    }

    pub(crate) fn secret_of(&self, name: &str, key: &str, value: &str) {
        let data = BTreeMap::from([(key.to_owned(), value.as_bytes().to_vec())]);
        self.secrets.lock().unwrap().insert(name.to_owned(), data);
    }

    fn answer<T>(&self, value: T) -> Result<T, Failure> {
        if *self.down.lock().unwrap() { none() } else { Ok(value) }
    }
}

fn none<T>() -> Result<T, Failure> {
    Err(Failure::NoAnswer("the API server is down".to_owned()))
}

impl Cluster for Fake {
    async fn config_map(&self, name: &str) -> Result<Option<Texts>, Failure> {
        self.answer(self.maps.lock().unwrap().get(name).cloned())
    }
    async fn secret(&self, name: &str) -> Result<Option<BTreeMap<String, Vec<u8>>>, Failure> {
        self.answer(self.secrets.lock().unwrap().get(name).cloned())
    }
    async fn node(&self, _: &str) -> Result<Option<Node>, Failure> {
        none()
    }
    async fn lease(&self, _: LeaseKind, _: &str) -> Result<Option<LeaseView>, Failure> {
        none()
    }
    async fn fence(&self, _: &str) -> Result<Option<NodeFence>, Failure> {
        none()
    }
    async fn pods_on(&self, _: &str) -> Result<Vec<Pod>, Failure> {
        none()
    }
    async fn pod(&self, _: &PodRef) -> Result<Option<Pod>, Failure> {
        none()
    }
    async fn attachments_on(&self, _: &str) -> Result<Vec<Attachment>, Failure> {
        none()
    }
    async fn budgets_of(&self, _: &Pod) -> Result<Vec<Budget>, Failure> {
        none()
    }
    async fn stopped(&self) -> Result<Option<String>, Failure> {
        none()
    }
    async fn open(&self, _: &NodeFence) -> Result<NodeFence, Failure> {
        none()
    }
    async fn save(&self, _: &NodeFence) -> Result<NodeFence, Failure> {
        none()
    }
    async fn close(&self, _: &NodeFence) -> Result<(), Failure> {
        none()
    }
    async fn taint(&self, _: &str, _: &str, _: &Taint) -> Result<bool, Failure> {
        none()
    }
    async fn untaint(&self, _: &str, _: &str, _: &Taint) -> Result<bool, Failure> {
        none()
    }
    async fn cordon(&self, _: &str, _: &str, _: &str) -> Result<bool, Failure> {
        none()
    }
    async fn uncordon(&self, _: &str, _: &str, _: &str) -> Result<bool, Failure> {
        none()
    }
    async fn evict(&self, _: &PodRef, _: Option<Duration>) -> Result<(), Failure> {
        none()
    }
    async fn delete_pod(&self, _: &PodRef, _: Option<Duration>) -> Result<(), Failure> {
        none()
    }
    async fn tell(&self, _: &str, _: &str, _: &Telling) {}
    async fn leadership(&self) -> Result<Option<Leadership>, Failure> {
        none()
    }
    async fn lead(&self, _: &Leadership) -> Result<Leadership, Failure> {
        none()
    }
}

/// A node of this name and machine.
pub(crate) fn node(name: &str, system_uuid: &str) -> Node {
    Node {
        name: name.into(),
        uid: format!("uid-of-{name}"),
        resource_version: "1".into(),
        boot_id: "boot".into(),
        system_uuid: system_uuid.into(),
        addresses: vec!["10.0.0.1".into()],
        ..Node::default()
    }
}
