//! Takes our conditions off the Node, for an agent that leaves its machine.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::object;
use crate::exporters::apiserver::{
    ApiserverConfig,
    connection::{Connection, RequestError},
};

/// Between two attempts to withdraw from a server that is busy: it has seconds, not minutes.
const WITHDRAW_AGAIN: Duration = Duration::from_millis(300);

/// The Node could not be freed of our conditions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot withdraw our conditions from Node {node:?}: {reason}")]
pub struct WithdrawError {
    node: String,
    reason: String,
}

/// Removes all our conditions from the Node by applying none, for the removal of the package. A server that fails is
/// asked again until the caller gives up. A Node that is gone has no conditions of ours.
pub async fn withdraw(config: &ApiserverConfig) -> Result<(), WithdrawError> {
    let connection = Connection::new(config.client_source.clone(), config.request_timeout, Arc::default());
    let call = object::apply_conditions(&config.node_name, &object::ApplyPatch::new(), false);
    loop {
        match connection.send(&call).await {
            Ok(_) | Err(RequestError::Missing(_)) => return Ok(()),
            Err(RequestError::Busy { .. } | RequestError::ServerError { .. } | RequestError::NotTheServer { .. }) => {
                sleep(WITHDRAW_AGAIN).await;
            }
            Err(error) => return Err(WithdrawError { node: config.node_name.clone(), reason: error.to_string() }),
        }
    }
}
