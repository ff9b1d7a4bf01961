//! Whether a BMC listens for IPMI, by the question that needs no session: Get Channel Authentication Capabilities (IPMI 2.0 §22.13,
//! command 0x38 of the application function). Every BMC answers it, and one that does not was sent no account by `ipmitool` either.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use tokio::{
    net::{UdpSocket, lookup_host},
    time::timeout,
};

use super::Unanswered;
use crate::agent::Options;

const DEFAULT_PORT: &str = "623";
/// As `ipmitool` repeats it.
const AGAIN: Duration = Duration::from_secs(1);
/// RMCP (version, sequence, class), no session (type, sequence, id), nine bytes: to the BMC, by the application function, their
/// checksum; from a console, 0x38, of this channel in IPMI 2.0 as an administrator, their checksum.
const QUESTION: [u8; 23] = [
    0x06, 0x00, 0xff, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x20, 0x18, 0xc8, 0x81, 0x00,
    0x38, 0x8e, 0x04, 0xb5,
];
/// RMCP, version 1.0.
const ANSWER_BEGINS: u8 = 0x06;

/// Beside `ipmitool`, which asks this first, too: once there is an answer, the account is under way. Never ends.
pub(super) async fn note_sent(options: &Options, unanswered: &Unanswered) -> Infallible {
    if is_there(options).await.is_some() {
        unanswered.sent();
    }
    std::future::pending().await
}

/// Ends when the BMC answers; nothing if it cannot be asked.
async fn is_there(options: &Options) -> Option<()> {
    let given = |name: &str| options.values.get(name).map(|value| value.trim());
    let host = given("ip")?.trim_start_matches('[').trim_end_matches(']');
    let port: u16 = given("ipport").unwrap_or(DEFAULT_PORT).parse().ok()?;
    let address = lookup_host((host, port)).await.ok()?.next()?;
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any.parse::<SocketAddr>().ok()?).await.ok()?;
    socket.connect(address).await.ok()?;
    let mut buffer = [0; 64];
    loop {
        // A closed port is an error of the next call, and may be open a second later.
        let _ = socket.send(&QUESTION).await;
        let heard = async {
            while !matches!(socket.recv(&mut buffer).await, Ok(1..) if buffer[0] == ANSWER_BEGINS) {
                tokio::task::yield_now().await;
            }
        };
        if timeout(AGAIN, heard).await.is_ok() {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(port: u16) -> Options {
        let values = [("ip", "127.0.0.1".to_owned()), ("ipport", port.to_string())];
        Options { values: values.map(|(name, value)| (name.to_owned(), value)).into(), secrets: Vec::new() }
    }

    async fn until_sent(port: u16, unanswered: &Unanswered, limit: Duration) -> bool {
        let options = options(port);
        let seen = async {
            while !unanswered.is_set() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            never = note_sent(&options, unanswered) => match never {},
            seen = timeout(limit, seen) => seen.is_ok(),
        }
    }

    #[tokio::test]
    async fn an_account_is_sent_to_a_bmc_that_listens() {
        let bmc = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = bmc.local_addr().unwrap().port();
        let answers = tokio::spawn(async move {
            let mut question = [0; 64];
            // The first one is lost.
            bmc.recv_from(&mut question).await.unwrap();
            let (count, from) = bmc.recv_from(&mut question).await.unwrap();
            assert_eq!(question[..count], QUESTION);
            bmc.send_to(&[0x06, 0x00, 0xff, 0x07], from).await.unwrap();
        });
        assert!(until_sent(port, &Unanswered::default(), Duration::from_secs(30)).await);
        answers.await.unwrap();
    }

    #[tokio::test]
    async fn no_account_is_sent_to_a_bmc_that_is_away() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        assert!(!until_sent(port, &Unanswered::default(), Duration::from_millis(1500)).await);
        let junk = tokio::spawn(async move {
            while let Ok((_, from)) = silent.recv_from(&mut [0; 64]).await {
                let _ = silent.send_to(&[0x00, 0x06], from).await;
            }
        });
        assert!(!until_sent(port, &Unanswered::default(), Duration::from_millis(1500)).await, "it is no BMC");
        junk.abort();
        let _ = junk.await;
        assert!(!until_sent(port, &Unanswered::default(), Duration::from_millis(1500)).await, "a closed port");
    }

    #[test]
    fn the_questions_sums_are_right() {
        for part in [&QUESTION[14..17], &QUESTION[17..]] {
            assert_eq!(part.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
        }
    }
}
