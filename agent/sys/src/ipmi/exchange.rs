//! A command and its answer, among what else waits at the same descriptor: answers to commands that ran out of time, and
//! what belongs to none.

use std::{
    ffi::c_long,
    io,
    time::{Duration, Instant},
};

use super::{Command, IpmiError};

/// Answers to commands that ran out of time; more of them is nonsense.
const LATE_LIMIT: usize = 16;

/// What takes commands and has answers: the kernel's device.
pub(super) trait Channel {
    fn send(&mut self, id: c_long, command: &Command<'_>) -> io::Result<()>;

    /// Whether there is something to receive; waits for it until then.
    fn wait(&mut self, until: Instant) -> io::Result<bool>;

    fn receive(&mut self) -> io::Result<Answer>;
}

/// What was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) id: c_long,
    pub(super) is_response: bool,
    pub(super) netfn: u8,
    pub(super) command: u8,
    pub(super) data: Vec<u8>,
}

impl Answer {
    /// The data, if it is the answer to `command`: its network function is the next odd one.
    fn data_for(self, command: &Command<'_>) -> Result<Vec<u8>, IpmiError> {
        let is_its = self.is_response && self.netfn == command.netfn | 1 && self.command == command.number;
        if is_its { Ok(self.data) } else { Err(IpmiError::Foreign) }
    }
}

/// Sends `command` under an id that no other one had, and waits no longer than `deadline` for its answer.
pub(super) fn answer_to(
    channel: &mut impl Channel,
    id: c_long,
    command: &Command<'_>,
    deadline: Duration,
) -> Result<Vec<u8>, IpmiError> {
    let until = Instant::now() + deadline;
    channel.send(id, command)?;
    for _ in 0..LATE_LIMIT {
        if !channel.wait(until)? {
            return Err(IpmiError::NoAnswer(deadline));
        }
        match channel.receive() {
            Ok(answer) if answer.id != id => {}
            Ok(answer) => return answer.data_for(command),
            // Another thread was faster, or the wake-up was spurious.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(IpmiError::Foreign)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const COMMAND: Command<'_> = Command { netfn: 0x0a, lun: 0, number: 0x40, data: &[] };
    const DEADLINE: Duration = Duration::from_secs(5);
    /// Of the command that is asked.
    const ID: c_long = 7;

    /// A device that is made up: what is received, in this order; then nothing more comes.
    #[derive(Default)]
    struct Script {
        received: VecDeque<io::Result<Answer>>,
        sent: Vec<c_long>,
        is_full: bool,
    }

    impl Script {
        fn of(received: impl IntoIterator<Item = io::Result<Answer>>) -> Self {
            Self { received: received.into_iter().collect(), ..Self::default() }
        }

        fn ask(&mut self) -> Result<Vec<u8>, IpmiError> {
            answer_to(self, ID, &COMMAND, DEADLINE)
        }
    }

    impl Channel for Script {
        fn send(&mut self, id: c_long, command: &Command<'_>) -> io::Result<()> {
            assert_eq!(*command, COMMAND);
            self.sent.push(id);
            if self.is_full { Err(io::ErrorKind::OutOfMemory.into()) } else { Ok(()) }
        }

        fn wait(&mut self, until: Instant) -> io::Result<bool> {
            assert!(until <= Instant::now() + DEADLINE);
            Ok(!self.received.is_empty())
        }

        fn receive(&mut self) -> io::Result<Answer> {
            self.received.pop_front().unwrap()
        }
    }

    fn answer(id: c_long) -> Answer {
        Answer { id, is_response: true, netfn: 0x0b, command: 0x40, data: vec![0, id.to_le_bytes()[0]] }
    }

    #[test]
    fn an_answer_that_comes_late_is_not_the_next_commands() {
        for late in [vec![], vec![6], vec![6, 5, 6], vec![-1, 0, 1 << 30]] {
            let mut script = Script::of(late.into_iter().chain([ID]).map(|id| Ok(answer(id))));
            assert_eq!(script.ask().unwrap(), [0, 7]);
            assert_eq!((script.sent, script.received.len()), (vec![ID], 0));
        }
    }

    #[test]
    fn late_answers_alone_are_no_answer() {
        let mut script = Script::of([5, 6].map(|id| Ok(answer(id))));
        assert_eq!(script.ask().unwrap_err().to_string(), "no answer within 5 s");
    }

    #[test]
    fn a_device_that_has_nothing_but_foreign_answers_is_left() {
        let mut script = Script::of((0..100).map(|id| Ok(answer(1000 + id))));
        assert!(matches!(script.ask(), Err(IpmiError::Foreign)));
        assert_eq!(script.received.len(), 100 - LATE_LIMIT);
    }

    #[test]
    fn a_wake_up_without_an_answer_is_none() {
        let nothing = || Err(io::ErrorKind::WouldBlock.into());
        let mut script = Script::of([nothing(), Ok(answer(6)), nothing(), Ok(answer(ID))]);
        assert_eq!(script.ask().unwrap(), [0, 7]);
        assert_eq!(Script::of([nothing()]).ask().unwrap_err().to_string(), "no answer within 5 s");
    }

    #[test]
    fn a_device_that_fails_is_an_error() {
        let gone = || io::Error::from_raw_os_error(libc::ENODEV);
        let error = Script::of([Ok(answer(6)), Err(gone())]).ask().unwrap_err();
        assert!(matches!(error, IpmiError::Io(error) if error.raw_os_error() == Some(libc::ENODEV)));
        let mut full = Script { is_full: true, ..Script::of([Ok(answer(ID))]) };
        assert!(matches!(full.ask(), Err(IpmiError::Io(_))));
        assert_eq!(full.received.len(), 1, "nothing was sent, and nothing is received");
    }

    #[test]
    fn only_the_answer_to_the_command_is_one() {
        assert_eq!(answer(ID).data_for(&COMMAND).unwrap(), [0, 7]);
        for other in [
            Answer { is_response: false, ..answer(ID) },
            Answer { netfn: 0x07, ..answer(ID) },
            Answer { command: 0x43, ..answer(ID) },
        ] {
            assert!(matches!(Script::of([Ok(other)]).ask(), Err(IpmiError::Foreign)));
        }
    }
}
