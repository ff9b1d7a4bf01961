//! What a process has in memory, by what is mapped there: what of its figure is program, and what is not its own.

use std::path::Path;

use crate::table::{Row, Unit};

/// Kinds of mappings, as the table names them.
const PROGRAM: &str = "its program";
const RUNTIME: &str = "libc and the loader";
const LIBRARIES: &str = "libsystemd and its libraries";
const JOURNAL: &str = "windows of journal files";
const HEAP: &str = "heap";
const OTHER: &str = "stacks and all else";
const KINDS: [&str; 6] = [PROGRAM, RUNTIME, LIBRARIES, JOURNAL, HEAP, OTHER];

/// Names that the libraries begin with which every program has.
const RUNTIME_NAMES: [&str; 6] = ["ld-", "libc.", "libm.", "libgcc_s.", "libpthread.", "libdl."];

/// One mapping of `/proc/PID/smaps`.
#[derive(Debug, Default, PartialEq)]
struct Mapping {
    path: String,
    /// Constants and code.
    is_read_only: bool,
    resident_kib: f64,
    anonymous_kib: f64,
    is_locked: bool,
}

/// A row for each kind of mapping of the process called `name` that runs `program`.
pub(crate) fn rows(name: &str, program: &Path, smaps: &str) -> Vec<Row> {
    let mappings = mappings(smaps);
    let of_kind = |kind: &'static str| {
        let of_it = || mappings.iter().filter(move |mapping| kind_of(mapping, program) == kind);
        let mib = |kib: fn(&Mapping) -> f64| of_it().map(kib).sum::<f64>() / 1024.0;
        let (resident, anonymous) = (mib(|mapping| mapping.resident_kib), mib(|mapping| mapping.anonymous_kib));
        let locked = mib(|mapping| if mapping.is_locked { mapping.resident_kib } else { 0.0 });
        let beside = format!("locked {locked:.2}, anonymous {anonymous:.2} MiB");
        Row::new(format!("    {name}: {kind}"), resident, Unit::MebiBytes).beside(beside)
    };
    KINDS.into_iter().map(of_kind).collect()
}

/// How much is a process's own copy of what a file has, and nothing that it made itself (what the linker relocated is in
/// it).
pub(crate) fn copies_mib(smaps: &str) -> f64 {
    let of_file = |mapping: &&Mapping| mapping.is_read_only && mapping.path.starts_with('/');
    mappings(smaps).iter().filter(of_file).map(|mapping| mapping.anonymous_kib).sum::<f64>() / 1024.0
}

fn kind_of(mapping: &Mapping, program: &Path) -> &'static str {
    let path = Path::new(&mapping.path);
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // With a tilde it was not closed in time.
    let is_journal = path.extension().is_some_and(|extension| extension == "journal" || extension == "journal~");
    match file {
        _ if path == program => PROGRAM,
        "[heap]" => HEAP,
        _ if is_journal => JOURNAL,
        _ if RUNTIME_NAMES.iter().any(|name| file.starts_with(name)) => RUNTIME,
        _ if file.contains(".so") => LIBRARIES,
        _ => OTHER,
    }
}

/// Each begins with its addresses; lines with its figures follow.
fn mappings(smaps: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let Some(key) = first.strip_suffix(':') else {
            let is_read_only = words.next().is_some_and(|may| !may.contains('w'));
            // Offset, device and inode stand between.
            let path = words.skip(3).collect::<Vec<_>>().join(" ");
            mappings.push(Mapping { path, is_read_only, ..Mapping::default() });
            continue;
        };
        let Some(mapping) = mappings.last_mut() else { continue };
        let mut kib = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        match key {
            "Rss" => mapping.resident_kib = kib(),
            "Anonymous" => mapping.anonymous_kib = kib(),
            "VmFlags" => mapping.is_locked = words.any(|flag| flag == "lo"),
            _ => {}
        }
    }
    mappings
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0-55d8 r--p 00000000 fe:00 123                        /usr/bin/nodewelld
Size:                 32 kB
Rss:                  28 kB
Anonymous:             4 kB
VmFlags: rd mr mw me lo sd
7f00-7f10 r--p 00000000 fe:00 7                          /usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4
Rss:                   8 kB
VmFlags: rd mr mw me sd
7f20-7f30 rw-p 00000000 00:00 0
Rss:                  12 kB
Anonymous:            12 kB
VmFlags: rd wr mr mw me ac lo sd
";

    #[test]
    fn a_mapping_has_its_path_and_figures() {
        let mapping = |path: &str, resident_kib, anonymous_kib, is_locked| Mapping {
            path: path.to_owned(),
            is_read_only: path.starts_with('/'),
            resident_kib,
            anonymous_kib,
            is_locked,
        };
        let expected = [
            mapping("/usr/bin/nodewelld", 28.0, 4.0, true),
            mapping("/usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4", 8.0, 0.0, false),
            mapping("", 12.0, 12.0, true),
        ];
        assert_eq!(mappings(SMAPS), expected);
    }

    #[test]
    fn copies_are_of_files_that_are_not_written_to() {
        let writable = SMAPS.replace("r--p", "rw-p");
        assert_eq!((copies_mib(SMAPS) * 1024.0, copies_mib(&writable)), (4.0, 0.0));
    }

    #[test]
    fn each_kind_is_known_by_its_path() {
        for (path, kind) in [
            ("/usr/bin/nodewelld", PROGRAM),
            ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", RUNTIME),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", RUNTIME),
            ("/usr/lib/x86_64-linux-gnu/libcap.so.2.66", LIBRARIES),
            ("/usr/lib/x86_64-linux-gnu/libsystemd.so.0.35.0", LIBRARIES),
            ("/var/log/journal/0a/system.journal", JOURNAL),
            ("/var/log/journal/0a/system@0006.journal~", JOURNAL),
            ("[heap]", HEAP),
            ("[stack]", OTHER),
            ("", OTHER),
        ] {
            let mapping = Mapping { path: path.to_owned(), ..Mapping::default() };
            assert_eq!(kind_of(&mapping, Path::new("/usr/bin/nodewelld")), kind, "{path}");
        }
    }

    #[test]
    fn nothing_of_a_process_is_left_out() {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let mappings = mappings(&smaps);
        let of = |kind: &str| mappings.iter().filter(|mapping| kind_of(mapping, &program) == kind).count();
        assert_eq!(KINDS.map(of).iter().sum::<usize>(), mappings.len());
        assert!(of(PROGRAM) > 0 && of(RUNTIME) > 0 && of(HEAP) > 0);
        assert_eq!(rows("self", &program, &smaps).len(), KINDS.len());
    }
}
