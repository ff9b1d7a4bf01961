//! Watches of an API server whose etcd is restored from a backup.

use futures_util::StreamExt;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame};

use super::*;

type Answered = UnsyncBoxBody<Bytes, Infallible>;

/// How a watch is answered.
#[derive(Clone, Copy)]
enum Answer {
    /// Nothing, for ever: its version is one that the store has not come to.
    Hangs,
    /// Such a version is an error.
    TooLarge,
    /// One line, and then nothing for ever.
    Sends(&'static str),
    /// It ends after a while.
    EndsAfter(u64),
    /// It has a bookmark about once a minute, and ends when its time is over.
    Lives,
}

fn listed(version: u64, node: u64) -> String {
    format!(
        r#"{{"kind":"NodeList","metadata":{{"resourceVersion":"{version}"}},
            "items":[{{"metadata":{{"name":"a","uid":"1","resourceVersion":"{node}","creationTimestamp":"2026-01-01T00:00:00Z"}}}}]}}"#
    )
}

fn whole(text: String) -> Answered {
    Full::new(Bytes::from(text)).boxed_unsync()
}

fn body(line: &str) -> Answered {
    let line = (!line.is_empty()).then(|| Ok::<_, Infallible>(Frame::data(Bytes::copy_from_slice(line.as_bytes()))));
    StreamBody::new(futures_util::stream::iter(line).chain(futures_util::stream::pending())).boxed_unsync()
}

fn ending(secs: u64) -> Answered {
    let end = async move {
        sleep(Duration::from_secs(secs)).await;
        None::<Result<Frame<Bytes>, Infallible>>
    };
    let end = futures_util::stream::once(end).filter_map(std::future::ready);
    StreamBody::new(Box::pin(end)).boxed_unsync()
}

fn living() -> Answered {
    const LINE: &[u8] = b"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"71\"}}}\n";
    let lines = futures_util::stream::unfold(0, |sent| async move {
        sleep(Duration::from_secs(57)).await;
        (sent < 4).then(|| (Ok::<_, Infallible>(Frame::data(Bytes::from_static(LINE))), sent + 1))
    });
    StreamBody::new(Box::pin(lines)).boxed_unsync()
}

/// The first list is of version 70, all others are of a backup; how many lists there were.
fn restored(answer: Answer) -> (Wire, Arc<AtomicUsize>) {
    let lists = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lists);
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let before = count.fetch_add(usize::from(!is_watch), Ordering::Relaxed);
        let response = match answer {
            _ if !is_watch && before == 0 => Response::new(whole(listed(70, 50))),
            _ if !is_watch => Response::new(whole(listed(40, 35))),
            Answer::TooLarge => {
                let status = r#"{"kind":"Status","message":"Timeout: Too large resource version: 70, current: 40"}"#;
                let mut response = Response::new(whole(status.to_owned()));
                *response.status_mut() = hyper::StatusCode::GATEWAY_TIMEOUT;
                response
            }
            Answer::Hangs => Response::new(body("")),
            Answer::Sends(line) => Response::new(body(line)),
            Answer::Lives => Response::new(living()),
            Answer::EndsAfter(secs) => Response::new(ending(secs)),
        };
        std::future::ready(Ok::<_, Infallible>(response))
    });
    (Wire::new(Client::new(service, "default"), Duration::from_secs(5)), lists)
}

/// The lists after so many seconds, and the version of the node that is known then.
async fn after(secs: u64, answer: Answer, beside: impl AsyncFnOnce(&Cache)) -> (usize, String) {
    let (wire, lists) = restored(answer);
    let clock = Clock::counted(Timestamp::UNIX_EPOCH);
    let cache = Cache::new(clock, Limits::default());
    let way = Way { wire: &wire, silence: RefCell::default() };
    let story = async {
        beside(&cache).await;
        sleep(Duration::from_secs(secs)).await;
    };
    tokio::select! {
        () = follow(&way, cache.clone(), "/api/v1/nodes".to_owned(), Nodes::new(cache.clone(), clock)) => {}
        () = story => {}
    }
    let known = cache.with(|snapshot| snapshot.nodes["a"].resource_version.clone());
    (lists.load(Ordering::Relaxed), known)
}

async fn nothing(_: &Cache) {}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_listed_again_and_the_list_is_the_truth() {
    assert_eq!(after(80, Answer::Hangs, nothing).await, (1, "50".to_owned()));
    assert_eq!(after(95, Answer::Hangs, nothing).await, (2, "35".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_store_has_not_come_to_is_listed_again() {
    let (lists, known) = after(2, Answer::TooLarge, nothing).await;
    assert_eq!(known, "35");
    assert!((2..=4).contains(&lists), "{lists}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_goes_back_is_no_change() {
    let line = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"41\"}}}\n";
    // The second watch begins at 40, and 41 is after that.
    assert_eq!(after(60, Answer::Sends(line), nothing).await, (2, "35".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_before_its_time_is_listed_again_and_one_in_time_goes_on() {
    assert_eq!(after(70, Answer::EndsAfter(65), nothing).await, (2, "35".to_owned()));
    let quiet = after(300, Answer::EndsAfter(289), nothing).await.0;
    assert_eq!(quiet, 4, "at once, and after each 90 s of silence: its end in time would not come before");
    assert_eq!(after(400, Answer::Lives, nothing).await, (1, "50".to_owned()));
    let ends_often = after(60, Answer::EndsAfter(5), nothing).await.0;
    assert!((3..=8).contains(&ends_often), "{ends_often}");
}

#[tokio::test(start_paused = true)]
async fn what_another_source_shows_lists_this_one_too() {
    let shows = async |cache: &Cache| {
        sleep(Duration::from_secs(10)).await;
        cache.ask_list(Source::Fences, "70");
        cache.list_began(Source::Fences, "40");
    };
    assert_eq!(after(2, Answer::Hangs, shows).await, (2, "35".to_owned()));
}
