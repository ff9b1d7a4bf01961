use super::*;

/// A line of `/proc/PID/stat`.
pub(in crate::check_process) fn stat(
    pid: u32,
    name: &str,
    state: char,
    parent: u32,
    threads: u32,
    started: u64,
) -> String {
    let zeros = |count: usize| vec!["0"; count].join(" ");
    format!("{pid} ({name}) {state} {parent} {} {threads} 0 {started} {}\n", zeros(15), zeros(30))
}

#[test]
fn a_zombie_with_a_thread_that_hangs_is_still_there() {
    let text = stat(77, "nwg:gpu/list", 'Z', 1, 2, 400);
    assert!(Stat::parse(text.as_bytes()).unwrap().is_there());
}

#[test]
fn a_name_with_brackets_and_spaces_is_read_whole() {
    let read = Stat::parse(stat(77, "nwd:a) S 1 (b", 'D', 1, 1, 400).as_bytes()).unwrap();
    assert_eq!((read.name.as_str(), read.state, read.parent, read.started), ("nwd:a) S 1 (b", 'D', 1, 400));
    for garbage in ["", "77", "77 (x)", "77 (x) D", "77 (x) D 1 2 3", ") ("] {
        assert!(Stat::parse(garbage.as_bytes()).is_none(), "{garbage}");
    }
}
