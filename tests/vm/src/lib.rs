//! Virtual machines for the tests: a Debian kernel under QEMU, our own programs in its first userland, faults by QMP.
