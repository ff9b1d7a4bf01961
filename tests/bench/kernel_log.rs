//! The kernel log that agents read while they are measured: the machine's own, or a made-up one without root.

use nodewell_tests::{
    agent::Plan,
    kmsg::{self, RealKmsg},
};

use crate::daemon::Daemon;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelLog {
    Real,
    MadeUp,
}

/// The writer of the lines.
pub(crate) enum Writer {
    /// Lifts the kernel's limit on what user space writes while it lives.
    Real(RealKmsg),
    MadeUp,
}

impl KernelLog {
    pub(crate) fn here() -> Self {
        if kmsg::unmet().is_none() { Self::Real } else { Self::MadeUp }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Real => "/dev/kmsg",
            Self::MadeUp => "a FIFO, no root",
        }
    }

    /// `plan` with this log as its kernel log.
    pub(crate) fn plan(self, plan: Plan) -> Plan {
        match self {
            Self::Real => plan.kernel_log("/dev/kmsg"),
            Self::MadeUp => plan.with_fifo(),
        }
    }

    /// The same for an agent that is to hear what the bench writes: user space cannot write as the kernel, it is
    /// filed under facility 1.
    pub(crate) fn plan_that_listens(self, plan: Plan) -> Plan {
        self.plan(plan).config("kmsg.facilities = [0, 1]\n")
    }

    pub(crate) fn writer(self) -> Writer {
        match self {
            Self::Real => Writer::Real(RealKmsg::take()),
            Self::MadeUp => Writer::MadeUp,
        }
    }
}

impl Writer {
    /// One line for `daemon`.
    pub(crate) fn write(&self, daemon: &Daemon, text: &str) {
        match self {
            Self::Real(kmsg) => kmsg.write(text),
            Self::MadeUp => daemon.plan().kmsg().write(text),
        }
    }
}
