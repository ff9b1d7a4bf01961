//! Which path and method is answered by what: the whole interface on one screen.

use std::error::Error;

use hyper::{Method, Request, StatusCode, body::Body};
use nodewell_model::api::ClearRequest;

use super::{
    Api, SocketLimits, ack, act,
    answer::{Answer, Rejection, json},
    body, mute,
    peer::Peer,
    read::{self, EventsQuery},
    report,
};

/// One thing that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Version,
    Status,
    Conditions,
    Problems,
    Events,
    Daemons,
    Inventory,
    Health,
    Readiness,
    Clear,
    Forget,
    Inject,
    Mute,
    Unmute,
    Ack,
    Unack,
    Report,
}

struct Route {
    path: &'static str,
    method: &'static str,
    endpoint: Endpoint,
}

const ROUTES: [Route; 17] = [
    Route { path: "/v1/version", method: "GET", endpoint: Endpoint::Version },
    Route { path: "/v1/status", method: "GET", endpoint: Endpoint::Status },
    Route { path: "/v1/status", method: "POST", endpoint: Endpoint::Report },
    Route { path: "/v1/conditions", method: "GET", endpoint: Endpoint::Conditions },
    Route { path: "/v1/problems", method: "GET", endpoint: Endpoint::Problems },
    Route { path: "/v1/events", method: "GET", endpoint: Endpoint::Events },
    Route { path: "/v1/daemons", method: "GET", endpoint: Endpoint::Daemons },
    Route { path: "/v1/inventory", method: "GET", endpoint: Endpoint::Inventory },
    Route { path: "/healthz", method: "GET", endpoint: Endpoint::Health },
    Route { path: "/readyz", method: "GET", endpoint: Endpoint::Readiness },
    Route { path: "/v1/clear", method: "POST", endpoint: Endpoint::Clear },
    Route { path: "/v1/forget", method: "POST", endpoint: Endpoint::Forget },
    Route { path: "/v1/inject", method: "POST", endpoint: Endpoint::Inject },
    Route { path: "/v1/mute", method: "POST", endpoint: Endpoint::Mute },
    Route { path: "/v1/unmute", method: "POST", endpoint: Endpoint::Unmute },
    Route { path: "/v1/ack", method: "POST", endpoint: Endpoint::Ack },
    Route { path: "/v1/unack", method: "POST", endpoint: Endpoint::Unack },
];

/// What a peer would do that may not.
const MUTING: &str = "muting a problem";
const FORGETTING: &str = "forgetting a daemon";
const ACKING: &str = "calling a problem a false positive";

/// Answers one request of `peer`.
pub(super) async fn answer<B>(api: &Api, limits: &SocketLimits, peer: &Peer, request: Request<B>) -> Answer
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let answered = match find(request.method(), request.uri().path()) {
        Ok(endpoint) => dispatch(Context { api, limits, peer }, endpoint, request).await,
        Err(rejection) => Err(rejection),
    };
    answered.unwrap_or_else(Rejection::answer)
}

/// What a request meets, whatever it asks for.
struct Context<'a> {
    api: &'a Api,
    limits: &'a SocketLimits,
    peer: &'a Peer,
}

async fn dispatch<B>(context: Context<'_>, endpoint: Endpoint, request: Request<B>) -> Result<Answer, Rejection>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let Context { api, limits, peer } = context;
    let view = || api.shared_state.view();
    Ok(match endpoint {
        Endpoint::Version => json(StatusCode::OK, &api.version),
        Endpoint::Status => read::whole(&view(), api.gate.rejections()),
        Endpoint::Conditions => read::conditions(&view()),
        Endpoint::Problems => read::problems(&view(), &*api.injector),
        Endpoint::Daemons => json(StatusCode::OK, &view().daemons),
        Endpoint::Inventory => read::inventory(api.inventory.as_ref(), &view()),
        Endpoint::Health => read::health(&view()),
        Endpoint::Readiness => read::readiness(&view()),
        Endpoint::Events => {
            read::events(api.shared_state.events(), &EventsQuery::parse(request.uri().query().unwrap_or_default())?)
        }
        Endpoint::Clear => {
            api.gate.may_clear_something(peer)?;
            let asked: ClearRequest = body::read(request, limits).await?;
            let by_grant = api.gate.may_clear(peer, &asked.condition)?;
            act::clear(api, asked, by_grant).await?
        }
        Endpoint::Forget => {
            let who = api.gate.may_silence(peer, FORGETTING)?;
            act::forget(api, body::read(request, limits).await?, &who).await?
        }
        Endpoint::Inject => {
            api.gate.may_inject(peer)?;
            act::inject(api, &body::read(request, limits).await?)?
        }
        Endpoint::Mute => {
            let who = api.gate.may_silence(peer, MUTING)?;
            mute::mute(api, body::read(request, limits).await?, &who).await?
        }
        Endpoint::Unmute => {
            let who = api.gate.may_silence(peer, MUTING)?;
            mute::unmute(api, body::read(request, limits).await?, &who).await?
        }
        Endpoint::Ack => {
            let who = api.gate.may_silence(peer, ACKING)?;
            ack::ack(api, body::read(request, limits).await?, &who).await?
        }
        Endpoint::Unack => {
            let who = api.gate.may_silence(peer, ACKING)?;
            ack::unack(api, body::read(request, limits).await?, &who).await?
        }
        Endpoint::Report => report::report(api, limits, peer, request).await?,
    })
}

fn find(method: &Method, path: &str) -> Result<Endpoint, Rejection> {
    // HEAD is GET whose body hyper leaves out.
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let mut here = ROUTES.iter().filter(|route| route.path == path).peekable();
    if here.peek().is_none() {
        return Err(Rejection::new(StatusCode::NOT_FOUND, format!("there is no such path; {}", everything())));
    }
    if let Some(route) = here.find(|route| route.method == method) {
        return Ok(route.endpoint);
    }
    let allow = allowed(path);
    let error = format!("{path} takes {}; {}", allow.replace("GET, HEAD", "GET").replace(", ", " and "), everything());
    Err(Rejection { allow: Some(allow), ..Rejection::new(StatusCode::METHOD_NOT_ALLOWED, error) })
}

fn allowed(path: &str) -> &'static str {
    let takes = |method| ROUTES.iter().any(|route| route.path == path && route.method == method);
    match (takes("GET"), takes("POST")) {
        (true, true) => "GET, HEAD, POST",
        (true, false) => "GET, HEAD",
        (false, _) => "POST",
    }
}

fn everything() -> String {
    let routes: Vec<String> = ROUTES.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    format!("there are: {}", routes.join(", "))
}
