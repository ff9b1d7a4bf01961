//! The agent's identity at the API server: finds the kubelet's credentials or gets some of its own, and leaves what the
//! agent may read where it looks. All of this but [`Way`] is done by root, in the oneshot `nodewell-identity`; the core
//! never reads root's files.

mod certificate;
mod credentials;
mod enrolment;
mod exec;
mod flags;
mod folder;
mod kubeconfig;
mod kubelet;
mod provisioner;
mod regular_file;
mod request;
mod server;
mod token;
mod way;

pub use certificate::{Certificate, CertificateError};
pub use credentials::{Cluster, Credentials, CredentialsError, KeyedCertificate, Secret};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use exec::secret as credentials_of_plugin;

pub use enrolment::{EnrolError, Enrolment, Progress};
pub use flags::IdentityFlags;
pub use folder::{Access, Folder, FolderError};
pub use kubeconfig::{DATA_ERROR, Files, Kubeconfig, KubeconfigError, YamlReader, as_json, stamps};
pub use kubelet::{Found, find as find_kubelet};
pub use provisioner::{NOTES, NodeIdentity, ProvisionError, Provisioner, Published};
pub use request::{GROUP, SigningRequest, USER_PREFIX, user_name};
pub use server::{AskError, Server};
pub use token::TokenClaims;
pub use way::{KUBECONFIG, Way};
