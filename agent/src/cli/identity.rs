//! `nodewell identity`: one look after this node's credentials, for `nodewell-identity.service`. It speaks to the journal.

use super::error::{CommandError, SOFTWARE};
use crate::{config::Config, identity::IdentityFlags, runtime::program::close_memory};

pub(super) async fn run(flags: &IdentityFlags) -> Result<(), CommandError> {
    nodewell_journal::init("nodewell", "info");
    close_memory();
    let config = Config::load(&flags.of_config()).map_err(|diagnostics| CommandError::configuration(&diagnostics))?;
    flags.run(&config).await.map_err(|error| CommandError::new(SOFTWARE, error.to_string()))
}
