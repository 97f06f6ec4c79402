//! What the proxy presents to clients.

use super::reload::{Reload, Reloadable};
use super::self_signed::self_signed;
use super::{TlsError, pem_files, provider};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::{NoClientAuth, WebPkiClientVerifier, danger::ClientCertVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientTlsSettings {
    /// PEM, the proxy's own certificate first, then its issuers. Without it, a self-signed one is made at start.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Whose client certificates are facts about a client. With it certificates are asked for; none is required.
    pub client_ca: Option<PathBuf>,
}

/// The client leg's TLS: share one between all listeners.
pub struct ClientTls {
    plan: Plan,
    config: Reloadable<ServerConfig>,
}

impl ClientTls {
    /// Reads the files, or makes a self-signed certificate.
    pub fn new(settings: ClientTlsSettings) -> Result<ClientTls, TlsError> {
        let ClientTlsSettings { certificate, key, client_ca } = settings;
        let presented = match pem_files::pair(certificate.as_ref(), key.as_ref())? {
            Some((certificate, key)) => Presented::Configured { certificate, key },
            None => Presented::SelfSigned(Box::new(self_signed()?)),
        };
        let plan = Plan { presented, client_ca };
        let config = Reloadable::load(plan.files(), || plan.build())?;
        Ok(ClientTls { plan, config })
    }

    /// Presents the certificate loaded last. Take one for each connection.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.current())
    }

    /// The files that a reload reads.
    pub fn files(&self) -> &[PathBuf] {
        self.config.files()
    }

    /// Looks whether the files changed, and reads them if they did. Reads files: not for a thread that must not wait.
    /// An error comes again with every call until the files are right; meanwhile the old certificate stays in use.
    ///
    /// A reload also forgets the sessions that clients could resume: one that an authority vouched for which has been
    /// removed must not come back by resumption, where no certificate is verified again.
    pub fn reload_if_changed(&self) -> Result<Reload, TlsError> {
        self.config.reload_if_changed(|| self.plan.build())
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("files", &self.plan.files()).finish_non_exhaustive()
    }
}

/// The settings, checked.
struct Plan {
    presented: Presented,
    client_ca: Option<PathBuf>,
}

enum Presented {
    Configured {
        certificate: PathBuf,
        key: PathBuf,
    },
    /// Kept over reloads: a client that remembered it must find it again.
    SelfSigned(Box<CertifiedKey>),
}

impl Plan {
    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.client_ca.iter().cloned().collect();
        if let Presented::Configured { certificate, key } = &self.presented {
            files.extend([certificate.clone(), key.clone()]);
        }
        files
    }

    fn build(&self) -> Result<ServerConfig, TlsError> {
        let certified = match &self.presented {
            Presented::Configured { certificate, key } => pem_files::certified_key(certificate, key)?,
            Presented::SelfSigned(certified) => CertifiedKey::clone(certified),
        };
        let verifier = match &self.client_ca {
            Some(path) => client_verifier(path)?,
            None => Arc::new(NoClientAuth),
        };
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        // The default remembers 256 sessions, two for each handshake: of 150 clients in turn none would resume. Tickets
        // are kept by the clients themselves. Each build has a key of its own, so a reload forgets them all.
        config.ticketer = Ticketer::new()?;
        Ok(config)
    }
}

fn client_verifier(path: &Path) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let (roots, _) = pem_files::authorities(path)?;
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
        .allow_unauthenticated()
        .build()
        .map_err(|error| TlsError::BadCertificate { path: path.to_owned(), problem: error.to_string() })
}

#[cfg(test)]
mod tests;
