//! One connection to a bus, with a deadline for everything.

use std::{future::Future, time::Duration};

use tokio::{sync::Mutex, time::timeout};
use zbus::{Connection, Message, connection::Builder};

use super::error::BusError;

/// The destination of every call.
const DESTINATION: &str = "org.freedesktop.systemd1";

/// Connects when it has to.
#[derive(Debug)]
pub(super) struct Bus {
    address: String,
    deadline: Duration,
    /// `None` before the first call and after an error. A caller that connects lets the others wait.
    connection: Mutex<Option<Connection>>,
}

/// What is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Method<'a> {
    pub(super) object: &'a str,
    pub(super) interface: &'static str,
    pub(super) name: &'static str,
}

impl Bus {
    pub(super) fn new(address: &str, deadline: Duration) -> Self {
        Self { address: address.to_owned(), deadline, connection: Mutex::default() }
    }

    /// Calls, and returns the reply; an error reply is an error.
    pub(super) async fn call<B>(&self, method: Method<'_>, body: &B) -> Result<Message, BusError>
    where
        B: serde::Serialize + zbus::DynamicType,
    {
        let Method { object, interface, name } = method;
        let exchange = async {
            let connection = self.connected(name).await?;
            let called = connection.call_method(Some(DESTINATION), object, Some(interface), name, body).await;
            called.map_err(|error| BusError::of_call(name, error))
        };
        let outcome = self.within(name, exchange).await;
        if outcome.as_ref().is_err_and(BusError::ends_connection) {
            // A late reply would have no receiver.
            self.hang_up();
        }
        outcome
    }

    async fn within<R>(
        &self,
        method: &'static str,
        work: impl Future<Output = Result<R, BusError>>,
    ) -> Result<R, BusError> {
        timeout(self.deadline, work).await.unwrap_or(Err(BusError::NoAnswer { method, after: self.deadline }))
    }

    async fn connected(&self, method: &'static str) -> Result<Connection, BusError> {
        let mut held = self.connection.lock().await;
        if let Some(connection) = held.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        let built = Builder::address(self.address.as_str()).build();
        // Half of it: the other callers that wait for the connection have a deadline too.
        let connection = timeout(self.deadline / 2, built)
            .await
            .map_err(|_| BusError::NoAnswer { method, after: self.deadline / 2 })?
            .map_err(|error| BusError::of_connect(&self.address, &error))?;
        Ok(held.insert(connection).clone())
    }

    fn hang_up(&self) {
        // A caller that connects at this moment has a fresh one.
        if let Ok(mut held) = self.connection.try_lock() {
            *held = None;
        }
    }
}
