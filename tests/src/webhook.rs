//! A small HTTP server on loopback: it takes webhooks, and has one page to be scraped.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nodewell_kit::free_port;
use serde_json::Value;

/// What was posted.
#[derive(Debug)]
struct Post {
    path: String,
    body: Value,
}

#[derive(Debug, Default)]
struct Shared {
    page: Mutex<String>,
    posts: Mutex<Vec<Post>>,
    stop: AtomicBool,
}

/// Gone when dropped.
#[derive(Debug)]
pub struct Webhook {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Webhook {
    /// One with an empty page, on a port of its own.
    ///
    /// # Panics
    /// If nothing can listen on the loopback.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", free_port())).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let thread = thread::spawn(move || serve(&listener, &its));
        Self { address, shared, thread: Some(thread) }
    }

    /// `127.0.0.1:PORT`
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// What each GET is answered from now on.
    pub fn show(&self, page: String) {
        *self.shared.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }

    /// All that was posted to `path` so far, the oldest first.
    #[must_use]
    pub fn posts(&self, path: &str) -> Vec<Value> {
        let posts = self.shared.posts.lock().unwrap_or_else(PoisonError::into_inner);
        posts.iter().filter(|post| post.path == path).map(|post| post.body.clone()).collect()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                let shared = Arc::clone(shared);
                // A client that hangs up is its own problem.
                thread::spawn(move || answer(stream, &shared));
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// One request; the connection is closed after it.
fn answer(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let page = if method == "POST" {
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let post = Post { path: path.to_owned(), body: serde_json::from_slice(&body)? };
        shared.posts.lock().unwrap_or_else(PoisonError::into_inner).push(post);
        String::new()
    } else {
        shared.page.lock().unwrap_or_else(PoisonError::into_inner).clone()
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\n";
    let answer = format!("{head}Content-Length: {}\r\n\r\n{page}", page.len());
    reader.get_mut().write_all(answer.as_bytes())
}
