//! Volumes that are attached to one node at a time, for cases on a real cluster: a CSI driver that runs on each node,
//! and the storage behind it, which knows where each volume is attached.
//!
//! A volume is a folder that all nodes reach, so that what one node has written the next one reads. Protocols:
//! csi.proto (container-storage-interface/spec, v1) and the kubelet's pluginregistration/v1.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod authority;
mod driver;
mod grpc;
mod mounts;
pub mod plugin;
mod registration;
pub mod storage;
mod wire;

/// What PersistentVolumes, the CSIDriver and VolumeAttachments name.
pub const DRIVER: &str = "volumes.nodewell.dev";
/// In a VolumeAttachment's metadata: the node it was attached to, by which the driver there knows that it was.
pub const ATTACHED_TO: &str = "attached-to";
