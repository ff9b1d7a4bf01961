//! How the kubelet finds the driver (pluginregistration/v1): it asks each socket in its folder of plug-ins what it is,
//! and answers whether it has registered it.

use std::path::PathBuf;

use tokio::sync::watch;

use crate::{
    DRIVER,
    grpc::{Code, Service, Status},
    wire::{Fields, Message},
};

const CSI_VERSION: &str = "1.0.0";

/// Of one driver.
#[derive(Debug)]
pub(crate) struct Registration {
    /// The driver's socket.
    pub(crate) endpoint: PathBuf,
    /// Why the kubelet has not registered it.
    pub(crate) refusal: watch::Sender<Option<String>>,
}

impl Service for Registration {
    fn call(&self, method: &str, message: &[u8]) -> Result<Vec<u8>, Status> {
        match method {
            "/pluginregistration.Registration/GetInfo" => Ok(self.info()),
            "/pluginregistration.Registration/NotifyRegistrationStatus" => self.notified(Fields::new(message)),
            _ => Err(Status::new(Code::Unimplemented, format!("{method} is not served"))),
        }
    }
}

impl Registration {
    fn info(&self) -> Vec<u8> {
        let info = Message::default().text(1, "CSIPlugin").text(2, DRIVER);
        info.text(3, &self.endpoint.to_string_lossy()).text(4, CSI_VERSION).into_bytes()
    }

    fn notified(&self, status: Fields<'_>) -> Result<Vec<u8>, Status> {
        if !status.flag(1)? {
            self.refusal.send_replace(Some(status.text(2)?.to_owned()));
        }
        Ok(Vec::new())
    }
}
