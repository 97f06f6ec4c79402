//! TLS on each leg by itself: what the proxy presents to clients ([`ClientTls`]) and how it talks to the upstream
//! ([`UpstreamTls`]). Certificates are read again when their files change, without a restart; connections that are open
//! keep what they began with. What cannot be loaded never replaces what works.
//!
//! Nothing here touches a socket or a process-wide default: the crypto provider is named wherever one is needed.

mod client_certificate;
mod client_leg;
mod error;
mod pem_files;
mod reload;
mod self_signed;
mod upstream_leg;
mod upstream_verifiers;

#[cfg(test)]
mod testing;

#[cfg(fuzzing)]
pub use client_certificate::certificate_facts;
pub use client_certificate::{ClientCertificate, verified_subject};
pub use client_leg::{ClientTls, ClientTlsSettings};
pub use error::TlsError;
pub use reload::Reload;
pub(crate) use upstream_leg::is_incompatible;
pub use upstream_leg::{UpstreamTls, UpstreamTlsMode, UpstreamTlsSettings};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use std::sync::Arc;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
