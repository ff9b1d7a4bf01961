//! How a node gets a certificate of its own: asks for it, waits for approval, and believes only what fits its key.
//!
//! Each step can be taken again after a crash: the key is saved before the request is sent, and the request is named by
//! the key.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, from_value};

use super::{
    certificate::{Certificate, CertificateError},
    credentials::Secret,
    folder::{Folder, FolderError},
    request::{GROUP, SigningRequest, user_name},
    server::{AskError, Server},
};

/// The request under way, with its key: in the folder of the keys.
const PENDING: &str = "pending.json";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/// The agent does not repeat a denied request at once.
const AFTER_DENIAL: SignedDuration = SignedDuration::from_hours(24);

/// Why a step could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("cannot make a key or its request: {0}")]
    Key(#[from] rcgen::Error),
    #[error("cannot ask for a certificate: {0}")]
    Server(#[from] AskError),
    #[error("{name} was answered with something that is no certificate: {source}")]
    Certificate { name: String, source: CertificateError },
    #[error("{name} was answered with a certificate that {why}: it is not used, and a new one is asked for next time")]
    Foreign { name: String, why: &'static str },
}

/// Where a request stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The request is not approved yet.
    Waiting {
        name: String,
    },
    /// The request was denied, or the signer failed.
    Denied {
        name: String,
        why: String,
    },
    Issued {
        name: String,
        secret: Secret,
    },
}

/// What is saved of a request.
#[derive(Serialize, Deserialize)]
struct Pending {
    node: String,
    key: String,
    /// It was seen on the server: if it is gone, it has been collected there.
    asked: bool,
    denied: Option<Denial>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Denial {
    at: Timestamp,
    why: String,
}

/// The enrolment of one node.
#[derive(Debug, Clone, Copy)]
pub struct Enrolment<'a> {
    pub folder: &'a Folder,
    pub node: &'a str,
    pub lifetime: std::time::Duration,
}

impl Enrolment<'_> {
    /// Whether a request is under way.
    pub fn is_under_way(&self) -> Result<bool, FolderError> {
        Ok(self.pending()?.is_some())
    }

    /// Forgets the request under way, and its key.
    pub fn forget(&self) -> Result<(), FolderError> {
        self.folder.remove(PENDING).map(drop)
    }

    /// Allows a denied request to be made again: a person asks for it.
    pub fn forget_denial(&self) -> Result<(), FolderError> {
        let is_denied = self.pending()?.is_some_and(|pending| pending.denied.is_some());
        if is_denied { self.forget() } else { Ok(()) }
    }

    /// One step, now, while no other process takes one.
    pub async fn locked_step(&self, server: &Server) -> Result<Progress, EnrolError> {
        let _lock = self.folder.lock()?;
        self.step(server, Timestamp::now()).await
    }

    /// Asks, or looks how what was asked stands.
    async fn step(&self, server: &Server, now: Timestamp) -> Result<Progress, EnrolError> {
        let mut pending = match self.pending()? {
            Some(Pending { denied: Some(denial), .. }) if now.duration_since(denial.at) >= AFTER_DENIAL => {
                self.begin()?
            }
            Some(pending) => pending,
            None => self.begin()?,
        };
        let request = SigningRequest::again(&pending.key, self.node)?;
        if let Some(denial) = pending.denied {
            return Ok(Progress::Denied { name: request.name().to_owned(), why: denial.why });
        }
        let Some(object) = self.on_server(server, &request, &mut pending).await? else {
            // It was never answered and has been collected; a new key costs nothing.
            self.forget()?;
            return Ok(Progress::Waiting { name: request.name().to_owned() });
        };
        self.judged(&object, request, pending, now)
    }

    fn pending(&self) -> Result<Option<Pending>, FolderError> {
        let saved = self.folder.read(PENDING)?;
        // One that cannot be read, or is another node's, is as good as none.
        let pending = saved.and_then(|json| serde_json::from_slice::<Pending>(&json).ok());
        Ok(pending.filter(|pending| pending.node == self.node))
    }

    fn begin(&self) -> Result<Pending, EnrolError> {
        let key = SigningRequest::new(self.node)?.key_pem();
        let pending = Pending { node: self.node.to_owned(), key, asked: false, denied: None };
        self.note(&pending)?;
        Ok(pending)
    }

    fn note(&self, pending: &Pending) -> Result<(), FolderError> {
        let json = serde_json::to_vec(pending).unwrap_or_default();
        self.folder.replace(PENDING, &json).map(drop)
    }

    /// The request as the server has it, made if it was not yet; `None` if it was there and is gone.
    async fn on_server(
        &self,
        server: &Server,
        request: &SigningRequest,
        pending: &mut Pending,
    ) -> Result<Option<Value>, EnrolError> {
        let path = format!("{REQUESTS}/{}", request.name());
        let found = if pending.asked {
            match server.get(&path).await {
                Err(error) if error.code() == Some(404) => return Ok(None),
                found => found?,
            }
        } else {
            match server.post(REQUESTS, request.object(self.lifetime)).await {
                // The answer to an earlier one was lost.
                Err(error) if error.code() == Some(409) => server.get(&path).await?,
                made => made?,
            }
        };
        if !pending.asked {
            pending.asked = true;
            self.note(pending)?;
        }
        Ok(Some(found))
    }

    fn judged(
        &self,
        object: &Value,
        request: SigningRequest,
        mut pending: Pending,
        now: Timestamp,
    ) -> Result<Progress, EnrolError> {
        let name = request.name().to_owned();
        if let Some(why) = denial(object) {
            pending.denied = Some(Denial { at: now, why: why.clone() });
            self.note(&pending)?;
            return Ok(Progress::Denied { name, why });
        }
        let Some(pem) = issued(object) else { return Ok(Progress::Waiting { name }) };
        match fits(&pem, &request.public_key(), self.node, now) {
            Ok(()) => {
                Ok(Progress::Issued { name, secret: Secret::of_certificate(pem, request.key_pem().into_bytes()) })
            }
            Err(error) => {
                self.forget()?;
                Err(error(name))
            }
        }
    }
}

/// The message of the denial, or of the signer that failed.
fn denial(object: &Value) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array()?;
    let refusing = conditions.iter().find(|one| one["type"] == "Denied" || one["type"] == "Failed")?;
    let words = ["type", "reason", "message"].map(|key| refusing[key].as_str().unwrap_or_default());
    Some(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(": "))
}

fn issued(object: &Value) -> Option<Vec<u8>> {
    let ByteString(pem) = from_value(object["status"]["certificate"].clone()).ok()?;
    (!pem.is_empty()).then_some(pem)
}

type Unfit = Box<dyn FnOnce(String) -> EnrolError>;

/// The server that answers may be wrong, or worse: what is not for our key, our name and our use is not taken.
fn fits(pem: &[u8], public_key: &[u8], node: &str, now: Timestamp) -> Result<(), Unfit> {
    let certificate = Certificate::read(pem)
        .map_err(|source| -> Unfit { Box::new(|name| EnrolError::Certificate { name, source }) })?;
    let foreign = |why| -> Result<(), Unfit> { Err(Box::new(move |name| EnrolError::Foreign { name, why })) };
    match () {
        () if certificate.public_key != public_key => foreign("is for another key"),
        () if certificate.common_name != user_name(node) => foreign("has another name"),
        () if certificate.organizations != [GROUP] => foreign("has other groups"),
        () if certificate.has_alternative_names => foreign("names hosts"),
        () if !certificate.is_for_clients => foreign("is not for clients"),
        () if certificate.not_before > now => foreign("is not good yet (is this machine's clock right?)"),
        () if certificate.not_after <= now => foreign("is over already (is this machine's clock right?)"),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests;
