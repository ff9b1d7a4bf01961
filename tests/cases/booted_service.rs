//! The installed package under a real systemd: what its administrator does, and what goes wrong there. One machine is
//! booted for all steps, in the order of a package's life.

use nodewell_tests::{
    machine::{Machine, Package, Release},
    suite::{Need, Suite},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("booted_service").case_with(
        &[Need::Machine(Release::Bookworm)],
        "a_package_lives_on_systemd_252",
        || life(Release::Bookworm),
    );
}

fn life(release: Release) {
    let machine = Machine::boot(release);
    machine.install(Package::built());
    machine.wait_property("nodewell.service", "ActiveState", "active");
}
