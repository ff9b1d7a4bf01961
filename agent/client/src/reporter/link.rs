//! One keep-alive connection for reports, opened again when it is gone.

use nodewell_model::{Status, api::AcceptedView};
use tokio::time::timeout;

use crate::{Client, ClientError, connection::Connection};

/// Where reports go.
const TARGET: &str = "/v1/status";

/// The way to the agent.
pub(super) struct Link {
    client: Client,
    connection: Option<Connection>,
}

impl Link {
    pub(super) fn new(client: Client) -> Self {
        Self { client, connection: None }
    }

    /// Sends `report` and reads the answer. An agent ends connections that were idle: one that turns out to be gone is
    /// no failure, the report has its id and may be sent again.
    pub(super) async fn send(&mut self, report: &Status) -> Result<AcceptedView, ClientError> {
        let body = serde_json::to_vec(report).map_err(ClientError::Request)?;
        let limit = self.client.timeout;
        let sent = timeout(limit, async {
            if let Some(mut connection) = self.connection.take() {
                match self.client.post_on(&mut connection, TARGET, body.clone()).await {
                    Err(ClientError::Broken { .. }) => {}
                    answered => return self.put_back(connection, answered),
                }
            }
            let mut connection = Connection::open(&self.client.path).await?;
            let answered = self.client.post_on(&mut connection, TARGET, body).await;
            self.put_back(connection, answered)
        });
        match sent.await {
            Ok(answered) => answered,
            Err(_) => Err(ClientError::Timeout { path: self.client.path.clone(), after: limit }),
        }
    }

    fn put_back(
        &mut self,
        connection: Connection,
        answered: Result<AcceptedView, ClientError>,
    ) -> Result<AcceptedView, ClientError> {
        if matches!(answered, Ok(_) | Err(ClientError::Status { .. })) {
            self.connection = Some(connection);
        }
        answered
    }
}
