//! One report on its way: given an id, and sent again while the agent restarts or is overloaded.

use std::{
    io::{self, Write},
    time::Duration,
};

use nodewell_client::{Client, ClientError, random};
use nodewell_model::api::AcceptedView;
use nodewell_time::Backoff;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::cli::render::one_line;

/// Between two tries.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));

/// Sends reports to one agent.
pub(super) struct Sender<'a> {
    client: &'a Client,
    wait: Duration,
}

impl<'a> Sender<'a> {
    pub(super) fn new(client: &'a Client, wait: Duration) -> Self {
        Self { client, wait }
    }

    /// Sends a report or an array of them. Each has its id from here on, so that a second try counts nothing twice.
    pub(super) async fn send(&self, mut reports: Value) -> Result<AcceptedView, ClientError> {
        match &mut reports {
            Value::Array(batch) => batch.iter_mut().for_each(name),
            one => name(one),
        }
        let deadline = Instant::now() + self.wait;
        let mut pauses = PAUSES;
        let mut may_be_second = false;
        loop {
            let error = match self.client.post::<_, AcceptedView>("/v1/status", &reports).await {
                Err(error) if error.is_temporary() => error,
                Ok(mut accepted) => {
                    // An earlier try, whose answer was lost, may have ended what is not known any more.
                    if may_be_second {
                        accepted.warning.clear();
                    }
                    warn(&accepted.warning);
                    return Ok(accepted);
                }
                refused => return refused,
            };
            may_be_second |= matches!(error, ClientError::Timeout { .. } | ClientError::Broken { .. });
            let pause = pauses.pause();
            let next = Instant::now() + error.retry_after().unwrap_or(pause);
            if next > deadline {
                return Err(error);
            }
            sleep_until(next).await;
        }
    }
}

fn warn(warning: &str) {
    if !warning.is_empty() {
        // Without stderr there is nowhere to write to.
        let _ = writeln!(io::stderr(), "warning: {}", one_line(warning));
    }
}

fn name(report: &mut Value) {
    if let Value::Object(fields) = report {
        fields.entry("id").or_insert_with(|| Value::from(format!("{:016x}", random())));
    }
}
