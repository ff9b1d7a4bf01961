//! A stand-in for the kubelet: its health endpoint, in any behaviour.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nodewell_kit::free_port;

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeletBehaviour {
    Healthy,
    /// After so many milliseconds.
    Slow(u64),
    /// 500, with the kubelet's own message.
    Unhealthy,
    /// It accepts, and never answers.
    Hung,
    /// 500, with a body that does not end.
    Endless,
    /// Nothing listens.
    Down,
}

/// Gone when dropped.
#[derive(Debug)]
pub struct Kubelet {
    address: SocketAddr,
    behaviour: Arc<Mutex<KubeletBehaviour>>,
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Kubelet {
    /// One that is well, on a port of its own.
    ///
    /// # Panics
    /// If nothing can listen on the loopback.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", free_port())).unwrap();
        let address = listener.local_addr().unwrap();
        let (behaviour, stop) = (Arc::new(Mutex::new(KubeletBehaviour::Healthy)), Arc::new(AtomicBool::new(false)));
        let asked = Arc::new(AtomicUsize::new(0));
        let (its_mood, its_stop, its_asked) = (Arc::clone(&behaviour), Arc::clone(&stop), Arc::clone(&asked));
        let thread = thread::spawn(move || serve(listener, &its_mood, &its_stop, &its_asked));
        Self { address, behaviour, stop, asked, thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT/healthz`
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/healthz", self.address)
    }

    /// How many connections it has taken.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// From the next connection on.
    pub fn is(&self, behaviour: KubeletBehaviour) {
        *self.behaviour.lock().unwrap_or_else(PoisonError::into_inner) = behaviour;
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: TcpListener, behaviour: &Mutex<KubeletBehaviour>, stop: &AtomicBool, asked: &AtomicUsize) {
    let address = listener.local_addr().unwrap();
    let mut listener = Some(listener);
    let mut held = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let now = *behaviour.lock().unwrap_or_else(PoisonError::into_inner);
        if now == KubeletBehaviour::Down {
            listener = None;
            held.clear();
        }
        let accepted = match &listener {
            Some(listener) => listener.set_nonblocking(true).and_then(|()| listener.accept()).ok(),
            None if now != KubeletBehaviour::Down => {
                listener = TcpListener::bind(address).ok();
                None
            }
            None => None,
        };
        asked.fetch_add(usize::from(accepted.is_some()), Ordering::Relaxed);
        match accepted {
            Some((stream, _)) if now == KubeletBehaviour::Hung => held.push(stream),
            Some((stream, _)) => {
                thread::spawn(move || answer(stream, now));
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn answer(mut stream: TcpStream, behaviour: KubeletBehaviour) {
    let _ = stream.set_nonblocking(false);
    let _ = stream.read(&mut [0; 1024]);
    if let KubeletBehaviour::Slow(millis) = behaviour {
        thread::sleep(Duration::from_millis(millis));
    }
    let head = match behaviour {
        KubeletBehaviour::Endless => "HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\n\r\n",
        KubeletBehaviour::Unhealthy => {
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 46\r\n\r\n[+]ping ok\n[-]syncloop failed: reason withheld"
        }
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    };
    let mut sent = stream.write_all(head.as_bytes());
    while behaviour == KubeletBehaviour::Endless && sent.is_ok() {
        sent = stream.write_all(b"5\r\nxxxxx\r\n");
    }
}
