//! Certificates and keys from PEM files, with errors that name the file.

use super::{TlsError, provider};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, RootCertStore};
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// All certificate authorities of the world take a quarter of this.
const MAX_FILE_LENGTH: u64 = 1 << 20;

/// Two settings that make sense together only.
pub(super) fn pair(
    certificate: Option<&PathBuf>,
    key: Option<&PathBuf>,
) -> Result<Option<(PathBuf, PathBuf)>, TlsError> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate.clone(), key.clone()))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(TlsError::HalfAPair { given: "certificate", missing: "key" }),
        (None, Some(_)) => Err(TlsError::HalfAPair { given: "key", missing: "certificate" }),
    }
}

/// A certificate chain with the key of its first certificate.
pub(super) fn certified_key(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(certificate)?;
    let private_key = private_key(key)?;
    let signing_key = provider()
        .key_provider
        .load_private_key(private_key)
        .map_err(|error| TlsError::BadKey { path: key.to_owned(), problem: error.to_string() })?;
    let certified = CertifiedKey::new(chain, signing_key);
    match certified.keys_match() {
        // `Unknown`: a kind of key that does not tell its public half.
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => {
            Err(TlsError::KeyMismatch { certificate: certificate.to_owned(), key: key.to_owned() })
        }
        Err(error) => Err(bad_certificate(certificate, &error)),
    }
}

/// The authorities in a file, to verify against, and the certificates themselves.
pub(super) fn authorities(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsError> {
    let certificates = certificates(path)?;
    let mut roots = RootCertStore::empty();
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|error| bad_certificate(path, &error))?;
    }
    Ok((roots, certificates))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&read(path)?)
        .collect::<Result<_, _>>()
        .map_err(|error| broken_pem(path, &error))?;
    if certificates.is_empty() { Err(TlsError::NoCertificate { path: path.to_owned() }) } else { Ok(certificates) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let content = read(path)?;
    match PrivateKeyDer::from_pem_slice(&content) {
        Ok(_) if is_legacy_encrypted(&content) => Err(TlsError::EncryptedKey { path: path.to_owned() }),
        Ok(key) => Ok(key),
        Err(_) if contains(&content, b"ENCRYPTED") => Err(TlsError::EncryptedKey { path: path.to_owned() }),
        Err(pem::Error::NoItemsFound) => Err(TlsError::NoKey { path: path.to_owned() }),
        Err(error) => Err(broken_pem(path, &error)),
    }
}

/// `Proc-Type: 4,ENCRYPTED` in the header lines of an old-style key.
fn is_legacy_encrypted(content: &[u8]) -> bool {
    contains(content, b"Proc-Type: 4,ENCRYPTED")
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, TlsError> {
    match files::read(path, MAX_FILE_LENGTH) {
        Ok(content) => Ok(Zeroizing::new(content.bytes)),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(TlsError::TooLarge { path: path.to_owned(), limit: MAX_FILE_LENGTH })
        }
        Err(source) => Err(TlsError::Unreadable { path: path.to_owned(), source }),
    }
}

fn broken_pem(path: &Path, error: &pem::Error) -> TlsError {
    // The library shows the offending line as numbers, and of a key file it must not show anything.
    let problem = match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no -----END----- line".to_owned(),
        pem::Error::IllegalSectionStart { .. } => "a -----BEGIN----- line is malformed".to_owned(),
        pem::Error::Base64Decode(_) => "a section is not base64".to_owned(),
        other => other.to_string(),
    };
    TlsError::BrokenPem { path: path.to_owned(), problem }
}

fn bad_certificate(path: &Path, error: &rustls::Error) -> TlsError {
    TlsError::BadCertificate { path: path.to_owned(), problem: error.to_string() }
}

#[cfg(test)]
mod tests;
