//! A Lease of another remediator blocks; one of the remediator that asked for this very record does not.

use super::*;
use crate::{api::request::REQUESTED_BY, snapshot::Customer};

/// A record that `NodeHealthCheck-workers` asked for by the request `u-1`, whose Lease it holds.
fn asked_for() -> Fixture {
    let mut fixture = Fixture::new();
    let fence = fixture.open(Phase::Pending);
    fence.spec.policy = String::new();
    fence.metadata.annotations.insert(REQUESTED_BY.into(), "cluster/ops/n0/u-1".into());
    let leases = &mut fixture.snapshot.peer_leases;
    leases.held.insert("n0".into(), "Lease medik8s-leases/node-n0 is held by NodeHealthCheck-workers".into());
    leases.holders.insert("n0".into(), "NodeHealthCheck-workers".into());
    let customer = Customer { request: "u-1".into(), holder: "NodeHealthCheck-workers".into() };
    fixture.snapshot.customers.insert("n0".into(), customer);
    fixture
}

#[test]
fn the_holder_that_asked_for_the_record_does_not_block_it() {
    assert_eq!(asked_for().all_blockers(), GuardBlockers::default());
}

#[test]
fn the_lease_blocks_for_everything_else() {
    type Change = fn(&mut Fixture);
    let cases: [(&str, Change); 7] = [
        ("no customer", |fixture| fixture.snapshot.customers.clear()),
        ("another holder", |fixture| {
            drop(fixture.snapshot.peer_leases.holders.insert("n0".into(), "node-maintenance".into()));
        }),
        ("a holder that is not known", |fixture| fixture.snapshot.peer_leases.holders.clear()),
        ("a policy's record", |fixture| fixture.fence.as_mut().unwrap().metadata.annotations.clear()),
        ("another request's record", |fixture| {
            let annotations = &mut fixture.fence.as_mut().unwrap().metadata.annotations;
            annotations.insert(REQUESTED_BY.into(), "cluster/ops/n0/u-2".into());
        }),
        ("a customer of another node", |fixture| {
            let customer = fixture.snapshot.customers.remove("n0").unwrap();
            fixture.snapshot.customers.insert("n1".into(), customer);
        }),
        ("Leases that cannot be read", |fixture| {
            fixture.snapshot.peer_leases = crate::snapshot::PeerLeases {
                unreadable: Some("forbidden".into()),
                ..crate::snapshot::PeerLeases::default()
            };
        }),
    ];
    for (what, change) in cases {
        let mut fixture = asked_for();
        change(&mut fixture);
        assert_eq!(reasons(&fixture.all_blockers().power), ["ClaimedByPeer"], "{what}");
    }
}

/// No record is open: a policy that would open one waits.
#[test]
fn a_node_without_a_record_stays_the_holders() {
    let mut fixture = asked_for();
    fixture.fence = None;
    fixture.snapshot.fences.clear();
    assert_eq!(reasons(&fixture.all_blockers().isolate), ["ClaimedByPeer"]);
}
