//! Signing requests, with the approver's own rights: the trait `Requests` of `nodewell-approver`.

use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use nodewell_approver::{Decision, Request, Requests, approval_body, signing};
use nodewell_reconcile::api_error::ApiError;
use serde_json::Value;

use super::wire::{Wire, escaped};

const COLLECTION: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// The way to signing requests.
#[derive(Debug, Clone)]
pub struct SigningRequests {
    wire: Wire,
}

impl SigningRequests {
    /// `wire` has the approver's credentials, not the controller's.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self { wire }
    }

    async fn decide(&self, request: &Request, decision: Decision, message: &str) -> Result<(), ApiError> {
        undecided(request)?;
        let path = format!("{COLLECTION}/{}/approval", escaped(&request.name));
        let body = approval_body(request, decision, message, Timestamp::now());
        self.wire.merge::<Value>(&path, &body).await.map(drop)
    }
}

impl Requests for SigningRequests {
    /// Those that are decided already are left out before they are parsed: they stay on the server for an hour.
    async fn all(&self) -> Result<Vec<Request>, ApiError> {
        let mut open = Vec::new();
        let mut each = |object: CertificateSigningRequest| {
            if !signing::is_decided(&object) {
                open.push(signing::request(&object));
            }
        };
        self.wire.pages(COLLECTION, "", |_, item| each(item)).await?;
        Ok(open)
    }

    async fn approve(&self, request: &Request, message: &str) -> Result<(), ApiError> {
        self.decide(request, Decision::Approved, message).await
    }

    async fn deny(&self, request: &Request, message: &str) -> Result<(), ApiError> {
        self.decide(request, Decision::Denied, message).await
    }
}

/// A list in a merge patch takes the place of the whole one; by the version, that was the empty one.
fn undecided(request: &Request) -> Result<(), ApiError> {
    if request.uid.is_empty() || request.resource_version.is_empty() || request.decided {
        let message = format!("the request {} was decided, or read without its version", request.name);
        return Err(ApiError::Refused { code: 0, message });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        let mut object = CertificateSigningRequest::default();
        object.metadata.name = Some("nodewell-n1-0".into());
        object.metadata.uid = Some("u".into());
        object.metadata.resource_version = Some("7".into());
        signing::request(&object)
    }

    #[test]
    fn no_decision_is_overwritten() {
        assert_eq!(undecided(&request()), Ok(()));
        for odd in [
            Request { decided: true, ..request() },
            Request { uid: String::new(), ..request() },
            Request { resource_version: String::new(), ..request() },
        ] {
            assert!(undecided(&odd).is_err());
        }
    }
}
