//! Certificates made for a test, and handshakes in memory.

use super::upstream_verifiers::NoVerifier;
use super::{pem_files, provider};
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, SupportedProtocolVersion};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// An authority that signs what a test needs.
pub(super) struct Authority {
    pub(super) certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM.
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    pub(super) fn new(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Authority { certificate, issuer: Issuer::new(params, key) }
    }

    pub(super) fn sign(&self, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    pub(super) fn pem_in(&self, folder: &Path, file: &str) -> PathBuf {
        write(folder, file, &self.certificate.pem())
    }
}

/// `names` empty: no names at all, as in the certificates that `mysqld` makes.
pub(super) fn named(common_name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.is_ca = IsCa::ExplicitNoCa;
    params
}

pub(super) fn expired(mut params: CertificateParams) -> CertificateParams {
    params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    params
}

impl Pair {
    /// Writes `NAME.pem` and `NAME.key`.
    pub(super) fn in_folder(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let certificate = write(folder, &format!("{name}.pem"), &self.certificate);
        (certificate, write(folder, &format!("{name}.key"), &self.key))
    }
}

pub(super) fn write(folder: &Path, file: &str, content: &str) -> PathBuf {
    // A new inode each time, as tools that replace certificates make it; times alone may be too coarse for a test.
    let (path, new) = (folder.join(file), folder.join(format!("{file}.new")));
    fs::write(&new, content).unwrap();
    fs::rename(&new, &path).unwrap();
    path
}

/// A client that verifies nothing, of one TLS version.
pub(super) fn client(
    version: &'static SupportedProtocolVersion,
    certificate: Option<&(PathBuf, PathBuf)>,
) -> TlsConnector {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(NoVerifier::new(provider())));
    let config = match certificate {
        Some((certificate, key)) => {
            let certified = pem_files::certified_key(certificate, key).unwrap();
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
        None => builder.with_no_client_auth(),
    };
    TlsConnector::from(Arc::new(config))
}

pub(super) struct Connected {
    pub(super) server: server::TlsStream<DuplexStream>,
    pub(super) client: client::TlsStream<DuplexStream>,
}

impl Connected {
    /// A byte each way: proves that the connection works, and brings a TLS 1.3 client its tickets.
    pub(super) async fn echo(&mut self) {
        self.server.write_all(b"s").await.unwrap();
        self.client.write_all(b"c").await.unwrap();
        assert_eq!((self.client.read_u8().await.unwrap(), self.server.read_u8().await.unwrap()), (b's', b'c'));
    }

    /// The certificate that the server presented.
    pub(super) fn presented(&self) -> Vec<u8> {
        self.client.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    }
}

pub(super) async fn handshake(
    acceptor: TlsAcceptor,
    connector: &TlsConnector,
    name: ServerName<'static>,
) -> io::Result<Connected> {
    let (server_end, client_end) = tokio::io::duplex(64 * 1024);
    let (server, client) = tokio::join!(acceptor.accept(server_end), connector.connect(name, client_end));
    // The side that refuses says why; the other one only hears an alert. A TLS 1.3 client is done before the server has
    // looked at its certificate.
    match (server, client) {
        (Ok(server), Ok(client)) => Ok(Connected { server, client }),
        (_, Err(error)) if !error.to_string().contains("received fatal alert") => Err(error),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}
