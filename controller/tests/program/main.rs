//! The program and what ships with it: definitions, roles, metrics, guides. One binary, which is linked once.

#![allow(clippy::unwrap_used)]

mod crds;
mod documented;
mod kdump;
mod observed;
mod plugins;
mod roles;
mod safety;
mod webhook;
