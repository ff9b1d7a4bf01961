//! The wire between a virtual machine's system interface and its BMC: what goes over it is framed as OpenIPMI's codec `VM` has
//! it (lanserv/README.vm, QEMU's hw/ipmi/ipmi_bmc_extern.c). The machine's commands pass; the BMC's answers may be held back
//! or mangled.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// The last byte of a message, and of what is no message: reset, attention.
const END_OF_MESSAGE: u8 = 0xa0;
const END_OF_ORDER: u8 = 0xa1;
/// Before a byte that is one of these three, and has this bit set for it.
const ESCAPE: u8 = 0xaa;
const ESCAPED: u8 = 0x10;
/// In a message: a number that the answer has too, the network function, the command, in answers the completion code.
const COMMAND: usize = 2;
const COMPLETION_CODE: usize = 3;

/// How the BMC's answers arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Prompt,
    /// Each is held for so long.
    Late(Duration),
    /// A bit of each is another one, as its checksum shows.
    Noisy,
    /// Each ends with its completion code.
    Cut,
    /// Each says that it answers another command.
    Foreign,
}

/// The machine's end is a Unix socket, the BMC's a connection to a port.
#[derive(Debug)]
pub struct Wire {
    delivery: Arc<Mutex<Delivery>>,
    bmc: TcpStream,
}

impl Wire {
    /// Waits at `socket` for the machine, which may connect once.
    pub(crate) fn start(socket: &Path, bmc: TcpStream) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let delivery = Arc::new(Mutex::new(Delivery::Prompt));
        let (of_thread, answers) = (Arc::clone(&delivery), bmc.try_clone()?);
        // It ends with the machine, or with the BMC.
        thread::spawn(move || {
            let carried = listener.accept().and_then(|(machine, _)| carry(&machine, &answers, &of_thread));
            carried.unwrap_or_else(|error| eprintln!("the wire to the BMC is torn: {error}"));
        });
        Ok(Self { delivery, bmc })
    }

    /// From now on answers arrive so; one that is held already is held to its end.
    pub fn deliver(&self, delivery: Delivery) {
        *self.delivery.lock().unwrap_or_else(PoisonError::into_inner) = delivery;
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.bmc.shutdown(Shutdown::Both);
    }
}

/// Until one of both ends; then the other does.
fn carry(machine: &UnixStream, bmc: &TcpStream, delivery: &Mutex<Delivery>) -> io::Result<()> {
    let (mut commands, mut to_bmc) = (machine.try_clone()?, bmc.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut commands, &mut to_bmc);
        let _ = to_bmc.shutdown(Shutdown::Both);
    });
    let answered = carry_answers(bmc, machine, delivery);
    let _ = machine.shutdown(Shutdown::Both);
    answered
}

fn carry_answers(mut bmc: &TcpStream, mut machine: &UnixStream, delivery: &Mutex<Delivery>) -> io::Result<()> {
    let (mut frame, mut bytes) = (Vec::new(), [0; 1024]);
    loop {
        let read = bmc.read(&mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        for byte in &bytes[..read] {
            frame.push(*byte);
            if [END_OF_MESSAGE, END_OF_ORDER].contains(byte) {
                let now = *delivery.lock().unwrap_or_else(PoisonError::into_inner);
                machine.write_all(&delivered(std::mem::take(&mut frame), now))?;
            }
        }
    }
}

/// A frame as it arrives. Sleeps, where it is held.
fn delivered(frame: Vec<u8>, delivery: Delivery) -> Vec<u8> {
    let [framed @ .., END_OF_MESSAGE] = &frame[..] else { return frame };
    let mut message = unescaped(framed);
    // Too short to be an answer.
    if message.len() <= COMPLETION_CODE + 1 {
        return frame;
    }
    match delivery {
        Delivery::Prompt => return frame,
        Delivery::Late(time) => {
            thread::sleep(time);
            return frame;
        }
        Delivery::Noisy => message[COMPLETION_CODE] ^= 0x40,
        Delivery::Cut => message = summed(&message[..=COMPLETION_CODE]),
        Delivery::Foreign => {
            message[COMMAND] ^= 0x01;
            message = summed(&message[..message.len() - 1]);
        }
    }
    let mut frame = escaped(&message);
    frame.push(END_OF_MESSAGE);
    frame
}

/// With the checksum that makes the sum of all bytes zero.
fn summed(message: &[u8]) -> Vec<u8> {
    let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    [message, &[sum.wrapping_neg()]].concat()
}

fn unescaped(framed: &[u8]) -> Vec<u8> {
    let (mut message, mut is_escaped) = (Vec::new(), false);
    for byte in framed {
        match (*byte, is_escaped) {
            (ESCAPE, _) => is_escaped = true,
            (byte, true) => {
                message.push(byte & !ESCAPED);
                is_escaped = false;
            }
            (byte, false) => message.push(byte),
        }
    }
    message
}

fn escaped(message: &[u8]) -> Vec<u8> {
    let mut framed = Vec::new();
    for byte in message {
        match *byte {
            END_OF_MESSAGE | END_OF_ORDER | ESCAPE => framed.extend([ESCAPE, byte | ESCAPED]),
            byte => framed.push(byte),
        }
    }
    framed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to Get SEL Info as `ipmi_sim` gives it, of 10 entries.
    const MESSAGE: [u8; 19] =
        [0x07, 0x2c, 0x40, 0x00, 0x51, 0x0a, 0, 0xa0, 0x3e, 0xaa, 0, 0xa1, 0, 0, 0, 0, 0, 0, 0x0a];

    fn frame() -> Vec<u8> {
        [escaped(&summed(&MESSAGE)), vec![END_OF_MESSAGE]].concat()
    }

    fn arrived(delivery: Delivery) -> Vec<u8> {
        let frame = delivered(frame(), delivery);
        let (end, framed) = frame.split_last().unwrap();
        assert_eq!(*end, END_OF_MESSAGE);
        assert!(!framed.contains(&END_OF_MESSAGE) && !framed.contains(&END_OF_ORDER));
        unescaped(framed)
    }

    fn is_sound(message: &[u8]) -> bool {
        message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) == 0
    }

    #[test]
    fn a_message_is_framed_and_found_again() {
        assert_eq!(unescaped(&escaped(&MESSAGE)), MESSAGE);
        assert!(is_sound(&summed(&MESSAGE)));
        assert_eq!(delivered(frame(), Delivery::Prompt), frame());
        assert_eq!(delivered(frame(), Delivery::Late(Duration::from_millis(1))), frame());
    }

    #[test]
    fn each_kind_of_damage_is_what_it_says() {
        assert!(!is_sound(&arrived(Delivery::Noisy)));
        let cut = arrived(Delivery::Cut);
        assert_eq!((&cut[..4], cut.len(), is_sound(&cut)), (&MESSAGE[..4], 5, true));
        let foreign = arrived(Delivery::Foreign);
        assert_eq!((foreign[2], &foreign[3..19], is_sound(&foreign)), (0x41, &MESSAGE[3..], true));
    }

    #[test]
    fn what_is_no_answer_passes() {
        for frame in [&[0xff, 0x01, END_OF_ORDER][..], &[END_OF_MESSAGE], &[1, 2, 3, END_OF_MESSAGE]] {
            for delivery in [Delivery::Noisy, Delivery::Cut, Delivery::Foreign] {
                assert_eq!(delivered(frame.to_vec(), delivery), frame);
            }
        }
    }

    #[test]
    fn commands_pass_and_answers_come_as_they_are_to() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let bmc = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire::start(&socket, TcpStream::connect(bmc.local_addr().unwrap()).unwrap()).unwrap();
        let (mut bmc, mut machine) = (bmc.accept().unwrap().0, UnixStream::connect(&socket).unwrap());
        let mut bytes = [0; 64];
        machine.write_all(&frame()).unwrap();
        bmc.read_exact(&mut bytes[..frame().len()]).unwrap();
        assert_eq!(bytes[..frame().len()], frame());
        wire.deliver(Delivery::Cut);
        bmc.write_all(&frame()).unwrap();
        machine.read_exact(&mut bytes[..6]).unwrap();
        assert_eq!((bytes[3], bytes[5]), (0, END_OF_MESSAGE));
        drop(wire);
        assert_eq!(machine.read(&mut bytes).unwrap(), 0, "it ends with the BMC");
    }
}
