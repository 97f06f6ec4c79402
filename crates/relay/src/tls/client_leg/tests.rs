use super::super::testing::{Authority, Connected, client, expired, handshake, named, write};
use super::super::verified_subject;
use super::*;
use rustls::HandshakeKind;
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::{TempDir, tempdir};
use tokio_rustls::TlsConnector;

async fn connect(tls: &ClientTls, with: &TlsConnector) -> std::io::Result<Connected> {
    handshake(tls.acceptor(), with, ServerName::try_from("db.example").unwrap()).await
}

fn der(pem: &str) -> Vec<u8> {
    rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

fn configured((certificate, key): (PathBuf, PathBuf)) -> ClientTlsSettings {
    ClientTlsSettings { certificate: Some(certificate), key: Some(key), client_ca: None }
}

#[tokio::test]
async fn without_settings_a_self_signed_certificate_serves_both_versions_and_stays() {
    let tls = ClientTls::new(ClientTlsSettings::default()).unwrap();
    let mut presented = Vec::new();
    for version in [&TLS12, &TLS13] {
        let mut connected = connect(&tls, &client(version, None)).await.unwrap();
        connected.echo().await;
        assert_eq!(connected.server.get_ref().1.protocol_version(), Some(version.version));
        presented.push(connected.presented());
        assert_eq!(tls.reload_if_changed().unwrap(), Reload::Unchanged);
    }
    assert_eq!(presented[0], presented[1]);
    let (_, certificate) = x509_parser::parse_x509_certificate(&presented[0]).unwrap();
    assert_eq!(certificate.subject().to_string(), "CN=Tollgate_Auto_Generated_Server_Certificate");
    assert!(certificate.validity().is_valid());
}

#[tokio::test]
async fn clients_of_both_versions_resume() {
    let tls = ClientTls::new(ClientTlsSettings::default()).unwrap();
    for version in [&TLS12, &TLS13] {
        let connector = client(version, None);
        for expected in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
            let mut connected = connect(&tls, &connector).await.unwrap();
            connected.echo().await;
            assert_eq!(connected.server.get_ref().1.handshake_kind(), Some(expected), "{version:?}");
        }
    }
}

#[tokio::test]
async fn a_replaced_certificate_serves_new_connections_and_leaves_old_ones_alone() {
    let folder = tempdir().unwrap();
    let authority = Authority::new("ca");
    let (old, new) = (authority.sign(&named("old", &[])), authority.sign(&named("new", &[])));
    let tls = ClientTls::new(configured(old.in_folder(folder.path(), "tls"))).unwrap();
    assert_eq!(tls.reload_if_changed().unwrap(), Reload::Unchanged);
    let mut before = connect(&tls, &client(&TLS13, None)).await.unwrap();
    assert_eq!(before.presented(), der(&old.certificate));

    new.in_folder(folder.path(), "tls");
    assert_eq!(tls.reload_if_changed().unwrap(), Reload::Reloaded);
    assert_eq!(tls.reload_if_changed().unwrap(), Reload::Unchanged);
    let after = connect(&tls, &client(&TLS13, None)).await.unwrap();
    assert_eq!(after.presented(), der(&new.certificate));
    before.echo().await;
}

#[tokio::test]
async fn the_symlink_swap_of_a_kubernetes_secret_is_seen() {
    let folder = tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    let authority = Authority::new("ca");
    let pairs = [authority.sign(&named("first", &[])), authority.sign(&named("second", &[]))];
    for (version, pair) in ["..v1", "..v2"].iter().zip(&pairs) {
        fs::create_dir(at(version)).unwrap();
        pair.in_folder(&at(version), "tls");
    }
    symlink("..v1", at("..data")).unwrap();
    symlink("..data/tls.pem", at("tls.pem")).unwrap();
    symlink("..data/tls.key", at("tls.key")).unwrap();
    let tls = ClientTls::new(configured((at("tls.pem"), at("tls.key")))).unwrap();

    symlink("..v2", at("..data_tmp")).unwrap();
    fs::rename(at("..data_tmp"), at("..data")).unwrap();
    assert_eq!(tls.reload_if_changed().unwrap(), Reload::Reloaded);
    let connected = connect(&tls, &client(&TLS13, None)).await.unwrap();
    assert_eq!(connected.presented(), der(&pairs[1].certificate));
}

#[tokio::test]
async fn a_broken_or_mismatched_pair_keeps_the_old_one_until_it_is_right() {
    let folder = tempdir().unwrap();
    let authority = Authority::new("ca");
    let (old, new) = (authority.sign(&named("old", &[])), authority.sign(&named("new", &[])));
    let tls = ClientTls::new(configured(old.in_folder(folder.path(), "tls"))).unwrap();
    let serves = async |pem: &str| {
        let connected = connect(&tls, &client(&TLS13, None)).await.unwrap();
        assert_eq!(connected.presented(), der(pem));
    };
    let fails = |what: &str| {
        // Twice: an error that was reported once is not forgotten.
        for _ in 0..2 {
            let error = tls.reload_if_changed().unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("tls."), "{error}");
        }
    };

    write(folder.path(), "tls.pem", &new.certificate);
    fails("does not belong to");
    serves(&old.certificate).await;
    write(folder.path(), "tls.pem", "half a cert");
    fails("holds no certificate");
    fs::remove_file(folder.path().join("tls.pem")).unwrap();
    fails("cannot read");
    serves(&old.certificate).await;

    new.in_folder(folder.path(), "tls");
    assert_eq!(tls.reload_if_changed().unwrap(), Reload::Reloaded);
    serves(&new.certificate).await;
}

/// A proxy that asks for certificates of `ca`, in a folder.
fn asking(authority: &Authority) -> (TempDir, ClientTls) {
    let folder = tempdir().unwrap();
    let client_ca = Some(authority.pem_in(folder.path(), "clients.pem"));
    let tls = ClientTls::new(ClientTlsSettings { client_ca, ..Default::default() }).unwrap();
    (folder, tls)
}

#[tokio::test]
async fn a_verified_client_certificate_is_a_fact_also_when_resumed() {
    let authority = Authority::new("ca");
    let (folder, tls) = asking(&authority);
    let mut params = named("etl, CN=root", &["etl.example", "10.1.2.3"]);
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "Example");
    params.subject_alt_names.push(rcgen::SanType::URI("spiffe://example/etl".try_into().unwrap()));
    let pair = authority.sign(&params).in_folder(folder.path(), "etl");
    for version in [&TLS12, &TLS13] {
        let connector = client(version, Some(&pair));
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut connected = connect(&tls, &connector).await.unwrap();
            connected.echo().await;
            let server = connected.server.get_ref().1;
            assert_eq!(server.handshake_kind(), Some(kind));
            let certificate = verified_subject(server).unwrap();
            assert!(certificate.subject.ends_with("CN=etl\\, CN\\=root, O=Example"), "{certificate:?}");
            assert_eq!(certificate.common_name.as_deref(), Some("etl, CN=root"));
            assert_eq!(certificate.sans, ["etl.example", "10.1.2.3", "spiffe://example/etl"]);
        }
    }
}

#[tokio::test]
async fn a_client_without_certificate_is_let_in_and_one_with_a_bad_one_is_not() {
    let authority = Authority::new("ca");
    let (folder, tls) = asking(&authority);
    let stranger = Authority::new("ca").sign(&named("etl", &[])).in_folder(folder.path(), "stranger");
    let late = authority.sign(&expired(named("etl", &[]))).in_folder(folder.path(), "late");
    for version in [&TLS12, &TLS13] {
        let mut connected = connect(&tls, &client(version, None)).await.unwrap();
        connected.echo().await;
        assert_eq!(verified_subject(connected.server.get_ref().1), None);
        for (pair, expected) in [(&stranger, "certificate"), (&late, "expired")] {
            let error = connect(&tls, &client(version, Some(pair))).await.err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}

#[tokio::test]
async fn without_client_ca_a_certificate_is_neither_asked_for_nor_a_fact() {
    let folder = tempdir().unwrap();
    let pair = Authority::new("ca").sign(&named("etl", &[])).in_folder(folder.path(), "etl");
    let tls = ClientTls::new(ClientTlsSettings::default()).unwrap();
    let connected = connect(&tls, &client(&TLS13, Some(&pair))).await.unwrap();
    assert_eq!(verified_subject(connected.server.get_ref().1), None);
}

#[tokio::test]
async fn a_removed_authority_is_not_reached_by_resumption() {
    let authority = Authority::new("ca");
    let (folder, tls) = asking(&authority);
    let pair = authority.sign(&named("etl", &[])).in_folder(folder.path(), "etl");
    for version in [&TLS12, &TLS13] {
        authority.pem_in(folder.path(), "clients.pem");
        tls.reload_if_changed().unwrap();
        let connector = client(version, Some(&pair));
        connect(&tls, &connector).await.unwrap().echo().await;

        Authority::new("another").pem_in(folder.path(), "clients.pem");
        assert_eq!(tls.reload_if_changed().unwrap(), Reload::Reloaded);
        let error = connect(&tls, &connector).await.err().unwrap().to_string();
        assert!(error.contains("certificate"), "{error}");
    }
}
