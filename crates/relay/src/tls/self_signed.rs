//! A certificate made at start where none is configured, as MySQL makes one: it encrypts, and proves nothing.

use super::{TlsError, provider};
use rcgen::{CertificateParams, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::CertifiedKey;
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn self_signed() -> Result<CertifiedKey, TlsError> {
    let failed = |error: rcgen::Error| TlsError::SelfSigned(error.to_string());
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Tollgate_Auto_Generated_Server_Certificate");
    params.is_ca = IsCa::ExplicitNoCa;
    // Ten years, as MySQL's; and a day back, for clients whose clock is late.
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + 3650 * DAY).into();
    let certificate = params.self_signed(&key).map_err(failed)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    Ok(CertifiedKey::from_der(vec![certificate.der().clone()], key, &provider())?)
}
