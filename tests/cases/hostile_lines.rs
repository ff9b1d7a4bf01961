//! Whatever a log holds: the agent lives, and the neighbouring line is seen.

use jiff::{SignedDuration, Timestamp};
use nodewell_model::text;
use nodewell_tests::{agent::Plan, suite::Suite};

use crate::{
    lines::{OOPS, STALL},
    log_files::{append, reader_of_app_log, wait_fault, write_line},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("hostile_lines")
        .case("a_log_file_may_hold_anything", a_log_file_may_hold_anything)
        .case("a_record_from_the_future_is_a_record", a_record_from_the_future_is_a_record)
        .case("a_kernel_log_may_hold_anything", a_kernel_log_may_hold_anything)
        .case("hostile_text_is_shown_harmless", hostile_text_is_shown_harmless);
}

fn a_log_file_may_hold_anything() {
    let agent = reader_of_app_log(true);
    let log = agent.plan().folder().join("app.log");
    let long = "x".repeat(1 << 20) + "\n";
    let hostile: [(&str, &[u8]); 6] = [
        ("long", long.as_bytes()),
        ("nul", b"a\0b\0\0fault\0\n"),
        ("utf8", b"\xff\xfe\x80 \xc3\x28 \xf0\x9f\n"),
        ("percent", b"%s%n%x%p %1000000d {} {0} ${HOME}\n"),
        ("empty", b"\n\n\r\n"),
        ("times", b"9999-99-99T99:99:99Z host app: x\n0000-01-01T00:00:00Z\n-262144-01-01T00:00:00Z host\n"),
    ];
    for (name, bytes) in hostile {
        append(&log, bytes);
        write_line(&agent, &format!("fault {name}"));
        wait_fault(&agent, name);
    }
}

fn a_record_from_the_future_is_a_record() {
    let agent = reader_of_app_log(true);
    let log = agent.plan().folder().join("app.log");
    let tomorrow = Timestamp::now() + SignedDuration::from_hours(24 * 400);
    append(&log, format!("{tomorrow} host app: fault future\n").as_bytes());
    wait_fault(&agent, "future");
    write_line(&agent, "fault now");
    wait_fault(&agent, "now");
}

fn a_kernel_log_may_hold_anything() {
    let agent = Plan::default().start();
    let kmsg = agent.kmsg();
    for garbage in [
        &b"no record at all\n"[..],
        b"99999999999999999999999,1,1,-;x\n",
        b"3,1;\n;;;;\n,,,,\n",
        b"3,18446744073709551615,18446744073709551615,-;last of all\n",
        b" SUBSYSTEM=block\n DEVICE\n\0\0\0\n",
        b"3,7,7,-;\\x\\xZZ\\\\\n",
    ] {
        kmsg.raw(garbage);
    }
    kmsg.raw(&[b'y'; 100_000]);
    kmsg.raw(b"\n");
    kmsg.write(STALL);
    agent.wait_event("RCUStall");
}

fn hostile_text_is_shown_harmless() {
    let agent = Plan::default().start();
    let mut line = OOPS.as_bytes().to_vec();
    line.extend(b" \x1b[31m\x07\0\n\xff%s\"");
    line.extend("\u{202e}\u{200b}\u{2028}\u{2066}".bytes());
    line.extend([b'z'; 3000]);
    agent.kmsg().record(3, &line);
    let condition = agent.wait_condition("KernelUnhealthy", "True");
    for message in [&condition.message, &agent.wait_event("KernelOops").message] {
        assert!(message.len() <= 1024, "{}", message.len());
        assert_eq!(text::message(message.as_bytes()), *message, "nothing more of it is to be replaced");
        assert!(!message.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\u{2028}']), "{message:?}");
    }
    let shown = agent.nodewell(&["status"]);
    assert!(shown.code == 0 && !shown.stdout.contains('\u{1b}'), "{shown:?}");
}
