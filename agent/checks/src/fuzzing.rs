//! Doors to parsers for the fuzz targets, and for the tests that replay their corpora on stable: `firmware`, of what
//! firmware answers; `proc`, of what procfs shows of tasks and mounts, whose names others choose.

use nodewell_sys::proc::{Mount, Stat, Status, mountinfo};

use crate::{bmc, disk::megaraid, inventory};

/// A RAID card's answers, a BMC's event log and sensors, a board's tables: each parser gets the same bytes.
pub fn firmware(bytes: &[u8]) {
    megaraid::fuzzing::raid(bytes);
    bmc::fuzzing::event_log(bytes);
    bmc::fuzzing::sensor_records(bytes);
    inventory::fuzzing::tables(bytes);
}

/// Whatever bytes a name has, all else of its line is read as it is, and so are the lines around it.
pub fn proc(bytes: &[u8]) {
    task(bytes);
    table(bytes);
    let _ = (Stat::parse(bytes), Status::of(bytes).uids(), Status::of(bytes).pid_namespaces());
}

fn task(name: &[u8]) {
    let rest: &[u8] = b") D 1 77 -1 0 -1 4 0 0 0 0 3 4 0 0 20 0 2 0 11 0 0\n";
    let line = [b"77 (".as_slice(), name, rest].concat();
    let ticks = 3 + 4;
    let (pid, state, parent, session, flags, threads, started) = (77, b'D', 1, -1, 4, 2, 11);
    let expected = Stat { pid, name, state, parent, session, flags, ticks, threads, started };
    assert_eq!(Stat::parse(&line), Some(expected));
    let rest: &[u8] = b"\nUid:\t1\t2\t3\t4\nNSpid:\t77\t1\n";
    let text = [b"Name:\t".as_slice(), &escaped(name, b"\n\\"), rest].concat();
    assert_eq!((Status::of(&text).uids(), Status::of(&text).pid_namespaces()), (Some([1, 2, 3, 4]), Some(2)));
}

fn table(bytes: &[u8]) {
    let point = escaped(bytes, b" \t\n\\#");
    let line = [b"28 27 0:30 /".as_slice(), &point, b" / rw shared:1 - ext4 /dev/vda rw"].concat();
    let root = Mount::parse(&line).map(|mount| mount.root);
    match std::str::from_utf8(bytes) {
        Ok(text) => assert_eq!(root, Some(format!("/{text}"))),
        Err(_) => assert!(root.is_some_and(|root| root.contains("\\x"))),
    }
    let table = [line.as_slice(), b"\n", bytes, b"\n", &line].concat();
    let mounts = mountinfo::parse(&table);
    let ends = [mounts.first(), mounts.last()].map(|mount| mount.map(|mount| mount.id));
    assert_eq!(ends, [Some(28), Some(28)]);
    assert!(mounts.len() <= table.split(|byte| *byte == b'\n').count());
}

/// Special bytes as octal digits, as the kernel has them in mountinfo; in status it escapes them otherwise.
fn escaped(name: &[u8], special: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(name.len());
    for byte in name {
        if special.contains(byte) {
            escaped.extend_from_slice(format!("\\{byte:03o}").as_bytes());
        } else {
            escaped.push(*byte);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use nodewell_kit::replay_corpus;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_corpora_break_nothing() {
        replay_corpus("firmware", firmware);
        replay_corpus("proc", proc);
    }

    proptest! {
        #[test]
        fn no_bytes_break_anything(bytes in proptest::collection::vec(any::<u8>(), 0..2100)) {
            firmware(&bytes);
        }

        #[test]
        fn no_name_breaks_its_line(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            proc(&bytes);
        }

        #[test]
        fn no_line_breaks_a_table(text in "(?s)[0-9a-z /:,\\\\()\n-]{0,200}") {
            proc(text.as_bytes());
        }
    }
}
