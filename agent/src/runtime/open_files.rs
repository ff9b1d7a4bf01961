//! How many files the agent may have open: with too few it cannot take connections, open its journal or reach the API
//! server, and each of those fails in words of its own.

use std::io;

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

/// Raises the limit where it is too low for so many clients.
///
/// # Errors
/// It is so low that the agent would not live; where it is only tight the log has the same words.
pub fn allow(connections: usize) -> Result<(), TooFew> {
    let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let needed = OWN + u64::try_from(connections).unwrap_or(u64::MAX - OWN);
    let raised = raised(now, most, needed).and_then(|limit| match limit {
        None => Ok(()),
        Some(limit) => set(limit, most).map_err(|_| TooFew { most: now, needed }),
    });
    match raised {
        Err(too_few) if too_few.most >= LEAST => {
            tracing::warn!("{too_few}");
            Ok(())
        }
        raised => raised,
    }
}

fn set(limit: u64, most: u64) -> io::Result<()> {
    setrlimit(Resource::RLIMIT_NOFILE, limit, most).map_err(io::Error::from)
}

/// To what the limit is raised, if it has to be.
fn raised(now: u64, most: u64, needed: u64) -> Result<Option<u64>, TooFew> {
    match now >= needed {
        true => Ok(None),
        false if most >= needed => Ok(Some(needed)),
        false => Err(TooFew { most, needed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_raised_and_one_that_cannot_be_is_an_error() {
        assert_eq!(raised(1024, 1024, 384).unwrap(), None);
        assert_eq!(raised(256, 4096, 384).unwrap(), Some(384));
        let error = raised(20, 20, 384).unwrap_err().to_string();
        assert!(
            error.starts_with("20 files may be open (RLIMIT_NOFILE), and the agent needs 384: 192, and"),
            "{error}"
        );
    }
}
