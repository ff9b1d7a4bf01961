//! What `make soak` plants, and how it judges what comes of it: all of that but the cluster.

mod chosen;
mod fenced;
mod judged;
mod parts;
mod shown;
mod signalled;
mod summed_up;
mod watched;

use nodewell_tests::suite::Suite;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("soak");
    [
        chosen::list,
        fenced::list,
        judged::list,
        parts::list,
        shown::list,
        signalled::list,
        summed_up::list,
        watched::list,
    ]
    .iter()
    .for_each(|list| list(suite));
}
