//! Where requests come from: this cluster, and the management cluster of Cluster API.

use std::{path::PathBuf, sync::Arc};

use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::{
    api::{GROUP, VERSION, request::PLURAL},
    external::{
        machine,
        request::{Request, Source},
    },
};
use serde_json::Value;

use crate::{
    config::{ClusterApi, Config},
    kube::{ConnectError, KubeSettings, Requests, Wire, connect, escaped},
};

/// Those that the configuration switches on; one at least.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Requests of this cluster are served.
    pub(super) cluster: bool,
    pub(super) management: Option<Management>,
}

/// The management cluster, with an identity of its own there.
#[derive(Debug)]
pub(crate) struct Management {
    pub(super) wire: Wire,
    pub(super) settings: ClusterApi,
}

/// As the configuration has them; sends nothing yet.
pub(crate) async fn sources(config: &Config, requests: Arc<Requests>) -> Result<Option<Sources>, ConnectError> {
    let management = match &config.cluster_api {
        Some(settings) => Some(management(settings, requests).await?),
        None => None,
    };
    let is_any = config.external_remediation || management.is_some();
    Ok(is_any.then_some(Sources { cluster: config.external_remediation, management }))
}

async fn management(settings: &ClusterApi, requests: Arc<Requests>) -> Result<Management, ConnectError> {
    let kubeconfig: &PathBuf = &settings.kubeconfig;
    let client = connect(Some(kubeconfig), requests).await?;
    Ok(Management { wire: Wire::new(client, KubeSettings::REQUEST_TIMEOUT), settings: settings.clone() })
}

/// The path of all requests there are, or of those of one namespace.
fn collection(namespace: Option<&str>) -> String {
    let within = namespace.map(|name| format!("/namespaces/{}", escaped(name))).unwrap_or_default();
    format!("/apis/{GROUP}/{VERSION}{within}/{PLURAL}")
}

/// Where one is stored.
pub(super) fn path(request: &Request) -> String {
    format!("{}/{}", collection(Some(&request.namespace)), escaped(&request.name))
}

impl Sources {
    /// The requests of one source that are its own to serve, as they are stored now. What cannot be read of them is left out,
    /// with why.
    pub(super) async fn list(&self, own: &Wire, source: Source) -> Result<(Vec<Request>, Vec<String>), ApiError> {
        let (wire, namespace) = match (source, &self.management) {
            (Source::Cluster, _) => (own, None),
            (Source::Management, Some(of)) => (&of.wire, Some(of.settings.namespace.as_str())),
            (Source::Management, None) => return Ok((Vec::new(), Vec::new())),
        };
        let all: Vec<Value> = wire.list(&collection(namespace), "").await?;
        let (mut requests, mut unread) = (Vec::new(), Vec::new());
        for raw in all {
            match Request::read(source, &raw) {
                Ok(request) if self.is_served_here(&request) => requests.push(request),
                Ok(_) => {}
                Err(error) => unread.push(format!("{}: {error}", raw["metadata"]["name"])),
            }
        }
        Ok((requests, unread))
    }

    /// A Machine's request belongs to the management cluster, also where that is this cluster itself; one of another
    /// cluster's Machine is for the controller there.
    fn is_served_here(&self, request: &Request) -> bool {
        let is_of_machine = machine::owner(request).is_some();
        match (request.source, &self.management) {
            (Source::Cluster, Some(_)) => !is_of_machine,
            (Source::Cluster, None) => true,
            (Source::Management, Some(of)) => {
                is_of_machine && !machine::is_of_another_cluster(request, &of.settings.cluster)
            }
            (Source::Management, None) => false,
        }
    }

    /// The sources that are switched on.
    pub(super) fn enabled(&self) -> impl Iterator<Item = Source> {
        let cluster = self.cluster.then_some(Source::Cluster);
        cluster.into_iter().chain(self.management.as_ref().map(|_| Source::Management))
    }

    /// The way to the API server that has this request.
    pub(super) fn wire<'a>(&'a self, own: &'a Wire, request: &Request) -> &'a Wire {
        match (request.source, &self.management) {
            (Source::Management, Some(of)) => &of.wire,
            (Source::Cluster, _) | (Source::Management, None) => own,
        }
    }
}
