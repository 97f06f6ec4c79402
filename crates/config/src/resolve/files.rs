//! What a plan takes from outside of proxy.yaml: files that must be there, and secrets.

use std::io;
use std::path::{Path, PathBuf};

use super::Resolver;
use crate::disk::Disk;
use crate::load::Elsewhere;
use crate::plan::{CertificateFiles, ClientTlsFiles};
use crate::raw::RawTls;
use crate::secret::{Secret, SecretOrigin};
use crate::tree::At;
use crate::value::{FilePath, SecretRef};

/// Longer than any password, shorter than a file named by mistake.
const MAX_SECRET: u64 = 4096;

impl Resolver<'_> {
    pub(super) fn client_tls(&mut self, raw: RawTls) -> ClientTlsFiles {
        let certificate = self.certificate("tls", raw.certificate, raw.key);
        ClientTlsFiles { certificate, client_ca: self.file("tls.client_ca", raw.client_ca) }
    }

    /// A certificate is of no use without its key.
    pub(super) fn certificate(
        &mut self,
        section: &str,
        certificate: Option<FilePath>,
        key: Option<FilePath>,
    ) -> Option<CertificateFiles> {
        let (certificate_key, key_key) = (format!("{section}.certificate"), format!("{section}.key"));
        match (&certificate, &key) {
            (Some(_), None) => {
                let remedy = "add `key:` with the path of the certificate's private key";
                self.refuse(&certificate_key, At::Key, format!("`{key_key}` is missing"), remedy);
            }
            (None, Some(_)) => {
                let remedy = "add `certificate:` with the path of the key's certificate";
                self.refuse(&key_key, At::Key, format!("`{certificate_key}` is missing"), remedy);
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        let (certificate, key) = (self.file(&certificate_key, certificate), self.file(&key_key, key));
        Some(CertificateFiles { certificate: certificate?, key: key? })
    }

    /// Joins the path to the folder of proxy.yaml, and tries whether the file can be read.
    pub(super) fn file(&mut self, keys: &str, path: Option<FilePath>) -> Option<PathBuf> {
        let path = self.folder.join(path?.0);
        if self.elsewhere == Elsewhere::LeftOut {
            return Some(path);
        }
        match self.disk.check_readable(&path) {
            Ok(()) => Some(path),
            Err(error) => {
                self.refuse(
                    keys,
                    At::Value,
                    format!("cannot read {}: {}", path.display(), reason(&error)),
                    self.advice(),
                );
                None
            }
        }
    }

    pub(super) fn secret(&mut self, keys: &str, secret: SecretRef) -> Option<Secret> {
        match secret {
            SecretRef::Environment(_) | SecretRef::File(_) if self.elsewhere == Elsewhere::LeftOut => {
                Some(Secret::new(String::new(), SecretOrigin::Environment))
            }
            SecretRef::Plain(text) => Some(Secret::new(text, SecretOrigin::Plain)),
            SecretRef::Environment(name) => {
                let found = (self.environment)(&name).map(|value| value.into_string());
                let (what, remedy) = match found {
                    Some(Ok(text)) => return Some(Secret::new(text, SecretOrigin::Environment)),
                    Some(Err(_)) => (format!("the environment variable {name} is not UTF-8"), "set it to a text"),
                    None => (
                        format!("the environment variable {name} is not set"),
                        "set it where the proxy starts, or use `file:…`",
                    ),
                };
                self.refuse(keys, At::Value, what, remedy);
                None
            }
            SecretRef::File(path) => {
                let path = self.folder.join(path);
                match read_secret(&path, self.disk) {
                    Ok(text) => Some(Secret::new(text, SecretOrigin::File)),
                    Err(error) => {
                        let what = format!("cannot read the secret in {}: {}", path.display(), reason(&error));
                        self.refuse(keys, At::Value, what, self.advice());
                        None
                    }
                }
            }
        }
    }

    fn advice(&self) -> &'static str {
        "write a path that the proxy's user can read; relative paths start at the folder of this file"
    }
}

fn read_secret(path: &Path, disk: &Disk) -> io::Result<String> {
    let content = disk.read(path, MAX_SECRET).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => io::Error::new(error.kind(), "longer than any password"),
        _ => error,
    })?;
    let mut text = String::from_utf8(content.bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // Editors end a file with a newline that is not part of the password.
    let end = text.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest)).map(str::len);
    text.truncate(end.unwrap_or(text.len()));
    Ok(text)
}

/// The system's words without its error number, the same on every machine.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}
