//! Each blocker by its own reason: columns, metrics and the runbook go by it.

use super::{course::dead, course::run, parts::level, parts::plan};
use crate::{
    action::{Done, Failed, IrreversibleOp, Op, ReversibleOp},
    api::fence::{Blocker, Phase},
    fence::{Next, apply_outcome},
    snapshot::{FenceLevel, FencePlan},
};

fn blocked(methods: Option<Result<FencePlan, Blocker>>) -> String {
    let mut fixture = dead();
    fixture.gathered.methods = methods;
    run(&mut fixture, 100, |fixture| !fixture.fence.status.blocked_by.is_empty());
    fixture.fence.status.blocked_by[0].reason.clone()
}

#[test]
fn a_mistake_in_the_configuration_is_no_missing_configuration() {
    let broken = |reason| Some(Err(Blocker::new(reason, "fence-config-n1/fence-method-ipmi:2: no option lanpluss")));
    assert_eq!(blocked(broken("FenceNotReady")), "FenceNotReady");
    assert_eq!(blocked(broken("NoMethods")), "NoMethods");
    assert_eq!(blocked(Some(Ok(FencePlan { levels: Vec::new(), ..plan() }))), "NoMethods");
    let unproven = FenceLevel { identity: Some(Err("another's".into())), ..level("ipmi") };
    assert_eq!(blocked(Some(Ok(FencePlan { levels: vec![unproven], ..plan() }))), "IdentityUnproven");
    assert_eq!(blocked(None), "FenceNotReady");
}

#[test]
fn only_methods_that_ran_are_in_the_journal() {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| fixture.fence.status.phase == Phase::AwaitGuards);
    let names = ["mark-unschedulable", "clean-pods", "port"].map(str::to_owned).to_vec();
    let (fence, event) = apply_outcome(
        &fixture.fence,
        &Op::Reversible(ReversibleOp::Methods(names.clone())),
        &Ok(Done::Yes),
        fixture.epoch,
        fixture.now,
    );
    assert!(fence.status.isolated);
    assert_eq!(event.message, "fence methods ran: mark-unschedulable, port");
    let failed = Err(Failed::NotBegun("no".into()));
    let (_, event) = apply_outcome(
        &fixture.fence,
        &Op::Reversible(ReversibleOp::Methods(names)),
        &failed,
        fixture.epoch,
        fixture.now,
    );
    assert_eq!((event.reason.as_str(), event.message.contains("unschedulable")), ("MethodsFailed", false));
}

#[test]
fn a_built_in_cordon_waits_for_the_budget_of_cordons() {
    let mut fixture = dead();
    fixture.gathered.methods = Some(Ok(FencePlan { isolation: vec!["mark-unschedulable".into()], ..plan() }));
    run(&mut fixture, 400, |fixture| fixture.fence.status.phase == Phase::AwaitGuards);
    fixture.guard_blockers.isolate = vec![Blocker::new("BudgetCluster", "too many")];
    for _ in 0..200 {
        fixture.pass(std::time::Duration::from_secs(1));
        if let Next::Act(crate::action::Action::Perform { op, .. }) = fixture.next() {
            assert!(
                !matches!(op, Op::Reversible(ReversibleOp::Methods(_)) | Op::Irreversible(IrreversibleOp::PowerOff)),
                "{op:?}"
            );
        }
        run(&mut fixture, 1, |_| false);
    }
    assert_eq!(fixture.fence.status.blocked_by[0].reason, "BudgetCluster");
}
