//! What people configure in the controller's namespace.

use std::{collections::BTreeMap, future::Future};

use crate::api_error::ApiError;

/// A Secret, decoded. It is no `Debug`.
#[derive(Clone)]
pub struct Secret {
    /// Another one for each change of it; no secret itself.
    pub version: String,
    pub data: BTreeMap<String, Vec<u8>>,
}

/// ConfigMaps, Secrets and the kill switch.
pub trait Configuration {
    /// `data` of a ConfigMap.
    fn config_map(&self, name: &str) -> impl Future<Output = Result<Option<BTreeMap<String, String>>, ApiError>>;
    fn secret(&self, name: &str) -> impl Future<Output = Result<Option<Secret>, ApiError>>;
    /// The kill switch, read right before each irreversible act: a reason if everything is to stop.
    fn stopped(&self) -> impl Future<Output = Result<Option<String>, ApiError>>;
}
