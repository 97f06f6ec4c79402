//! How the proxy talks TLS to the upstream.

use super::reload::{Reload, Reloadable};
use super::upstream_verifiers::{ChainVerifier, NoVerifier};
use super::{TlsError, pem_files, provider};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::{AlertDescription, ClientConfig};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};
use tokio_rustls::TlsConnector;

/// MySQL's `--ssl-mode`, by the same names and with the same meaning, but for a failed handshake in `Preferred`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpstreamTlsMode {
    Disabled,
    /// TLS if the server offers it in a version that we speak, and nothing verified.
    #[default]
    Preferred,
    /// TLS or no connection, and nothing verified.
    Required,
    /// The chain is verified against `ca`; names are not looked at, since MySQL's own certificates have none.
    VerifyCa,
    /// The chain, and that the certificate is made out to the server's name (in its subject alternative names; a common
    /// name is not looked at).
    VerifyIdentity,
}

impl fmt::Display for UpstreamTlsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UpstreamTlsMode::Disabled => "disabled",
            UpstreamTlsMode::Preferred => "preferred",
            UpstreamTlsMode::Required => "required",
            UpstreamTlsMode::VerifyCa => "verify_ca",
            UpstreamTlsMode::VerifyIdentity => "verify_identity",
        })
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpstreamTlsSettings {
    pub mode: UpstreamTlsMode,
    /// PEM: who may have signed the server's certificate. For `VerifyCa` and `VerifyIdentity`, and required there.
    pub ca: Option<PathBuf>,
    /// A client certificate of the proxy's own, for servers that ask for one.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// The name to send and to verify, where it is not the host that is dialled.
    pub server_name: Option<String>,
}

/// The upstream leg's TLS: one for each upstream, since it holds the sessions to resume.
pub struct UpstreamTls {
    plan: Plan,
    config: Reloadable<ClientConfig>,
}

impl UpstreamTls {
    pub fn new(settings: UpstreamTlsSettings) -> Result<UpstreamTls, TlsError> {
        let plan = Plan::new(settings)?;
        let config = Reloadable::load(plan.files(), || plan.build())?;
        Ok(UpstreamTls { plan, config })
    }

    pub fn mode(&self) -> UpstreamTlsMode {
        self.plan.mode
    }

    /// Verifies with the files loaded last. Take one for each connection. (With `Disabled`, it is the caller that does not
    /// start TLS; the connector would verify nothing.)
    pub fn connector(&self) -> TlsConnector {
        TlsConnector::from(self.config.current())
    }

    /// The name to give to [`TlsConnector::connect`] for a server dialled as `host`: a name or an IP address.
    pub fn server_name(&self, host: &str) -> ServerName<'static> {
        if let Some(name) = &self.plan.server_name {
            return name.clone();
        }
        // A fully qualified name may end in a dot, which no certificate has; an IPv6 address may come in brackets.
        let bare = host.strip_suffix('.').unwrap_or(host);
        let bare = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(bare);
        ServerName::try_from(bare.to_owned()).unwrap_or_else(|_| nameless())
    }

    /// The files that a reload reads.
    pub fn files(&self) -> &[PathBuf] {
        self.config.files()
    }

    /// As [`super::ClientTls::reload_if_changed`].
    pub fn reload_if_changed(&self) -> Result<Reload, TlsError> {
        self.config.reload_if_changed(|| self.plan.build())
    }
}

impl fmt::Debug for UpstreamTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { mode, server_name, .. } = &self.plan;
        f.debug_struct("UpstreamTls")
            .field("mode", mode)
            .field("server_name", server_name)
            .field("files", &self.plan.files())
            .finish_non_exhaustive()
    }
}

/// For a host that TLS cannot name (a socket's path): no name is sent, and no certificate is made out to this address, so
/// `VerifyIdentity` refuses it.
fn nameless() -> ServerName<'static> {
    IpAddr::V4(Ipv4Addr::UNSPECIFIED).into()
}

/// The settings, checked.
struct Plan {
    mode: UpstreamTlsMode,
    verification: Verification,
    client_certificate: Option<(PathBuf, PathBuf)>,
    server_name: Option<ServerName<'static>>,
}

enum Verification {
    Nothing,
    Chain(PathBuf),
    ChainAndName(PathBuf),
}

impl Plan {
    fn new(settings: UpstreamTlsSettings) -> Result<Plan, TlsError> {
        let UpstreamTlsSettings { mode, ca, certificate, key, server_name } = settings;
        let verification = match (mode, ca) {
            // Whoever sets an authority believes that it is asked; silence would be worse than refusing to start.
            (UpstreamTlsMode::Preferred | UpstreamTlsMode::Required, Some(_)) => {
                return Err(TlsError::CaUnused { mode });
            }
            (UpstreamTlsMode::VerifyCa | UpstreamTlsMode::VerifyIdentity, None) => {
                return Err(TlsError::CaMissing { mode });
            }
            (UpstreamTlsMode::Disabled, _) | (UpstreamTlsMode::Preferred | UpstreamTlsMode::Required, None) => {
                Verification::Nothing
            }
            (UpstreamTlsMode::VerifyCa, Some(ca)) => Verification::Chain(ca),
            (UpstreamTlsMode::VerifyIdentity, Some(ca)) => Verification::ChainAndName(ca),
        };
        let client_certificate = match mode {
            UpstreamTlsMode::Disabled => None,
            UpstreamTlsMode::Preferred
            | UpstreamTlsMode::Required
            | UpstreamTlsMode::VerifyCa
            | UpstreamTlsMode::VerifyIdentity => pem_files::pair(certificate.as_ref(), key.as_ref())?,
        };
        let server_name = server_name
            .map(|name| ServerName::try_from(name.clone()).map_err(|_| TlsError::BadServerName { name }))
            .transpose()?;
        Ok(Plan { mode, verification, client_certificate, server_name })
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        match &self.verification {
            Verification::Nothing => {}
            Verification::Chain(ca) | Verification::ChainAndName(ca) => files.push(ca.clone()),
        }
        if let Some((certificate, key)) = &self.client_certificate {
            files.extend([certificate.clone(), key.clone()]);
        }
        files
    }

    fn build(&self) -> Result<ClientConfig, TlsError> {
        let verifier: Arc<dyn ServerCertVerifier> = match &self.verification {
            Verification::Nothing => Arc::new(NoVerifier::new(provider())),
            Verification::Chain(ca) => {
                let (roots, certificates) = pem_files::authorities(ca)?;
                Arc::new(ChainVerifier::new(roots, certificates, provider()))
            }
            Verification::ChainAndName(ca) => full_verifier(ca)?,
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        Ok(match &self.client_certificate {
            Some((certificate, key)) => {
                let certified = pem_files::certified_key(certificate, key)?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
            }
            None => builder.with_no_client_auth(),
        })
    }
}

/// Whether a handshake failed because the two ends have no version or cipher in common, as a server before TLS 1.2. (An
/// OpenSSL that may use no version at all says "internal error".) What failed by a certificate, a broken connection or a
/// timeout may succeed the next time, or must not.
pub(crate) fn is_incompatible(error: &io::Error) -> bool {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::PeerIncompatible(_)) => true,
        Some(rustls::Error::AlertReceived(alert)) => matches!(
            alert,
            AlertDescription::ProtocolVersion
                | AlertDescription::HandshakeFailure
                | AlertDescription::InsufficientSecurity
                | AlertDescription::InternalError
        ),
        Some(_) | None => false,
    }
}

fn full_verifier(ca: &Path) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let (roots, _) = pem_files::authorities(ca)?;
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(|error| TlsError::BadCertificate { path: ca.to_owned(), problem: error.to_string() })
}

#[cfg(test)]
mod tests;
