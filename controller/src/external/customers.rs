//! Which `NodeHealthCheck` has asked for which node, by its own word: see [`nodewell_remediation::external::customer`].

use nodewell_remediation::{
    external::{
        customer::{self, health_check},
        request::Request,
    },
    snapshot::Customer,
};
use serde_json::Value;

use crate::kube::{Wire, escaped};

/// The customer that `request` makes of its owner for `node`; nothing of a request that no `NodeHealthCheck` made.
pub(super) async fn of(wire: &Wire, request: &Request, node: &str) -> Option<Result<Customer, String>> {
    let owner = health_check(request)?;
    let path = format!("/apis/{}/nodehealthchecks/{}", owner.api_version, escaped(&owner.name));
    Some(match wire.get::<Value>(&path).await {
        Ok(Some(stored)) => customer::proven(request, owner, &stored, node),
        Ok(None) => Err(format!("NodeHealthCheck {} is not there", owner.name)),
        Err(error) => Err(format!("NodeHealthCheck {} cannot be read: {error}", owner.name)),
    })
}
