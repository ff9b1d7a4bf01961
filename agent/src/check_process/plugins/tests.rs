//! What is read from pipes, and what runs are made of.

use std::time::Duration;

use nodewell_rules::load_text;
use tokio::{
    io::{AsyncWriteExt, duplex},
    task::LocalSet,
};

use super::{Sources, pipe::Pipe, sources};

fn local(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

#[test]
fn the_rest_is_read_and_dropped() {
    local(async {
        let (mut writer, reader) = duplex(100);
        let pipe = Pipe::read(reader, 10);
        // Far more than the pipe holds: it would never return without a reader.
        writer.write_all(&[b'x'; 1_000_000]).await.unwrap();
        drop(writer);
        assert_eq!(pipe.finish(Duration::from_secs(1)).await, b"xxxxxxxxxx");
    });
}

#[test]
fn a_pipe_that_stays_open_is_not_waited_for() {
    local(async {
        let (mut writer, reader) = duplex(100);
        let pipe = Pipe::read(reader, 10);
        writer.write_all(b"quick").await.unwrap();
        assert_eq!(pipe.finish(Duration::from_secs(1)).await, b"quick");
        assert!(writer.write_all(&[0; 200]).await.is_err(), "no process reads any more");
    });
}

#[test]
fn files_of_one_source_are_one_daemon_and_checks_of_ours_are_not_run() {
    let file = |path: &str| {
        let text = format!(
            r#"{{"plugin": "custom", "source": "mine", "rules": [{{"type": "temporary", "reason": "R", "path": "{path}"}}]}}"#
        );
        load_text("m.json".as_ref(), &text).set
    };
    let mut set = file("/bin/true");
    set.plugins.extend(file("/bin/false").plugins);
    set.plugins.extend(file("/opt/health-checker").plugins);
    let sources: Sources = sources(set);
    let counts: Vec<(&str, usize)> = sources.iter().map(|(name, monitors)| (&**name, monitors.len())).collect();
    assert_eq!(counts, [("mine", 2)]);
}
