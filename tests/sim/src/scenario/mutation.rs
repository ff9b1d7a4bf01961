//! Guards that are switched off one at a time, to see that an oracle notices.

/// What is broken on purpose. Everything else of the controller stays the real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    None,
    /// I1: the policy's budgets and storms are as good as none.
    NoBudget,
    /// I1: pods that go are not counted.
    NoPodRate,
    /// I2, I3: power is reported as off whatever it is.
    FalseOff,
    /// I2: the out-of-service taint is set when power off is intended, and not after it.
    TaintsFirst,
    /// I2: a BMC's reading is repeated from a cache, as if it had been asked.
    CachesReadings,
    /// I4: one node that lives looks dead, in the watches and in every read of its Lease.
    SeesDead,
    /// I4: a node that announces a reboot is given no time for it.
    IgnoresReboots,
    /// I5: every replica believes that it leads for ever.
    LeadsForEver,
    /// I5: an agent outlives the term that started it: its supervisor does not end it at the lease deadline, and it is
    /// slow.
    OutlivesTerm,
    /// I6: an act in doubt is tried again without asking for the power's state.
    NeverAsks,
    /// I7: power cycles are not counted.
    NoPowerCycleLimit,
    /// I7: what is to be left off at the limit is turned on again.
    TurnsOnAtLimit,
    /// I8: every etcd member is always reported as healthy.
    BlindToQuorum,
    /// I8: the policy allows control-plane nodes, and the scenario does not know.
    TouchesControlPlane,
    /// I9: no storm is one.
    NoStorm,
    /// I9: a storm is forgotten as soon as it is over.
    NoCooldown,
    /// I10: a Lease that is missing counts as one that is old.
    MissingMeansDead,
    /// I11: a kill switch is seen neither by the check before an act nor by decisions.
    DeafToStop,
    /// I11: the annotation by which a person has a node skipped is never seen.
    DeafToSkip,
    /// I12: a record ends without taking back what is ours.
    LeavesMarks,
    /// I12: a node is uncordoned whichever actor cordoned it.
    UncordonsAnybody,
    /// I13: pods are deleted by their names, whichever pods bear them by then.
    NamesOnly,
    /// I13: a static pod looks like any other.
    TakesStaticPods,
    /// I13: a DaemonSet's pod looks like any other.
    TakesDaemonSets,
    /// I13: that a pod waits for its finalizers is not seen.
    ForgetsFinalizers,
    /// I14: a drain takes the time it wants.
    DrainsOn,
    /// I14: a drain deletes where it should ask the disruption budgets.
    AsksNoBudget,
    /// I15: a dry run is none.
    WritesInDryRun,
    /// I16: a policy that cannot be read any more stays in force.
    TakesBrokenPolicy,
    /// I17: the policy waits for ever before it does anything.
    Sluggish,
    /// I17: no volume is ever listed as attached.
    IgnoresAttachments,
    /// I17: volumes of pods that stay keep the out-of-service taint like all others.
    WaitsForEveryVolume,
    /// I17: a record of the policy that only isolates gives way to none, whatever becomes of its node.
    KeepsRecords,
    /// I17: neither a list nor a read of a record shows that the store went back; each alone is enough.
    ClingsToCopies,
    /// I18: the guards are passed over.
    SkipsGuards,
    /// I21: that a node is Ready with the boot that was confirmed to have ended is never seen.
    TrustsLiars,
    /// I20: Leases are called old by the wall clock.
    JudgesByWallClock,
}
