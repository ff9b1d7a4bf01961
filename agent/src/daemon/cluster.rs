//! The API server's exporter, under the kubeconfig in use: it waits for one, and changes to a better one.

use std::path::PathBuf;

use nodewell_model::view::{ApiserverState, ApiserverView};

use crate::{
    config::Config,
    exporters::apiserver::{self, ApiserverConfig, ExporterHandles},
    identity::Way,
    runtime::Stop,
};

/// Waits for a kubeconfig, then keeps the API server up to date until it is asked to stop.
pub(super) async fn export(way: Way, settings: Config, handles: ExporterHandles, stop: Stop) {
    if way.look().await.is_none() {
        tracing::warn!(
            "no kubeconfig: running standalone until nodewell-identity finds one, or --kubeconfig names one"
        );
    }
    loop {
        let kubeconfig = tokio::select! {
            found = way.found() => found,
            () = stop.requested() => return,
        };
        let another = way.other_than(&kubeconfig);
        tokio::pin!(another);
        let ended = async {
            tokio::select! {
                () = stop.requested() => {}
                () = &mut another => tracing::info!("another kubeconfig is the one to go by now"),
            }
        };
        export_as(kubeconfig.clone(), &settings, handles.clone(), ended).await;
        if stop.is_set() {
            return;
        }
    }
}

/// Talks to the API server with this kubeconfig, until `ended`.
async fn export_as(kubeconfig: PathBuf, settings: &Config, handles: ExporterHandles, ended: impl Future<Output = ()>) {
    handles.shared_state.set_apiserver(ApiserverView {
        state: ApiserverState::Connecting,
        last_success: None,
        message: String::new(),
        undelivered: 0,
    });
    tracing::info!(kubeconfig = %kubeconfig.display(), "talking to the API server");
    let mut config = ApiserverConfig::new(kubeconfig, &settings.node_name);
    config.event_namespace.clone_from(&settings.apiserver.event_namespace);
    config.heartbeat = settings.apiserver.heartbeat;
    config.take_over = settings.apiserver.take_over;
    config.lease = settings.apiserver.lease;
    // It is asked at the stop, when time is short.
    config.checks.get_ready();
    apiserver::run(config, handles, ended).await;
}
