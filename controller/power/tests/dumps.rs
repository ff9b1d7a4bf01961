//! Messages of crash kernels.

use std::{net::UdpSocket, time::Duration};

use nodewell_power::kdump::{Addresses, Packet, Socket, is_message};

use super::fake::node;

#[tokio::test]
async fn messages_of_many_senders_are_distinguished_by_their_address() {
    let socket = Socket::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let to = socket.address().unwrap();
    let mut message = 0x1B30_2A40_u32.to_ne_bytes().to_vec();
    message.extend(1_u32.to_ne_bytes());
    for from in ["127.0.0.2:0", "127.0.0.3:0"] {
        let sender = UdpSocket::bind(from).unwrap();
        sender.send_to(b"", to).unwrap();
        sender.send_to(&message[..7], to).unwrap();
        sender.send_to(&[&message[..], b"x"].concat(), to).unwrap();
        sender.send_to(&message, to).unwrap();
        for is_message in [false, false, false, true] {
            let heard = tokio::time::timeout(Duration::from_secs(20), socket.next()).await.unwrap().unwrap();
            assert_eq!(heard, Packet { from: from.trim_end_matches(":0").parse().unwrap(), is_message });
        }
    }
}

#[test]
fn only_the_one_message_is_one_in_either_order() {
    let of = |magic: u32, version: u32| [magic.to_be_bytes(), version.to_be_bytes()].concat();
    assert!(is_message(&of(0x1B30_2A40, 1)) && is_message(&[0x40, 0x2A, 0x30, 0x1B, 1, 0, 0, 0]));
    assert!(!is_message(&of(0x1B30_2A40, 2)) && !is_message(&of(0x1B30_2A41, 1)) && !is_message(&[]));
}

#[test]
fn a_sender_is_every_node_with_its_address() {
    let (mut one, mut two) = (node("n1", ""), node("n2", ""));
    one.addresses = vec!["n1.example.com".into(), "10.0.0.7".into(), "::ffff:10.0.0.8".into(), "10.0.0.8".into()];
    two.addresses = vec!["10.0.0.8".into(), "fd00::2".into()];
    let addresses = Addresses::of([&one, &two]);
    for (from, names) in [
        ("10.0.0.7", &["n1"][..]),
        ("10.0.0.8", &["n1", "n2"]),
        ("::ffff:10.0.0.7", &["n1"]),
        ("fd00::2", &["n2"]),
        ("10.0.0.9", &[]),
    ] {
        assert_eq!(addresses.nodes(from.parse().unwrap()), names, "{from}");
    }
}
