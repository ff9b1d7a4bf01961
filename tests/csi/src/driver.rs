//! The services Identity and Node of a driver (csi.proto). A volume is mounted on a node that it is attached to, and on
//! no other.

use std::path::{Component, Path, PathBuf};

use crate::{
    ATTACHED_TO, DRIVER,
    grpc::{Code, Service, Status},
    mounts,
    wire::{Fields, Message},
};

/// Of one node.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) node: String,
    /// Where each volume is a folder.
    pub(crate) volumes: PathBuf,
}

impl Service for Driver {
    fn call(&self, method: &str, message: &[u8]) -> Result<Vec<u8>, Status> {
        let request = Fields::new(message);
        let answer = match method {
            "/csi.v1.Identity/GetPluginInfo" => Message::default().text(1, DRIVER).text(2, env!("CARGO_PKG_VERSION")),
            // It has no services beside these, and each node reaches each volume.
            "/csi.v1.Identity/GetPluginCapabilities" | "/csi.v1.Node/NodeGetCapabilities" => Message::default(),
            "/csi.v1.Identity/Probe" => Message::default().message(1, &Message::default().flag(1, true)),
            "/csi.v1.Node/NodeGetInfo" => Message::default().text(1, &self.node),
            "/csi.v1.Node/NodePublishVolume" => self.publish(request)?,
            "/csi.v1.Node/NodeUnpublishVolume" => unpublish(request)?,
            _ => return Err(Status::new(Code::Unimplemented, format!("{method} is not served"))),
        };
        Ok(answer.into_bytes())
    }
}

impl Driver {
    fn publish(&self, request: Fields<'_>) -> Result<Message, Status> {
        let volume = self.volume(request.text(1)?)?;
        let attached_to = request.entry(2, ATTACHED_TO)?;
        if attached_to != Some(self.node.as_str()) {
            let text = format!("{} is attached to {attached_to:?}, and not to {}", volume.display(), self.node);
            return Err(Status::new(Code::FailedPrecondition, text));
        }
        let target = target(request.text(4)?)?;
        if is_block(request)? {
            return Err(Status::new(Code::InvalidArgument, "the driver has no block devices"));
        }
        mounts::publish(&volume, target, request.flag(6)?).map_err(|error| failed(target, &error))?;
        Ok(Message::default())
    }

    /// The folder of a volume.
    fn volume(&self, name: &str) -> Result<PathBuf, Status> {
        let mut components = Path::new(name).components();
        if !matches!((components.next(), components.next()), (Some(Component::Normal(_)), None)) {
            return Err(Status::new(Code::InvalidArgument, format!("{name:?} is no name of a volume")));
        }
        let folder = self.volumes.join(name);
        let missing = || Status::new(Code::NotFound, format!("there is no volume {}", folder.display()));
        if folder.is_dir() { Ok(folder) } else { Err(missing()) }
    }
}

fn unpublish(request: Fields<'_>) -> Result<Message, Status> {
    let target = target(request.text(2)?)?;
    mounts::unpublish(target).map_err(|error| failed(target, &error))?;
    Ok(Message::default())
}

fn target(path: &str) -> Result<&Path, Status> {
    let target = Path::new(path);
    let relative = || Status::new(Code::InvalidArgument, format!("{path:?} is no path to mount a volume at"));
    if target.is_absolute() { Ok(target) } else { Err(relative()) }
}

/// By the volume's capability, which has one of the fields `block` and `mount`.
fn is_block(request: Fields<'_>) -> Result<bool, Status> {
    let capability = request.all(5)?.pop().unwrap_or_default();
    Ok(!Fields::new(capability).all(1)?.is_empty())
}

fn failed(target: &Path, error: &std::io::Error) -> Status {
    Status::new(Code::Internal, format!("{}: {error}", target.display()))
}
