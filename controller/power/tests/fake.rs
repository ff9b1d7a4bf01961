//! An API server that has ConfigMaps and Secrets, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Mutex,
};

use nodewell_reconcile::{
    api_error::ApiError,
    cluster::{Configuration, Secret},
};
use nodewell_remediation::facts::Node;

type Texts = BTreeMap<String, String>;

#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub(crate) maps: Mutex<BTreeMap<String, Texts>>,
    pub(crate) secrets: Mutex<BTreeMap<String, BTreeMap<String, Vec<u8>>>>,
    pub(crate) down: Mutex<bool>,
    /// ConfigMaps and Secrets that it has no answer about.
    pub(crate) unanswered: Mutex<BTreeSet<String>>,
    /// Questions for Secrets get no answer at all.
    pub(crate) is_hanging: Mutex<bool>,
}

impl Fake {
    pub(crate) fn map(&self, name: &str, key: &str, text: &str) {
        self.maps.lock().unwrap().entry(name.to_owned()).or_default().insert(key.to_owned(), text.to_owned());
    }

    pub(crate) fn secret_of(&self, name: &str, key: &str, value: &str) {
        self.bound(name, key, value, &format!("pdu 127.0.0.1 ::1 {}", self.ports().join(" ")));
    }

    /// Those of this host that ConfigMaps name, as Secrets are bound to them.
    fn ports(&self) -> Vec<String> {
        let maps = self.maps.lock().unwrap();
        let lines = maps.values().flat_map(BTreeMap::values).flat_map(|text| text.lines());
        let ports = lines.filter_map(|line| line.strip_prefix("ipport="));
        ports.map(|port| format!("127.0.0.1:{port} [::1]:{port}")).collect()
    }

    /// A Secret of n1 and n2 that goes to these addresses only.
    pub(crate) fn bound(&self, name: &str, key: &str, value: &str, address: &str) {
        let pairs = [(key, value), ("address", address), ("node", "n1 n2")];
        let data = pairs.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).into();
        self.secrets.lock().unwrap().insert(name.to_owned(), data);
    }

    fn answer<T>(&self, value: T) -> Result<T, ApiError> {
        if *self.down.lock().unwrap() {
            Err(ApiError::NoAnswer("the API server is down".to_owned()))
        } else {
            Ok(value)
        }
    }

    fn answer_about<T>(&self, name: &str, value: T) -> Result<T, ApiError> {
        if self.unanswered.lock().unwrap().contains(name) {
            return Err(ApiError::NoAnswer(format!("no answer about {name}")));
        }
        self.answer(value)
    }
}

impl Configuration for Fake {
    async fn config_map(&self, name: &str) -> Result<Option<Texts>, ApiError> {
        self.answer_about(name, self.maps.lock().unwrap().get(name).cloned())
    }

    async fn secret(&self, name: &str) -> Result<Option<Secret>, ApiError> {
        if *self.is_hanging.lock().unwrap() {
            return std::future::pending().await;
        }
        let data = self.secrets.lock().unwrap().get(name).cloned();
        let version = |data: &BTreeMap<String, Vec<u8>>| {
            let mut hasher = DefaultHasher::new();
            data.hash(&mut hasher);
            hasher.finish().to_string()
        };
        self.answer_about(name, data.map(|data| Secret { version: version(&data), data }))
    }

    async fn stopped(&self) -> Result<Option<String>, ApiError> {
        self.answer(None)
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
