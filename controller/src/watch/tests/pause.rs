//! Between a watch that ended and the next list nothing is heard.

use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame};

use super::*;

type Answered = UnsyncBoxBody<Bytes, Infallible>;

/// It has a bookmark every 50 s, and ends after so long.
fn lives(secs: u64) -> Answered {
    const LINE: &[u8] = b"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n";
    let lines = futures_util::stream::unfold(secs, |left| async move {
        sleep(Duration::from_secs(left.min(50))).await;
        (left > 50).then(|| (Ok::<_, Infallible>(Frame::data(Bytes::from_static(LINE))), left - 50))
    });
    StreamBody::new(Box::pin(lines)).boxed_unsync()
}

/// What is known of Nodes by a server that does not answer the first lists, and whose watches live so long, one after the
/// other.
struct Watched {
    wire: Wire,
    lists: Arc<AtomicUsize>,
    cache: Cache,
    clock: Clock,
}

fn watched(unanswered: usize, lifetimes: &'static [u64]) -> Watched {
    let (lists, opened) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let count = Arc::clone(&lists);
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let mut response = match is_watch {
            true => Response::new(lives(lifetimes[opened.fetch_add(1, Ordering::Relaxed)])),
            false => Response::new(Full::new(Bytes::from_static(LIST.as_bytes())).boxed_unsync()),
        };
        if !is_watch && count.fetch_add(1, Ordering::Relaxed) < unanswered {
            *response.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
        }
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    Watched { wire: Wire::new(Client::new(service, "default"), Duration::from_secs(5)), lists, cache, clock }
}

impl Watched {
    /// Ends when `story` does.
    async fn beside(&self, story: impl Future<Output = ()>) {
        let way = Way { wire: &self.wire, silence: RefCell::default() };
        let nodes = Nodes::new(self.cache.clone(), self.clock);
        tokio::select! {
            () = follow(&way, self.cache.clone(), "/api/v1/nodes".to_owned(), nodes) => {}
            () = story => {}
        }
    }

    fn is_synced(&self) -> bool {
        for source in [Source::KubeletLeases, Source::Fences, Source::Policies] {
            self.cache.listed(source, &BTreeSet::new());
        }
        self.cache.with(|snapshot| snapshot.host.synced)
    }
}

async fn pass(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn until_the_next_list_a_watch_that_ended_is_not_believed() {
    let watched = watched(0, &[30, 200]);
    let story = async {
        pass(15_000).await;
        assert!(watched.is_synced());
        pass(15_250).await;
        assert!(!watched.is_synced(), "the watch has ended");
        pass(500).await;
        assert!(watched.is_synced(), "it was listed again");
    };
    watched.beside(story).await;
}

/// The pause that an earlier fault had grown to is not that of a watch which has lasted since.
#[tokio::test(start_paused = true)]
async fn after_a_lasting_watch_the_first_pause_is_short_again() {
    let watched = watched(6, &[285, 5, 200]);
    let story = async {
        pass(31_000).await;
        assert_eq!(watched.lists.load(Ordering::Relaxed), 7, "0.5, 1, 2, 4, 8 and 15 s between them");
        pass(289_000).await;
        assert_eq!(watched.lists.load(Ordering::Relaxed), 7);
        pass(1_500).await;
        assert_eq!(watched.lists.load(Ordering::Relaxed), 8);
    };
    watched.beside(story).await;
}
