//! `nodewell status --watch` for a program: what it sees of an agent that goes away and comes back.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use crate::{
    agent::{agent, healthy},
    until,
};

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lines(from: impl Read + Send + 'static) -> Arc<Mutex<Vec<String>>> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let write = Arc::clone(&lines);
    thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).for_each(|line| write.lock().unwrap().push(line));
    });
    lines
}

#[test]
fn an_agent_that_goes_away_and_one_that_comes_back_are_a_line_on_stderr_each() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    agent(&socket, &[healthy()]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodewell"));
    command.arg("--socket").arg(&socket).args(["status", "--watch", "--json"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut watch = Ended(child);
    let (out, error) = (lines(watch.0.stdout.take().unwrap()), lines(watch.0.stderr.take().unwrap()));
    let count = |lines: &Mutex<Vec<String>>, at_least: usize| {
        let lines = lines.lock().unwrap();
        (lines.len() >= at_least).then(|| lines.clone())
    };
    until("the account is written", || count(&out, 1));
    assert_eq!(count(&error, 0).unwrap(), [""; 0]);
    // Without its socket no client finds it.
    fs::remove_file(&socket).unwrap();
    let begins = until("the outage is reported", || count(&error, 1));
    assert!(begins[0].contains("waiting for the agent"), "{begins:?}");
    agent(&socket, &[healthy()]);
    let ends = until("its end is reported", || count(&error, 2));
    assert!(ends[1].contains("the agent answers again, after "), "{ends:?}");
    assert_eq!((ends.len(), count(&out, 0).unwrap().len()), (2, 1), "a line for each, and no account twice: {ends:?}");
}
