//! `/proc/PID/stat`: one line, in which the name may hold anything (fs/proc/array.c do_task_stat).

use super::reading::TaskId;

/// What of the line is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    pub(super) id: TaskId,
    pub(super) name: &'a [u8],
    pub(super) state: u8,
    pub(super) parent: u32,
    pub(super) threads: u32,
    /// Of CPU time used.
    pub(super) ticks: u64,
}

/// Reads the line; `None` if it is none.
pub(super) fn parse(line: &[u8]) -> Option<Stat<'_>> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
    let pid = std::str::from_utf8(&line[..open]).ok()?.trim().parse().ok()?;
    let mut fields = line[close + 1..].split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
    let state = *fields.next()?.first()?;
    // proc_pid_stat(5) counts from 1: after the state, the third, comes the fourth.
    let numbers: Vec<u64> = fields.take(19).map_while(number).collect();
    let [parent, _, _, _, _, _, _, _, _, _, user, system, _, _, _, _, threads, _, start] = numbers[..] else {
        return None;
    };
    Some(Stat {
        id: TaskId { pid, start },
        name: &line[open + 1..close],
        state,
        parent: u32::try_from(parent).ok()?,
        threads: u32::try_from(threads).ok()?,
        ticks: user.saturating_add(system),
    })
}

/// Numbers below zero (a nice value, no terminal) are none that is used.
fn number(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(|_| 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &[u8] = b"77 (a) (b \xff) D 1 77 77 0 -1 4194560 367539 1048290370 0 343780 5297 26399 5975131 590169 20 -5 14 0 11 58048512 5514 18446744073709551615\n";

    #[test]
    fn a_name_may_hold_parentheses() {
        let stat = parse(LINE).unwrap();
        assert_eq!(stat.id, TaskId { pid: 77, start: 11 });
        assert_eq!((stat.name, stat.state), (&b"a) (b \xff"[..], b'D'));
        assert_eq!((stat.parent, stat.threads, stat.ticks), (1, 14, 5297 + 26399));
    }

    #[test]
    fn a_line_that_ends_early_is_none() {
        let end = LINE.windows(4).position(|part| part == b" 11 ").unwrap();
        for length in 0..end {
            assert_eq!(parse(&LINE[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_anything(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
