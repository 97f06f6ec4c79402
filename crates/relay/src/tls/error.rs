use super::upstream_leg::UpstreamTlsMode;
use std::io;
use std::path::PathBuf;

/// What is wrong with the TLS settings or their files, in which file, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}: {source}; check the path, and that the proxy's user may read it")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is larger than {limit} bytes and is not taken for a PEM file; check the path")]
    TooLarge { path: PathBuf, limit: u64 },
    #[error("{path} is broken PEM: {problem}; was it copied whole?")]
    BrokenPem { path: PathBuf, problem: String },
    #[error(
        "{path} holds no certificate; it must be PEM (-----BEGIN CERTIFICATE-----), the server's own certificate first"
    )]
    NoCertificate { path: PathBuf },
    #[error(
        "a certificate in {path} cannot be used: {problem}; it must be X.509 version 3, see `openssl x509 -in FILE -text`"
    )]
    BadCertificate { path: PathBuf, problem: String },
    #[error("{path} holds no private key; it must be PEM (-----BEGIN PRIVATE KEY-----, or RSA or EC)")]
    NoKey { path: PathBuf },
    #[error(
        "the private key in {path} is encrypted, and nobody is there to type its passphrase; decrypt it: `openssl pkey -in FILE -out NEW`"
    )]
    EncryptedKey { path: PathBuf },
    #[error(
        "the private key in {path} cannot be used: {problem}; use RSA of 2048 bits or more, ECDSA P-256/P-384/P-521, or Ed25519"
    )]
    BadKey { path: PathBuf, problem: String },
    #[error(
        "the key in {key} does not belong to the first certificate in {certificate}; \
         give the matching key, and put the server's own certificate before its issuers"
    )]
    KeyMismatch { certificate: PathBuf, key: PathBuf },
    #[error("`{given}` is set without `{missing}`; set both (they may name the same file), or neither")]
    HalfAPair { given: &'static str, missing: &'static str },
    #[error(
        "upstream TLS mode `{mode}` needs `ca`: set it to the PEM file of the authority that signed the server's certificate (MySQL's own is ca.pem in its data directory)"
    )]
    CaMissing { mode: UpstreamTlsMode },
    #[error(
        "`ca` is set, but upstream TLS mode `{mode}` verifies nothing; set the mode to `verify_ca` or `verify_identity`, or remove `ca`"
    )]
    CaUnused { mode: UpstreamTlsMode },
    #[error("`server_name` {name:?} is neither a host name nor an IP address")]
    BadServerName { name: String },
    #[error("no self-signed certificate could be made: {0}; set `certificate` and `key`")]
    SelfSigned(String),
    #[error("the TLS library refuses these settings: {0}")]
    Refused(#[from] rustls::Error),
}
