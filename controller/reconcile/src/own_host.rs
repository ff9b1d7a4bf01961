//! This host itself: each replica looks once a second whether its own host needs remediation. The election asks for that.

use std::time::Duration;

use nodewell_remediation::decide::OwnHost;

use crate::{cache::Cache, clock::Clock};

const APART: Duration = Duration::from_secs(1);

/// Never returns.
pub(crate) async fn watch(cache: &Cache, clock: Clock) {
    let mut own_host = OwnHost::default();
    loop {
        let now = clock.now();
        let (was, is) = cache.with(|snapshot| (snapshot.host.in_need, own_host.observe(snapshot, now)));
        match (was, is) {
            (false, true) => {
                tracing::warn!("the host of this controller needs remediation: another replica is to lead")
            }
            (true, false) => tracing::info!("the host of this controller is well again, and may lead"),
            (false, false) | (true, true) => {}
        }
        cache.set_host(|host| host.in_need = is);
        tokio::time::sleep(APART).await;
    }
}
