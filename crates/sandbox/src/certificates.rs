//! Certificates for MariaDB, under the names that MySQL gives its own.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// Writes `ca.pem`, `server-cert.pem`, `server-key.pem`, `client-cert.pem` and `client-key.pem` into `folder`.
/// The server's holds for `localhost` and 127.0.0.1.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let ca_key = KeyPair::generate()?;
    let mut ca = named("Tollgate sandbox CA", &[])?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    fs::write(folder.join("ca.pem"), ca.self_signed(&ca_key)?.pem()).context("writing ca.pem")?;
    let issuer = Issuer::new(ca, ca_key);
    for (name, usage, hosts) in [
        ("server", ExtendedKeyUsagePurpose::ServerAuth, ["localhost", "127.0.0.1"].as_slice()),
        ("client", ExtendedKeyUsagePurpose::ClientAuth, &[]),
    ] {
        let key = KeyPair::generate()?;
        let mut leaf = named(&format!("Tollgate sandbox {name}"), hosts)?;
        leaf.extended_key_usages = vec![usage];
        let certificate = leaf.signed_by(&key, &issuer)?;
        fs::write(folder.join(format!("{name}-cert.pem")), certificate.pem()).context("writing a certificate")?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.join(format!("{name}-key.pem")))
            .and_then(|mut file| file.write_all(key.serialize_pem().as_bytes()))
            .context("writing a private key")?;
    }
    Ok(())
}

fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(hosts.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
