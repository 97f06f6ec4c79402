//! TLS on either leg: who presents what, who is believed, and what is refused.

mod account_requirements;
mod fallback;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use admission::port::{Ask, Permit, Verdict};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, StreamOwned};
use sandbox::{APP, Options, Server};
use wire::{Capabilities, SslRequest};

use crate::harness::{Decides, InProcess, Raw, RawOptions, Tollgate, mysql, read_err, upstream, wait_until};

/// An authority with a certificate for `localhost` and 127.0.0.1, and one for a client, as files.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let folder = tempfile::tempdir().expect("a folder");
        let key = KeyPair::generate().expect("a key");
        let mut ca = CertificateParams::new(Vec::new()).expect("parameters");
        ca.distinguished_name.push(DnType::CommonName, name);
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        fs::write(folder.path().join("ca.pem"), ca.self_signed(&key).expect("a certificate").pem()).expect("a file");
        Authority { issuer: Issuer::new(ca, key), folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Writes `{name}.pem` and `{name}.key` into `folder`; each is renamed into place.
    fn issue_into(&self, folder: &Path, name: &str, common_name: &str) {
        let key = KeyPair::generate().expect("a key");
        let mut leaf = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).expect("parameters");
        leaf.distinguished_name = rcgen::DistinguishedName::new();
        leaf.distinguished_name.push(DnType::OrganizationName, "Example");
        leaf.distinguished_name.push(DnType::CommonName, common_name);
        let certificate = leaf.signed_by(&key, &self.issuer).expect("a certificate");
        for (end, text) in [("key", key.serialize_pem()), ("pem", certificate.pem())] {
            let beside = folder.join(format!("{name}.{end}.new"));
            fs::write(&beside, text).expect("a file");
            fs::rename(&beside, folder.join(format!("{name}.{end}"))).expect("a rename");
        }
    }

    fn issue(&self, name: &str, common_name: &str) {
        self.issue_into(self.folder.path(), name, common_name);
    }
}

const WHO: &str = "SELECT USER()";

#[test]
fn a_self_signed_certificate_is_there_from_the_start() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = Tollgate::before(server);
    assert!(mysql(server, tollgate.address, APP, &["--ssl-mode=REQUIRED"], WHO).is_ok());
    let error = mysql(server, tollgate.address, APP, &["--ssl-mode=VERIFY_CA", &ca_of(server)], WHO);
    assert!(error.expect_err("not the server's own").contains("certificate"), "it is ours");
}

fn ca_of(server: &Server) -> String {
    format!("--ssl-ca={}", server.ca_pem().display())
}

#[test]
fn a_configured_certificate_is_presented_and_taken_up_anew() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let (old, new) = (Authority::new("Old CA"), Authority::new("New CA"));
    let folder = tempfile::tempdir().expect("a folder");
    old.issue_into(folder.path(), "proxy", "proxy");
    let tollgate = Tollgate::start(&format!(
        "{}tls: {{ certificate: \"{1}/proxy.pem\", key: \"{1}/proxy.key\" }}\n",
        upstream(server),
        folder.path().display(),
    ));
    let verified_by = |authority: &Authority| {
        let ca = format!("--ssl-ca={}", authority.path("ca.pem"));
        mysql(server, tollgate.address, APP, &["--ssl-mode=VERIFY_IDENTITY", &ca], WHO)
    };
    assert!(verified_by(&old).is_ok());
    assert!(verified_by(&new).is_err());
    let mut living = Tls::login(tollgate.address, &insecure());
    new.issue_into(folder.path(), "proxy", "proxy");
    wait_until("the new certificate to be presented", || verified_by(&new).is_ok());
    assert!(verified_by(&old).is_err());
    assert_eq!(living.ping()[0], 0, "who was there goes on");
    // What cannot be used does not replace what works.
    fs::write(folder.path().join("proxy.pem"), "no certificate").expect("a file");
    wait_until("the complaint", || tollgate.log().contains("going on with the old ones"));
    assert!(verified_by(&new).is_ok());
}

/// As MySQL 9.7 numbers its refusals of logins: the number after the packet that is refused.
#[test]
fn oversized_login_gets_the_next_sequence_number() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = Tollgate::start(&format!("{}limits: {{ login_size: 4KiB }}\n", upstream(server)));
    let oversized = vec![b'x'; 5000];
    let mut plain = Raw::greeted(tollgate.address);
    plain.write(1, &oversized);
    assert_eq!((plain.err().0, plain.sequence), (1043, 2));
    let mut tls = Tls::start(tollgate.address, &Arc::new(insecure()));
    tls.write(2, &oversized);
    let (sequence, packet) = tls.read_numbered();
    assert_eq!((read_err(&packet).0, sequence), (1043, 3));
    // Short enough, and no login.
    let mut tls = Tls::start(tollgate.address, &Arc::new(insecure()));
    tls.write(2, b"nonsense");
    assert_eq!(tls.read_numbered().0, 3);
    let direct = Raw::greeted(server.address());
    let mut direct = Tls::over(direct, &Arc::new(insecure()));
    direct.write(2, b"nonsense");
    assert_eq!(direct.read_numbered().0, 3, "the server's own refusal");
}

#[test]
fn a_listener_may_require_it() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate =
        Tollgate::start(&format!("listen: {{ address: \"127.0.0.1:0\", tls: required }}\n{}", upstream(server)));
    let refused = Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect_err("an ERR");
    assert_eq!(read_err(&refused).0, 3159);
    tollgate.await_counter("plain_logins_refused", 1);
    assert!(mysql(server, tollgate.address, APP, &["--ssl-mode=REQUIRED"], WHO).is_ok());

    let tollgate =
        Tollgate::start(&format!("listen: {{ address: \"127.0.0.1:0\", tls: disabled }}\n{}", upstream(server)));
    let error = mysql(server, tollgate.address, APP, &["--ssl-mode=REQUIRED"], WHO).expect_err("none is offered");
    assert!(error.contains("2026"), "{error}");
    let mut raw = Raw::greeted(tollgate.address);
    raw.write(1, &ssl_request());
    assert_eq!(raw.err().0, 1043, "asked for although it was not offered");
}

/// Remembers the subjects of those who asked.
struct Subjects(Arc<Mutex<Vec<Option<String>>>>);

impl Decides for Subjects {
    fn ask(&self, ask: &Ask<'_>) -> Verdict {
        let subject = ask.client.certificate.map(str::to_owned);
        self.0.lock().expect("no panic").push(subject);
        Verdict::Pass(Permit::without_reply())
    }
}

#[test]
fn a_clients_certificate_is_a_fact_if_it_is_verified() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let (ours, foreign) = (Authority::new("Our CA"), Authority::new("Foreign CA"));
    ours.issue("client", "etl");
    foreign.issue("client", "etl");
    let subjects = Arc::new(Mutex::new(Vec::new()));
    let yaml = format!("{}tls: {{ client_ca: \"{}\" }}\n", upstream(server), ours.path("ca.pem"));
    let tollgate = InProcess::start(&yaml, Arc::new(Subjects(Arc::clone(&subjects))));
    let ask = |authority: Option<&Authority>| {
        let files = authority
            .map(|a| [format!("--ssl-cert={}", a.path("client.pem")), format!("--ssl-key={}", a.path("client.key"))]);
        let mut arguments = vec!["--ssl-mode=REQUIRED"];
        arguments.extend(files.iter().flatten().map(String::as_str));
        let asked = mysql(server, tollgate.address, APP, &arguments, WHO);
        asked.map(|_| subjects.lock().expect("no panic").pop().expect("one who asked"))
    };
    assert_eq!(ask(Some(&ours)), Ok(Some("O=Example, CN=etl".to_owned())));
    assert_eq!(ask(None), Ok(None), "none is required");
    let error = ask(Some(&foreign)).expect_err("nobody whom we know vouches for it");
    assert!(error.contains("ERROR"), "{error}");
    assert_eq!(tollgate.counter(relay::counters::Counter::TlsFailed), 1);
}

/// Asks something that is never free, by the certificate `{name}.pem` of an authority, or by none.
fn ask_by(tollgate: &Tollgate, certificate: Option<(&Authority, &str)>, sql: &str) -> Result<String, String> {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let files = certificate.map(|(authority, name)| {
        let path = |end: &str| authority.path(&format!("{name}.{end}"));
        [format!("--ssl-cert={}", path("pem")), format!("--ssl-key={}", path("key"))]
    });
    let mut arguments = vec!["--ssl-mode=REQUIRED", "--comments"];
    arguments.extend(files.iter().flatten().map(String::as_str));
    mysql(server, tollgate.address, APP, &arguments, sql)
}

/// By its common name in `identity.name`, which nobody else gets: all are the same user from the same address.
#[test]
fn a_verified_certificate_decides_a_verdict() {
    const READ: &str = "SELECT COUNT(*) >= 0 FROM mysql.plugin";
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let (ours, foreign) = (Authority::new("Our CA"), Authority::new("Foreign CA"));
    for name in ["batch", "billing", "web"] {
        ours.issue(name, name);
        foreign.issue(name, name);
    }
    let tollgate = |rules: &str| {
        let tls = format!("tls: {{ client_ca: \"{}\" }}\n", ours.path("ca.pem"));
        let names = "identity: { name: [client, certificate, user] }\n";
        let defaults = "defaults: { action: reject, reject_pause: 0s }\n";
        Tollgate::start(&format!("{}{tls}{names}{defaults}rules:\n{rules}", upstream(server)))
    };
    let refused_by = |rule: &str, answer: Result<String, String>| {
        let error = answer.expect_err(rule);
        assert!(error.contains(&format!("ERROR 1226 (HY000) at line 1: [tollgate] rule={rule} ")), "{error}");
    };
    let claims = |name: &str| format!("/* client='{name}' */ {READ}");

    let strict =
        tollgate("- { id: batch-stops, match: { scope: batch }, do: { rejection_ratio: 1 }, permanent: true }\n");
    refused_by("batch-stops", ask_by(&strict, Some((&ours, "batch")), READ));
    refused_by("batch-stops", ask_by(&strict, Some((&ours, "batch")), &claims("web")));
    for other in [Some((&ours, "web")), Some((&ours, "billing")), None] {
        assert_eq!(ask_by(&strict, other, READ).as_deref(), Ok("1"));
    }

    let favouring = tollgate(
        "- { id: everybody-yields, match: { scope: \"*\" }, do: { rejection_ratio: 1 }, permanent: true }\n\
         - { id: billing-first, match: { scope: billing }, do: { rejection_ratio: 0 }, permanent: true }\n",
    );
    assert_eq!(ask_by(&favouring, Some((&ours, "billing")), READ).as_deref(), Ok("1"));
    for other in [Some((&ours, "web")), None] {
        refused_by("everybody-yields", ask_by(&favouring, other, READ));
        refused_by("everybody-yields", ask_by(&favouring, other, &claims("billing")));
    }
    let error = ask_by(&favouring, Some((&foreign, "billing")), READ).expect_err("nobody whom we know vouches for it");
    assert!(!error.contains("[tollgate]"), "it does not get as far as to a rule: {error}");
    favouring.await_counter("tls_handshakes_failed", 1);
}

fn upstream_tls(server: &Server, settings: &str) -> Tollgate {
    Tollgate::start(&format!("upstream: {{ address: \"{}\", {settings} }}\n", server.address()))
}

const CIPHER: &str =
    "SELECT VARIABLE_VALUE <> '' FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'";

#[test]
fn the_servers_certificate_is_verified_as_configured() {
    let mysql = &sandbox::mysql_shared().expect("a MySQL").primary;
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    let foreign = Authority::new("Foreign CA");
    let ca = |server: &Server| server.ca_pem().display().to_string();
    for (settings, encrypted) in [
        ("tls: disabled".to_owned(), "0"),
        ("tls: preferred".to_owned(), "1"),
        ("tls: required".to_owned(), "1"),
        (format!("tls: verify_ca, ca: \"{}\"", ca(mysql)), "1"),
    ] {
        let tollgate = upstream_tls(mysql, &settings);
        assert_eq!(Raw::login(tollgate.address, APP).value(CIPHER).as_deref(), Some(encrypted), "{settings}");
    }
    // MariaDB's in the sandbox is made out to 127.0.0.1; MySQL's own to nobody.
    let tollgate = upstream_tls(mariadb, &format!("tls: verify_identity, ca: \"{}\"", ca(mariadb)));
    assert_eq!(Raw::login(tollgate.address, APP).value("SELECT 1").as_deref(), Some("1"));
    for (server, settings) in [
        (mysql, format!("tls: verify_ca, ca: \"{}\"", foreign.path("ca.pem"))),
        (mysql, format!("tls: verify_identity, ca: \"{}\"", ca(mysql))),
        (mariadb, format!("tls: verify_identity, ca: \"{}\", server_name: other.example", ca(mariadb))),
    ] {
        let tollgate = upstream_tls(server, &settings);
        let refused = Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect_err("an ERR");
        let (code, _, message) = read_err(&refused);
        assert!(code == 1429 && message.contains("TLS: ") && message.contains("certificate"), "{settings}: {message}");
        assert_eq!(tollgate.counter("logins_succeeded"), 0);
    }
}

/// And the server does not count the connections that are not used against us.
#[test]
fn a_server_without_tls_where_it_is_required() {
    let options = Options::mysql().argument("--tls-version=").argument("--skip-name-resolve=OFF");
    let server = Server::start(options).expect("a MySQL");
    let tollgate = upstream_tls(&server, "tls: required, source_address: 127.0.0.2");
    for _ in 0..110 {
        let refused = Raw::login_with(tollgate.address, APP, &RawOptions::default()).expect_err("an ERR");
        let (code, _, message) = read_err(&refused);
        assert!(code == 1429 && message.contains("does not offer TLS"), "{code} {message}");
    }
    let errors = "SELECT COALESCE(SUM(SUM_CONNECT_ERRORS), 0) FROM performance_schema.host_cache";
    assert_eq!(server.root_sql(errors).expect("the host cache").trim(), "0");
    let tollgate = upstream_tls(&server, "tls: preferred, source_address: 127.0.0.2");
    assert_eq!(Raw::login(tollgate.address, APP).value("SELECT 1").as_deref(), Some("1"));
}

/// More clients in turn than a server's cache of sessions holds.
#[test]
fn clients_resume_their_sessions() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let tollgate = Tollgate::before(server);
    let clients: Vec<_> = (0..150).map(|_| Arc::new(insecure())).collect();
    let handshake = |config: &Arc<ClientConfig>| Tls::start(tollgate.address, config).handshake();
    for client in &clients {
        assert_eq!(handshake(client), HandshakeKind::Full);
    }
    let resumed = clients.iter().filter(|client| handshake(client) == HandshakeKind::Resumed).count();
    assert_eq!(resumed, clients.len());
}

fn ssl_request() -> Vec<u8> {
    let capabilities = RawOptions::default().capabilities | Capabilities::SSL;
    SslRequest { capabilities, max_packet: 1 << 24, charset: 45, filler: [0; 23] }.encode()
}

/// A client's TLS of which the test sees everything.
struct Tls {
    stream: StreamOwned<ClientConnection, TcpStream>,
}

impl Tls {
    fn start(address: SocketAddr, config: &Arc<ClientConfig>) -> Tls {
        Tls::over(Raw::greeted(address), config)
    }

    /// Over a connection on which the greeting was read.
    fn over(mut raw: Raw, config: &Arc<ClientConfig>) -> Tls {
        raw.write(1, &ssl_request());
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::clone(config), name).expect("a connection");
        Tls { stream: StreamOwned::new(connection, raw.stream) }
    }

    /// Completes the handshake and reads on until the tickets have come, with the ERR to nonsense behind them.
    fn handshake(mut self) -> HandshakeKind {
        self.write(2, b"nonsense");
        self.read();
        self.stream.conn.handshake_kind().expect("a handshake")
    }

    fn login(address: SocketAddr, config: &ClientConfig) -> Tls {
        let mut tls = Tls::start(address, &Arc::new(config.clone()));
        let capabilities = RawOptions::default().capabilities | Capabilities::SSL;
        let request = wire::LoginRequest {
            capabilities,
            max_packet: 1 << 24,
            charset: 45,
            filler: [0; 23],
            user: APP.user.as_bytes(),
            auth_response: b"",
            database: None,
            auth_plugin: Some(b"none"),
            attributes: None,
            compression_level: None,
        };
        tls.write(2, &request.encode());
        let switch = tls.read();
        let wire::AuthPacket::Switch { plugin, data } = wire::AuthPacket::decode(&switch) else { panic!("{switch:?}") };
        tls.write(4, &crate::harness::proof(plugin, APP.password.as_bytes(), wire::scramble(data)));
        match tls.read().as_slice() {
            [1, 3] => {}
            [1, 4] => tls.write(6, format!("{}\0", APP.password).as_bytes()),
            other => panic!("{other:?}"),
        }
        assert_eq!(tls.read()[0], 0);
        tls
    }

    fn ping(&mut self) -> Vec<u8> {
        self.write(0, &[0x0E]);
        self.read()
    }

    fn write(&mut self, sequence: u8, payload: &[u8]) {
        let mut packet = Vec::new();
        wire::packet::put_packet(&mut packet, sequence, payload);
        self.stream.write_all(&packet).expect("writing");
    }

    fn read(&mut self) -> Vec<u8> {
        self.read_numbered().1
    }

    /// With the packet's sequence number.
    fn read_numbered(&mut self) -> (u8, Vec<u8>) {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).expect("a packet");
        let mut payload = vec![0; usize::from(header[0]) + (usize::from(header[1]) << 8)];
        self.stream.read_exact(&mut payload).expect("a packet");
        (header[3], payload)
    }
}

/// Believes everybody, and remembers its own sessions only.
fn insecure() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(4);
    config
}

#[derive(Debug)]
struct Anybody(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
