//! What people configure in the controller's namespace.

use std::{collections::BTreeMap, future::Future};

use crate::api_error::ApiError;

/// ConfigMaps, Secrets and the kill switch.
pub trait Configuration {
    /// `data` of a ConfigMap.
    fn config_map(&self, name: &str) -> impl Future<Output = Result<Option<BTreeMap<String, String>>, ApiError>>;
    /// `data` of a Secret, decoded.
    fn secret(&self, name: &str) -> impl Future<Output = Result<Option<BTreeMap<String, Vec<u8>>>, ApiError>>;
    /// The kill switch, read right before each irreversible act: a reason if everything is to stop.
    fn stopped(&self) -> impl Future<Output = Result<Option<String>, ApiError>>;
}
