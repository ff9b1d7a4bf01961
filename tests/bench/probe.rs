//! One persistent connection to the agent's socket, without a runtime in between: what is timed is the agent.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use serde::de::DeserializeOwned;

/// An agent that does not answer for so long is broken, not slow.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Probe(BufReader<UnixStream>);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Vec<u8>,
}

impl Probe {
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn get(&mut self, target: &str) -> io::Result<Answer> {
        let request = format!("GET {target} HTTP/1.1\r\nhost: nodewell\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes())?;
        let (code, length) = self.head()?;
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok(Answer { code, body })
    }

    /// # Panics
    /// If the answer is not this.
    pub(crate) fn json<T: DeserializeOwned>(&mut self, target: &str) -> T {
        let answer = self.get(target).expect("the agent answers");
        assert_eq!(answer.code, 200, "{target}");
        serde_json::from_slice(&answer.body).expect("the socket speaks JSON")
    }

    /// The code and the length of the body.
    fn head(&mut self) -> io::Result<(u16, usize)> {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let code = self.line()?.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(bad)?;
        let mut length = 0;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok((code, length));
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(|_| bad())?;
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
