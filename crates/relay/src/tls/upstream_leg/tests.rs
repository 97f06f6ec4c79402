use super::super::testing::{Authority, Connected, Pair, expired, handshake, named, write};
use super::super::{ClientTls, ClientTlsSettings, verified_subject};
use super::*;
use UpstreamTlsMode::{Disabled, Preferred, Required, VerifyCa, VerifyIdentity};
use rustls::HandshakeKind;
use tempfile::{TempDir, tempdir};

/// A folder with an authority's `ca.pem`, and servers with certificates of its making.
struct Rig {
    folder: TempDir,
    authority: Authority,
}

impl Rig {
    fn new() -> Rig {
        let (folder, authority) = (tempdir().unwrap(), Authority::new("MySQL_Server_Auto_Generated_CA_Certificate"));
        authority.pem_in(folder.path(), "ca.pem");
        Rig { folder, authority }
    }

    fn server(&self, pair: &Pair) -> ClientTls {
        self.server_asking(pair, None)
    }

    fn server_asking(&self, pair: &Pair, client_ca: Option<PathBuf>) -> ClientTls {
        let (certificate, key) = pair.in_folder(self.folder.path(), "server");
        ClientTls::new(ClientTlsSettings { certificate: Some(certificate), key: Some(key), client_ca }).unwrap()
    }

    fn ca(&self) -> Option<PathBuf> {
        Some(self.folder.path().join("ca.pem"))
    }

    fn upstream(&self, mode: UpstreamTlsMode) -> UpstreamTls {
        let ca = self.ca().filter(|_| matches!(mode, VerifyCa | VerifyIdentity));
        UpstreamTls::new(UpstreamTlsSettings { mode, ca, ..Default::default() }).unwrap()
    }
}

async fn dial(upstream: &UpstreamTls, host: &str, server: &ClientTls) -> Result<Connected, String> {
    let name = upstream.server_name(host);
    handshake(server.acceptor(), &upstream.connector(), name).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn each_mode_refuses_what_it_must_and_no_more() {
    let rig = Rig::new();
    let sign = |params| rig.authority.sign(&params);
    let nameless = sign(named("MySQL_Server_Auto_Generated_Server_Certificate", &[]));
    let ours = sign(named("x", &["db.example", "127.0.0.1"]));
    let only_common_name = sign(named("db.example", &[]));
    let late = sign(expired(named("x", &["db.example"])));
    let strangers = Authority::new("MySQL_Server_Auto_Generated_CA_Certificate").sign(&named("x", &["db.example"]));

    // Certificate, host, and which of Required, VerifyCa and VerifyIdentity take it.
    let cases = [
        ("nameless", &nameless, "db.example", [true, true, false]),
        ("ours", &ours, "db.example", [true, true, true]),
        ("ours, full name", &ours, "db.example.", [true, true, true]),
        ("ours, by address", &ours, "127.0.0.1", [true, true, true]),
        ("ours, another host", &ours, "other.example", [true, true, false]),
        ("ours, by socket", &ours, "/run/mysqld.sock", [true, true, false]),
        ("only a common name", &only_common_name, "db.example", [true, true, false]),
        ("expired", &late, "db.example", [true, false, false]),
        ("a stranger's", &strangers, "db.example", [true, false, false]),
    ];
    for (what, pair, host, expected) in cases {
        let server = rig.server(pair);
        for (mode, taken) in [Required, VerifyCa, VerifyIdentity].into_iter().zip(expected) {
            let outcome = dial(&rig.upstream(mode), host, &server).await;
            assert_eq!(outcome.is_ok(), taken, "{what}, {mode}: {:?}", outcome.err());
        }
        assert!(dial(&rig.upstream(Preferred), host, &server).await.is_ok(), "{what}");
    }
}

#[tokio::test]
async fn a_self_signed_server_is_known_by_being_listed() {
    let rig = Rig::new();
    // As `openssl req -x509` makes them: it is its own authority.
    let key = rcgen::KeyPair::generate().unwrap();
    let pair = |mut params: rcgen::CertificateParams| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Pair { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
    };
    let (good, late) = (pair(named("db", &[])), pair(expired(named("db", &[]))));
    for (pair, taken) in [(good, true), (late, false)] {
        let server = rig.server(&pair);
        assert!(dial(&rig.upstream(VerifyCa), "db", &server).await.is_err(), "not listed yet");
        let listed = write(rig.folder.path(), "listed.pem", &pair.certificate);
        let settings = UpstreamTlsSettings { mode: VerifyCa, ca: Some(listed), ..Default::default() };
        assert_eq!(dial(&UpstreamTls::new(settings).unwrap(), "db", &server).await.is_ok(), taken);
    }
}

#[tokio::test]
async fn a_configured_server_name_is_the_one_verified_and_sent() {
    let rig = Rig::new();
    let server = rig.server(&rig.authority.sign(&named("x", &["db.example"])));
    let settings = |name: &str| UpstreamTlsSettings {
        mode: VerifyIdentity,
        ca: rig.ca(),
        server_name: Some(name.to_owned()),
        ..Default::default()
    };
    let connected = dial(&UpstreamTls::new(settings("db.example")).unwrap(), "10.0.0.7", &server).await.unwrap();
    assert_eq!(connected.server.get_ref().1.server_name(), Some("db.example"));
    assert!(dial(&UpstreamTls::new(settings("other.example")).unwrap(), "db.example", &server).await.is_err());
    assert!(matches!(UpstreamTls::new(settings("no name")), Err(TlsError::BadServerName { .. })));
}

#[test]
fn hosts_become_names() {
    let upstream = UpstreamTls::new(UpstreamTlsSettings::default()).unwrap();
    for (host, expected) in [
        ("db.example", "db.example"),
        ("my_db", "my_db"),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("/run/mysqld.sock", "0.0.0.0"),
        ("", "0.0.0.0"),
    ] {
        assert_eq!(upstream.server_name(host).to_str(), expected, "{host}");
    }
}

#[tokio::test]
async fn sessions_resume_until_a_reload() {
    let rig = Rig::new();
    let server = rig.server(&rig.authority.sign(&named("x", &[])));
    let upstream = rig.upstream(VerifyCa);
    for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
        let mut connected = dial(&upstream, "db.example", &server).await.unwrap();
        connected.echo().await;
        assert_eq!(connected.client.get_ref().1.handshake_kind(), Some(kind));
    }

    // Another authority: the session that the old one vouched for must not come back.
    Authority::new("another").pem_in(rig.folder.path(), "ca.pem");
    assert_eq!(upstream.reload_if_changed().unwrap(), Reload::Reloaded);
    assert!(dial(&upstream, "db.example", &server).await.is_err());

    write(rig.folder.path(), "ca.pem", "");
    assert!(upstream.reload_if_changed().unwrap_err().to_string().contains("ca.pem holds no certificate"));
    rig.authority.pem_in(rig.folder.path(), "ca.pem");
    assert_eq!(upstream.reload_if_changed().unwrap(), Reload::Reloaded);
    assert_eq!(upstream.reload_if_changed().unwrap(), Reload::Unchanged);
    assert!(dial(&upstream, "db.example", &server).await.is_ok());
}

#[tokio::test]
async fn the_proxys_own_certificate_is_presented_where_it_is_asked_for() {
    let rig = Rig::new();
    let server = rig.server_asking(&rig.authority.sign(&named("x", &[])), rig.ca());
    let (certificate, key) = rig.authority.sign(&named("tollgate", &[])).in_folder(rig.folder.path(), "own");
    let settings =
        UpstreamTlsSettings { mode: Required, certificate: Some(certificate), key: Some(key), ..Default::default() };
    let connected = dial(&UpstreamTls::new(settings).unwrap(), "db.example", &server).await.unwrap();
    let subject = verified_subject(connected.server.get_ref().1).unwrap();
    assert_eq!(subject.common_name.as_deref(), Some("tollgate"));
}

#[test]
fn settings_that_contradict_themselves_are_refused_with_a_remedy() {
    let rig = Rig::new();
    let check = |settings: UpstreamTlsSettings, expected: &str| {
        let error = UpstreamTls::new(settings).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    for mode in [VerifyCa, VerifyIdentity] {
        let settings = UpstreamTlsSettings { mode, ..Default::default() };
        check(settings, &format!("mode `{mode}` needs `ca`"));
    }
    for mode in [Preferred, Required] {
        let settings = UpstreamTlsSettings { mode, ca: rig.ca(), ..Default::default() };
        check(settings, &format!("mode `{mode}` verifies nothing"));
    }
    let certificate = UpstreamTlsSettings { certificate: rig.ca(), ..Default::default() };
    check(certificate, "`certificate` is set without `key`");
    let key = UpstreamTlsSettings { key: rig.ca(), ..Default::default() };
    check(key, "`key` is set without `certificate`");

    // Switched off, the other settings may stay for the day it is switched on again.
    let off = UpstreamTlsSettings { mode: Disabled, ca: Some("/nowhere".into()), ..Default::default() };
    assert_eq!(UpstreamTls::new(off).unwrap().mode(), Disabled);
}

#[test]
fn incompatible_handshakes_are_told_from_other_failures() {
    let by = |error: rustls::Error| is_incompatible(&io::Error::new(io::ErrorKind::InvalidData, error));
    for (error, expected) in [
        (rustls::Error::PeerIncompatible(rustls::PeerIncompatible::ServerDoesNotSupportTls12Or13), true),
        (rustls::Error::AlertReceived(AlertDescription::ProtocolVersion), true),
        (rustls::Error::AlertReceived(AlertDescription::HandshakeFailure), true),
        (rustls::Error::AlertReceived(AlertDescription::InsufficientSecurity), true),
        (rustls::Error::AlertReceived(AlertDescription::InternalError), true),
        (rustls::Error::AlertReceived(AlertDescription::BadCertificate), false),
        (rustls::Error::AlertReceived(AlertDescription::CertificateRequired), false),
        (rustls::Error::InvalidCertificate(rustls::CertificateError::Expired), false),
    ] {
        assert_eq!(by(error.clone()), expected, "{error}");
    }
    assert!(!is_incompatible(&io::ErrorKind::ConnectionReset.into()));
    assert!(!is_incompatible(&io::ErrorKind::UnexpectedEof.into()));
}
