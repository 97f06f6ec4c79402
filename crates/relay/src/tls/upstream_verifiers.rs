//! The two ways of looking at a server's certificate that rustls does not bring along.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

/// `preferred` and `required`: any certificate will do. The handshake's signature is not verified either: by a certificate that
/// anyone could have made it proves nothing, and old MySQL manuals had people make version 1 certificates, which our TLS
/// library does not read.
#[derive(Debug)]
pub(super) struct NoVerifier {
    provider: Arc<CryptoProvider>,
}

impl NoVerifier {
    pub(super) fn new(provider: Arc<CryptoProvider>) -> NoVerifier {
        NoVerifier { provider }
    }
}

impl ServerCertVerifier for NoVerifier {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// `verify_ca`: signed by one of our authorities, whatever name it is made out to.
#[derive(Debug)]
pub(super) struct ChainVerifier {
    roots: RootCertStore,
    /// The certificates of the `ca` file. A server whose own certificate is listed there (self-signed, by `openssl req
    /// -x509`) is that server; OpenSSL takes it so, and webpki alone would not.
    listed: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ChainVerifier {
    pub(super) fn new(
        roots: RootCertStore,
        listed: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> ChainVerifier {
        ChainVerifier { roots, listed, provider }
    }
}

impl ServerCertVerifier for ChainVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.listed.contains(end_entity) {
            verify_dates(end_entity, now)?;
            return Ok(ServerCertVerified::assertion());
        }
        verify_server_cert_signed_by_trust_anchor(
            &ParsedCertificate::try_from(end_entity)?,
            &self.roots,
            intermediates,
            now,
            self.provider.signature_verification_algorithms.all,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn verify_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let unreadable = || Error::from(CertificateError::BadEncoding);
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| unreadable())?;
    let seconds = i64::try_from(now.as_secs()).map_err(|_| unreadable())?;
    let now = ASN1Time::from_timestamp(seconds).map_err(|_| unreadable())?;
    let validity = parsed.validity();
    if now < validity.not_before {
        Err(CertificateError::NotValidYet.into())
    } else if now > validity.not_after {
        Err(CertificateError::Expired.into())
    } else {
        Ok(())
    }
}
