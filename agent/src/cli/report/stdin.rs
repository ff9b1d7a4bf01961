//! `nodewell report --stdin`: each JSON value is sent as soon as it is whole, so that a pipe may stay open.

use serde_json::{Deserializer, Value};

use super::{super::error::USAGE, CommandError, Out, Output, Sender};

/// Defaults for the reports that lack these fields.
pub(super) struct Defaults {
    pub(super) source: String,
    pub(super) ttl_secs: Option<u64>,
}

/// Sends everything from standard input; ends with the first that is not taken.
pub(super) async fn send_all(
    sender: &Sender<'_>,
    defaults: &Defaults,
    output: Output,
    out: &mut Out,
) -> Result<(), CommandError> {
    // Nothing else happens in this process while it waits for input.
    let values = Deserializer::from_reader(std::io::stdin().lock()).into_iter::<Value>();
    for (n, value) in (1..).zip(values) {
        let mut value = value.map_err(|error| {
            let wanted = "it takes a report, an array of reports, or one report after the other";
            CommandError::new(USAGE, format!("value {n} on standard input is not JSON: {error}; {wanted}"))
        })?;
        defaults.fill(&mut value);
        let accepted = sender.send(value).await?;
        if let Some(form) = output.document() {
            out.row(form, &accepted)?;
            out.flush()?;
        }
    }
    Ok(())
}

impl Defaults {
    fn fill(&self, value: &mut Value) {
        match value {
            Value::Array(batch) => batch.iter_mut().for_each(|one| self.fill(one)),
            Value::Object(fields) => {
                fields.entry("source").or_insert_with(|| Value::from(self.source.as_str()));
                self.ttl_secs.into_iter().for_each(|secs| _ = fields.entry("ttl").or_insert_with(|| Value::from(secs)));
            }
            _ => {}
        }
    }
}
