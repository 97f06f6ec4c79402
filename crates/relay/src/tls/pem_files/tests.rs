use super::super::testing::{Authority, Pair, named, write};
use super::*;
use tempfile::tempdir;

fn good() -> Pair {
    Authority::new("ca").sign(&named("db", &[]))
}

#[test]
fn every_mistake_is_named_with_its_file_and_remedy() {
    let folder = tempdir().unwrap();
    let (mine, other) = (good(), good());
    let half = |text: &str| text[..text.len() / 2].to_owned();
    let encrypted = mine.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let legacy = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
    let no_x509 = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let no_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let big = "x".repeat(1 << 21);

    // Certificate file, key file, the file to be named, and what is to be said.
    let cases: &[(&str, &str, &str, &str)] = &[
        ("", &mine.key, "tls.pem", "holds no certificate"),
        (&mine.key, &mine.key, "tls.pem", "holds no certificate"),
        ("\x30\x01\x02", &mine.key, "tls.pem", "holds no certificate"),
        (&half(&mine.certificate), &mine.key, "tls.pem", "no -----END----- line"),
        (no_x509, &mine.key, "tls.pem", "X.509 version 3"),
        (&big, &mine.key, "tls.pem", "larger than"),
        (&mine.certificate, "", "tls.key", "holds no private key"),
        (&mine.certificate, &mine.certificate, "tls.key", "holds no private key"),
        (&mine.certificate, &half(&mine.key), "tls.key", "no -----END----- line"),
        (&mine.certificate, no_key, "tls.key", "cannot be used"),
        (&mine.certificate, &encrypted, "tls.key", "openssl pkey"),
        (&mine.certificate, legacy, "tls.key", "openssl pkey"),
        (&mine.certificate, &other.key, "tls.key", "does not belong to the first certificate in"),
    ];
    for (certificate, key, file, expected) in cases {
        let certificate = write(folder.path(), "tls.pem", certificate);
        let key = write(folder.path(), "tls.key", key);
        let error = certified_key(&certificate, &key).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains(expected), "expected {expected:?} of {file}, got: {error}");
    }
}

#[test]
fn a_missing_file_and_a_folder_are_unreadable() {
    let folder = tempdir().unwrap();
    for path in [folder.path().join("nothing.pem"), folder.path().to_owned()] {
        let error = authorities(&path).unwrap_err();
        assert!(matches!(error, TlsError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn one_file_may_hold_key_and_chain() {
    let folder = tempdir().unwrap();
    let (authority, mut both) = (Authority::new("ca"), String::new());
    let pair = authority.sign(&named("db", &[]));
    both.extend([pair.key, pair.certificate, authority.certificate.pem()]);
    let path = write(folder.path(), "both.pem", &both);
    assert_eq!(certified_key(&path, &path).unwrap().cert.len(), 2);
}
