//! The controller as it runs: connects, builds, watches, stands for election, and ends at SIGTERM or SIGINT.

mod agents;
pub(crate) mod claims;
mod ended;
mod epochs;
mod etcd;
mod host;
mod own_objects;
mod policies;
pub(crate) mod readiness;
mod report;
mod stop;
mod wiring;

use std::{io, path::PathBuf, process::ExitCode, sync::Arc};

use nodewell_power::{
    native::{self, NativePower},
    runner::Runner,
};
use nodewell_reaper::{Feeding, Plugins, Reaper, Reaping, Unfit};
use nodewell_reconcile::{
    audit::Audit,
    cache::{Cache, Limits},
    clock::Clock,
    executor,
    leader::{Term, Terms},
    serve::Replica,
};

use crate::{
    approver, audit, clock,
    config::{Config, Diagnostic, PAUSE_FILES},
    external, kdump,
    kube::{ConnectError, KubeCluster, KubeSettings, Requests, connect},
    metrics, notify,
    tally::Tally,
    watch,
    webhook::{self, Reviewer},
};

/// The hidden command by which the program is the supervisor of a fence agent.
pub const SUPERVISOR: &str = "supervise-agent";

/// Why the controller ended unasked.
#[derive(Debug, thiserror::Error)]
pub enum Fatal {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the approver: {0}")]
    Approver(#[source] ConnectError),
    #[error("[cluster-api]: {0}")]
    ClusterApi(#[source] ConnectError),
    #[error("signals cannot be heard: {0}")]
    Signals(io::Error),
    #[error("the path of this program is not known: {0}; fence agents run under a copy of it")]
    Program(io::Error),
    #[error("the audit's thread cannot be started: {0}")]
    Audit(io::Error),
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    NodeReaper(Vec<Diagnostic>),
    #[error(transparent)]
    Plugins(#[from] Unfit),
}

/// The cluster as the configuration names it; sends nothing yet.
pub async fn cluster(config: &Config, requests: Arc<Requests>) -> Result<KubeCluster, ConnectError> {
    let client = connect(config.kubeconfig.as_deref(), requests).await?;
    let settings = KubeSettings {
        namespace: config.namespace.clone(),
        lease_namespace: config.leader.namespace.clone(),
        lease: config.leader.lease.clone(),
        claims: config.claims_namespace.clone(),
        keep_ended: config.keep_ended,
        pause_files: PAUSE_FILES.map(PathBuf::from).to_vec(),
        request_timeout: KubeSettings::REQUEST_TIMEOUT,
    };
    Ok(KubeCluster::new(client, Clock::system(clock::slept), settings))
}

/// Until SIGTERM or SIGINT. Needs a `LocalSet`.
pub async fn run(config: Config) -> Result<(), Fatal> {
    let stopped = stop::signals().map_err(Fatal::Signals)?;
    let requests = Arc::new(Requests::default());
    let cluster = Arc::new(cluster(&config, Arc::clone(&requests)).await?);
    let clock = cluster.clock();
    let cache = Cache::new(clock, Limits::default());
    let approver = match &config.approver {
        Some(own) => Some(approver::approver(own, Arc::clone(&requests)).await.map_err(Fatal::Approver)?),
        None => None,
    };
    let sources = external::sources(&config, Arc::clone(&requests)).await.map_err(Fatal::ClusterApi)?;
    let tally = Arc::new(Tally::default());
    let runner = runner(clock)?;
    let plugins = Plugins::load(&config.fencing.plugins, &runner).await?;
    let reaper = reaper(&config, &plugins).map_err(Fatal::NodeReaper)?;
    let power = Reaping::new(power(&config, &cluster)?, plugins, runner, cache.clone());
    let host = host_name(&config);
    cache.set_host(|view| view.node.clone_from(&config.node_name));
    let state = epochs::folder();
    state.iter().for_each(|folder| epochs::load(folder, &cache));
    config.claims_namespace.iter().for_each(|namespace| cache.set_peer_leases(claims::unread(namespace)));
    tracing::info!(host, dry_run = config.dry_run, namespace = config.namespace, "started");
    serve_metrics(&config, &cache, requests, &tally, clock).await;
    let (writer, audit) = audit(&config)?;
    tally.audit(writer.counts());
    tally.logins(power.inner().login_counts());
    let settings = executor::Settings { dry_run: config.dry_run, audit, ..executor::Settings::default() };
    let replica = Replica {
        cluster: &*cluster,
        power: &power,
        prober: &host::Kubelets,
        cache: &cache,
        clock,
        settings: settings.clone(),
        terms: terms(&config, &host),
        host,
    };
    notify::ready();
    let stopping = async {
        stopped.await;
        notify::stopping();
        tracing::info!("stopping");
    };
    let feed = Feeding::new(cache.clone(), reaper.clone());
    let source =
        report::Source { config: &config, host: host_name(&config), cache: &cache, clock, reaper: reaper.as_ref() };
    let beside = async |term: Term| {
        let silent = async {
            if config.liveness {
                agents::look_after(&cluster, &cache, term.clone(), &tally).await;
            }
        };
        let ready = readiness::look_after(power.inner(), &cluster, &cache, &config.fencing, term.clone());
        let ended = ended::look_after(&cluster, term.clone(), config.keep_ended);
        let claimed = claims::look_after(&cluster, &cache, term.clone(), config.dry_run);
        let writer = |term| own_objects::Writer::new(&cluster, term, config.dry_run);
        let policies = policies::look_after(&cluster, &cache, writer(term.clone()));
        let reported = report::look_after(&cluster, &source, writer(term.clone()));
        let requested = external::look_after(&cluster, sources.as_ref(), &cache, term.clone(), &settings, &tally);
        tokio::join!(
            silent,
            ready,
            ended,
            claimed,
            policies,
            reported,
            requested,
            approver::run(approver, term.clone(), clock, &tally)
        );
    };
    tokio::select! {
        () = replica.run_beside(stopping, beside) => {}
        () = watch::run(cluster.wire(), feed, clock, &config.namespace) => {}
        () = host::watch_switch(&*cluster, &cache) => {}
        () = host::probe(&config.probes, &cache) => {}
        () = etcd::ask(config.etcd.as_ref(), &cache) => {}
        never = wiring::survey(power.inner(), &cache) => match never {},
        () = notify::run(&cache, config.dry_run) => {}
        () = epochs::save(state, &cache) => {}
        () = review_policies(&config, &cluster, &cache, clock) => {}
        () = guard(reaper.as_ref(), &cache, clock) => {}
        _ = kdump::run(config.kdump_listen, &cache, clock, &tally) => {}
    }
    tracing::info!("stopped");
    writer.finish();
    Ok(())
}

/// For the API server of this host, leader or not; what stands in its way is logged, and stops nothing else.
async fn review_policies(config: &Config, cluster: &KubeCluster, cache: &Cache, clock: Clock) {
    let Some(own) = &config.webhook else { return std::future::pending().await };
    let certificate = match webhook::certificate(own, epochs::folder()) {
        Ok(certificate) => certificate,
        Err(error) => {
            tracing::warn!(%error, "policies are not checked as they are written: there is no certificate");
            return std::future::pending().await;
        }
    };
    let (host, reviewer) = (host_name(config), Reviewer { cache: cache.clone(), clock });
    tokio::select! {
        () = webhook::serve(own.listen, &certificate, reviewer) => {}
        never = webhook::look_after(cluster.wire(), &config.leader.namespace, &host, &certificate) => match never {},
    }
}

/// A taken port is logged and tried again, and stops nothing.
async fn serve_metrics(config: &Config, cache: &Cache, requests: Arc<Requests>, tally: &Arc<Tally>, clock: Clock) {
    let Some(address) = config.metrics_listen else { return };
    let node_reaper = config.node_reaper_config.is_some();
    let (cache, tally, cluster) = (cache.clone(), Arc::clone(tally), config.cluster.clone());
    let shown = metrics::Shown { cache, requests, tally, clock, dry_run: config.dry_run, node_reaper, cluster };
    let guard = config.metrics_tls.guard();
    match metrics::bind(address).await {
        Ok(listener) => drop(tokio::task::spawn_local(metrics::serve(listener, guard, shown))),
        Err(error) => {
            tracing::error!(%address, %error, "no metrics: the address cannot be bound, will retry");
            drop(tokio::task::spawn_local(async move {
                let listener = metrics::bind_later(address).await;
                tracing::info!(%address, "metrics: the address is bound now");
                metrics::serve(listener, guard, shown).await;
            }));
        }
    }
}

/// The audit, where the configuration or the service manager has a place for it; in the journal in any case.
fn audit(config: &Config) -> Result<(audit::Writer, Audit), Fatal> {
    let file = config.audit_file.clone().or_else(audit::default_file);
    audit::start(file, host_name(config)).map_err(Fatal::Audit)
}

fn runner(clock: Clock) -> Result<Runner, Fatal> {
    let program = std::env::current_exe().map_err(Fatal::Program)?;
    Ok(Runner::new(program, vec![SUPERVISOR.to_owned()], Arc::new(move || clock.moment())))
}

/// What turns nodes off, as the configuration has it; asks no BMC yet.
pub fn power(config: &Config, cluster: &Arc<KubeCluster>) -> Result<NativePower<KubeCluster>, Fatal> {
    let settings = native::Settings {
        agents: config.fencing.agents_folder.clone(),
        secrets_folder: config.fencing.secrets_folder.clone(),
        ca_file: config.fencing.ca_file.clone(),
        ..native::Settings::default()
    };
    Ok(NativePower::new(Arc::clone(cluster), runner(cluster.clock())?, settings))
}

/// node-reaper's configuration, if there is one, announced.
fn reaper(config: &Config, plugins: &Plugins) -> Result<Option<Reaper>, Vec<Diagnostic>> {
    let Some(file) = &config.node_reaper_config else { return Ok(None) };
    let read = nodewell_reaper::read(file)?;
    nodewell_reaper::announce(file, &read, !plugins.is_empty());
    Reaper::new(read.config, !plugins.is_empty()).map(Some)
}

async fn guard(reaper: Option<&Reaper>, cache: &Cache, clock: Clock) {
    match reaper {
        Some(reaper) => reaper.guard(cache, clock).await,
        None => std::future::pending().await,
    }
}

fn host_name(config: &Config) -> String {
    let own = || nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let named = config.leader.identity.clone().or_else(|| config.node_name.clone()).or_else(own);
    named.unwrap_or_else(|| "unnamed".to_owned())
}

/// In `systemctl status`, where a person looks first; the journal has it from standard error.
pub fn failed(fatal: &Fatal) {
    notify::failed(&fatal.to_string());
}

/// A restarted program is another candidate: whatever it knew of its term is over.
fn terms(config: &Config, host: &str) -> Terms {
    let start = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut terms = Terms::new(format!("{host}_{}_{:x}", std::process::id(), start.as_nanos()));
    (terms.duration, terms.renew_within) = (config.leader.duration, config.leader.renew_deadline);
    terms.retry = config.leader.retry;
    terms
}

/// The program: the controller and its commands, or the supervisor of an agent.
pub fn program() -> ExitCode {
    let mut args = std::env::args_os();
    if args.nth(1).is_some_and(|name| name == SUPERVISOR) {
        return nodewell_power::supervisor::main(args);
    }
    crate::cli::run(std::env::args_os())
}
