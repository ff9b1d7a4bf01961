//! Messages of crash kernels.

use std::{net::UdpSocket, time::Duration};

use nodewell_power::kdump::{Dumps, Listener, is_message};
use nodewell_remedy::time::Moment;

use super::fake::node;

#[tokio::test]
async fn messages_of_many_senders_are_told_apart_by_their_address() {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let to = listener.address().unwrap();
    let mut message = 0x1B30_2A40_u32.to_ne_bytes().to_vec();
    message.extend(1_u32.to_ne_bytes());
    for from in ["127.0.0.2:0", "127.0.0.3:0"] {
        let sender = UdpSocket::bind(from).unwrap();
        sender.send_to(b"", to).unwrap();
        sender.send_to(&message[..7], to).unwrap();
        sender.send_to(&[&message[..], b"x"].concat(), to).unwrap();
        sender.send_to(&message, to).unwrap();
        let heard = tokio::time::timeout(Duration::from_secs(5), listener.next()).await.unwrap().unwrap();
        assert_eq!(heard.to_string(), from.trim_end_matches(":0"));
    }
}

#[test]
fn only_the_one_message_is_one_in_either_order() {
    let of = |magic: u32, version: u32| [magic.to_be_bytes(), version.to_be_bytes()].concat();
    assert!(is_message(&of(0x1B30_2A40, 1)) && is_message(&[0x40, 0x2A, 0x30, 0x1B, 1, 0, 0, 0]));
    assert!(!is_message(&of(0x1B30_2A40, 2)) && !is_message(&of(0x1B30_2A41, 1)) && !is_message(&[]));
}

#[test]
fn a_node_dumps_if_one_of_its_addresses_said_so_lately() {
    let (mut dumps, mut node) = (Dumps::default(), node("n1", ""));
    node.addresses = vec!["n1.example.com".into(), "10.0.0.7".into(), "::ffff:10.0.0.8".into()];
    let at = |secs| Moment(Duration::from_secs(secs));
    assert_eq!(dumps.of(&node), None);
    dumps.heard("10.0.0.9".parse().unwrap(), at(1));
    assert_eq!(dumps.of(&node), None);
    dumps.heard("10.0.0.8".parse().unwrap(), at(2));
    assert_eq!(dumps.of(&node), Some(at(2)));
    dumps.forget(at(3));
    assert_eq!(dumps.of(&node), None);
}
