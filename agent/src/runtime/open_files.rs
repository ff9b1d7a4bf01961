//! How many files the agent may have open: with too few it cannot take connections, open its journal or reach the API
//! server, and each of those fails in words of its own.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Beside the clients of its socket. An idle agent has some 30, and one for each file of the journal.
const OWN: u64 = 192;
/// With fewer it does not even serve its socket, and systemd's watchdog would end it again and again.
const LEAST: u64 = 64;

/// The limit on open files is too low, and cannot be raised.
#[derive(Debug, thiserror::Error)]
#[error(
    "{most} files may be open (RLIMIT_NOFILE), and the agent needs {needed}: {OWN}, and one for each of `[socket] \
     connections`; set LimitNOFILE=1024 in `systemctl edit nodewell`, or start it from a shell with `ulimit -n 1024`"
)]
pub struct TooFew {
    most: u64,
    needed: u64,
}

/// Raises the limit where it is too low for so many clients, as far as that may be.
///
/// # Errors
/// It stays so low that the agent would not live; where it is only tight the log has the same words.
pub fn allow(connections: usize) -> Result<(), TooFew> {
    let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let needed = OWN + u64::try_from(connections).unwrap_or(u64::MAX - OWN);
    let wanted = needed.min(most);
    // Where it may not be raised it stays.
    let is_raised = now < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, most).is_ok();
    match enough(if is_raised { wanted } else { now }, needed) {
        Err(too_few) if too_few.most >= LEAST => {
            tracing::warn!("{too_few}");
            Ok(())
        }
        judged => judged,
    }
}

fn enough(most: u64, needed: u64) -> Result<(), TooFew> {
    if most >= needed { Ok(()) } else { Err(TooFew { most, needed }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_are_named_with_what_is_needed() {
        assert!(enough(224, 224).is_ok());
        let error = enough(20, 224).unwrap_err().to_string();
        assert!(
            error.starts_with("20 files may be open (RLIMIT_NOFILE), and the agent needs 224: 192, and"),
            "{error}"
        );
    }
}
