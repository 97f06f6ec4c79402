//! RSA public keys in the PEM that `mysqld` sends: a SubjectPublicKeyInfo, lines of 64 characters ended by LF.

use super::ExchangeError;
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};
use pem::{EncodeConfig, LineEnding, Pem};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

/// An 8192-bit key takes 1,500 bytes; what is longer is no key.
const MAX_PEM_LENGTH: usize = 8192;

pub(super) fn to_pem(key: &PublicEncryptingKey) -> Option<Vec<u8>> {
    let der: PublicKeyX509Der<'_> = key.as_der().ok()?;
    let lf = EncodeConfig::new().set_line_ending(LineEnding::LF);
    Some(pem::encode_config(&Pem::new("PUBLIC KEY", der.as_ref()), lf).into_bytes())
}

pub(super) fn from_pem(pem: &[u8]) -> Result<OaepPublicEncryptingKey, ExchangeError> {
    if pem.len() > MAX_PEM_LENGTH {
        return Err(ExchangeError::BadPublicKey);
    }
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| ExchangeError::BadPublicKey)?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| ExchangeError::BadPublicKey)?;
    OaepPublicEncryptingKey::new(key).map_err(|_| ExchangeError::BadPublicKey)
}
