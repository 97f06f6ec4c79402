//! A session between two ends that the test holds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use wire::packet::{HEADER_LENGTH, Header, put_packet};
use wire::{Capabilities, Command, StatusFlags};

use crate::counters::{Counter, Counters};
use crate::facts::SessionFacts;
use crate::leg::Leg;
use crate::limits::{ConnectionLimits, Limits};
use crate::login::LoggedIn;
use crate::password_exchange::ProxyKey;
use crate::registry::Registry;
use crate::session::Session;
use crate::shared::{SessionSettings, Shared};
use crate::tls::{ClientTls, ClientTlsSettings, UpstreamTls, UpstreamTlsMode, UpstreamTlsSettings};
use crate::transport::Transport;
use crate::upstream::{Upstream, UpstreamAddress, UpstreamSettings};
use admission::port::{self, Account, Admission, Ask, Client, Permit, Refusal, Verdict};

pub(super) const PING: u8 = 0x0E;
pub(super) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// More than any test sends before the other side reads.
const ROOM: usize = 96 << 20;

/// Notes what it is asked, and refuses what the test names.
#[derive(Debug, Default)]
pub(super) struct Gate {
    asked: Mutex<Vec<Command>>,
    in_transaction: AtomicBool,
    refused: Mutex<VecDeque<Command>>,
    held: Mutex<Option<Command>>,
    settled: AtomicUsize,
    blocked: AtomicUsize,
    resumed: AtomicUsize,
    /// Of commands on their way.
    permits: AtomicUsize,
}

impl Gate {
    /// The next time that this is asked for, it is refused.
    pub(super) fn refuse(&self, command: Command) {
        self.refused.lock().unwrap().push_back(command);
    }

    /// From now on this is held, for ever.
    pub(super) fn hold(&self, command: Command) {
        *self.held.lock().unwrap() = Some(command);
    }

    /// Whether the last command that was asked about stands in a transaction.
    pub(super) fn in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Relaxed)
    }

    /// How many replies have ended.
    pub(super) fn settled(&self) -> usize {
        self.settled.load(Ordering::Relaxed)
    }

    /// How often it was told that a client does not read.
    pub(super) fn resumed(&self) -> usize {
        self.resumed.load(Ordering::Relaxed)
    }

    pub(super) fn blocked(&self) -> usize {
        self.blocked.load(Ordering::Relaxed)
    }

    /// Permits that have not been given back.
    pub(super) fn permits(&self) -> usize {
        self.permits.load(Ordering::Relaxed)
    }

    /// What was asked since the last look.
    pub(super) fn asked(&self) -> Vec<Command> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

/// Every session asks the one gate of its test.
#[derive(Debug)]
struct Everyone(Arc<Gate>);

impl Admission for Everyone {
    fn enter(&self, _client: &Client<'_>) -> Result<Box<dyn port::Gate>, Refusal> {
        Ok(Box::new(Everyone(Arc::clone(&self.0))))
    }
}

impl port::Gate for Everyone {
    fn ask(&mut self, ask: &Ask<'_>) -> Verdict {
        self.0.ask(ask)
    }
}

impl Account for Gate {
    fn blocked_on_client(&self) {
        self.blocked.fetch_add(1, Ordering::Relaxed);
    }

    fn resumed(&self) {
        self.resumed.fetch_add(1, Ordering::Relaxed);
    }

    fn settle(&self, _outcome: port::Outcome) {
        self.settled.fetch_add(1, Ordering::Relaxed);
        self.permits.fetch_sub(1, Ordering::Relaxed);
    }

    fn abandon(&self) {
        self.permits.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    fn ask(self: &Arc<Self>, ask: &Ask<'_>) -> Verdict {
        self.asked.lock().unwrap().push(ask.command);
        self.in_transaction.store(ask.session.in_transaction, Ordering::Relaxed);
        if *self.held.lock().unwrap() == Some(ask.command) {
            return Verdict::Hold(Box::pin(std::future::pending()));
        }
        let mut refused = self.refused.lock().unwrap();
        if refused.front() == Some(&ask.command) {
            refused.pop_front();
            return Verdict::Refuse(Refusal { code: 1226, sqlstate: *b"HY000", message: "refused".to_owned() });
        }
        self.permits.fetch_add(1, Ordering::Relaxed);
        let gate = Arc::clone(self);
        Verdict::Pass(Permit::new(gate))
    }
}

/// What sessions of one test share. Making it takes a key, so one serves many sessions.
pub(super) struct Bench {
    pub(super) shared: Arc<Shared>,
    pub(super) gate: Arc<Gate>,
}

impl Bench {
    /// With the inspection limit that is the default.
    pub(super) fn new() -> Bench {
        Bench::inspecting(64 * 1024)
    }

    pub(super) fn inspecting(inspect: usize) -> Bench {
        let counters = Arc::new(Counters::default());
        let gate = Arc::new(Gate::default());
        let nowhere = UpstreamSettings {
            address: UpstreamAddress::Unix("nowhere".into()),
            source_address: None,
            dial_timeout: Duration::from_secs(1),
            proxy_protocol: false,
            logins: 1,
        };
        let no_tls = UpstreamTlsSettings { mode: UpstreamTlsMode::Disabled, ..UpstreamTlsSettings::default() };
        let upstream = Upstream::new(nowhere, UpstreamTls::new(no_tls).unwrap(), Arc::clone(&counters));
        let shared = Shared {
            settings: SessionSettings { login_time: Duration::from_secs(10), login_size: 1 << 16, inspect },
            upstream,
            client_tls: ClientTls::new(ClientTlsSettings::default()).unwrap(),
            key: ProxyKey::generate().unwrap(),
            limits: Limits::new(ConnectionLimits {
                connections: 10_000,
                unauthenticated: 10,
                unauthenticated_per_address: 0,
                per_user: 0,
                per_address: 0,
            }),
            registry: Arc::new(Registry::default()),
            counters,
            admission: Arc::new(Everyone(Arc::clone(&gate))),
            killer: None,
            draining: false.into(),
        };
        Bench { shared: Arc::new(shared), gate }
    }

    pub(super) fn session(&self, capabilities: Capabilities) -> Pair {
        self.narrow_session(capabilities, ROOM)
    }

    /// Between ends that take so many bytes before they must be read.
    pub(super) fn narrow_session(&self, capabilities: Capabilities, room: usize) -> Pair {
        let [(client, client_leg), (upstream, upstream_leg)] = [(); 2].map(|()| tokio::io::duplex(room));
        let leg = |stream| Leg::new(Transport::Boxed(Box::new(stream)));
        let entry = self.shared.registry.enter();
        let facts = SessionFacts {
            connection_id: entry.handle.id,
            listener: "test".to_owned(),
            address: None,
            user: b"app".to_vec(),
            database: None,
            attributes: Vec::new(),
            certificate: None,
            tls: false,
            capabilities: capabilities | Capabilities::PROTOCOL_41 | Capabilities::PLUGIN_AUTH,
            charset: statement::Charset::Plain,
        };
        let logged_in = LoggedIn {
            client: leg(client_leg),
            upstream: leg(upstream_leg),
            gate: Box::new(Everyone(Arc::clone(&self.gate))),
            facts,
            status: StatusFlags::AUTOCOMMIT,
            slots: (None, self.shared.limits.user(b"app").unwrap()),
        };
        let session = Session::new(Arc::clone(&self.shared), logged_in, entry);
        Pair { name: String::new(), client, upstream, session: tokio::spawn(session.run()) }
    }

    pub(super) fn count(&self, counter: Counter) -> u64 {
        self.shared.counters.value(counter)
    }
}

pub(super) struct Pair {
    /// For who reads a failure.
    pub(super) name: String,
    pub(super) client: DuplexStream,
    pub(super) upstream: DuplexStream,
    pub(super) session: JoinHandle<()>,
}

impl Pair {
    pub(super) async fn client_sends(&mut self, bytes: &[u8]) {
        self.client.write_all(bytes).await.unwrap();
    }

    pub(super) async fn upstream_sends(&mut self, bytes: &[u8]) {
        self.upstream.write_all(bytes).await.unwrap();
    }

    /// The client's end goes.
    pub(super) fn leaves(&mut self) {
        self.client = tokio::io::duplex(1).0;
    }

    /// The upstream's end goes; the test has nothing more to do with it.
    pub(super) fn closes_upstream(&mut self) {
        self.upstream = tokio::io::duplex(1).0;
    }

    /// Exactly these bytes, and no more.
    pub(super) async fn upstream_gets(&mut self, bytes: &[u8]) {
        let got = read(&mut self.upstream, bytes.len()).await;
        assert_same(&format!("{}: the upstream", self.name), &got, bytes);
    }

    /// The payload of the next packet, whatever it is.
    pub(super) async fn upstream_packet(&mut self) -> Vec<u8> {
        let header = Header::read(&read(&mut self.upstream, HEADER_LENGTH).await).expect("a packet");
        read(&mut self.upstream, header.length).await
    }

    pub(super) async fn client_gets(&mut self, bytes: &[u8]) {
        let got = read(&mut self.client, bytes.len()).await;
        assert_same(&format!("{}: the client", self.name), &got, bytes);
    }

    /// A command that goes through and a reply that comes back, both as they are.
    pub(super) async fn exchange(&mut self, command: &[u8], reply: &[u8]) {
        self.client_sends(command).await;
        self.upstream_gets(command).await;
        self.upstream_sends(reply).await;
        self.client_gets(reply).await;
    }

    /// The session is idle and in sync: the next command is the next thing upstream, and its reply the next to come.
    pub(super) async fn is_in_sync(&mut self) {
        self.exchange(&packet(0, &[PING]), &packet(1, OK)).await;
        self.nothing_more().await;
    }

    /// Neither end has anything more to read.
    pub(super) async fn nothing_more(&mut self) {
        let mut byte = [0];
        let wait = Duration::from_secs(1);
        for (side, end) in [("upstream", &mut self.upstream), ("client", &mut self.client)] {
            let more = tokio::time::timeout(wait, end.read(&mut byte)).await;
            assert!(more.is_err(), "{}: the {side} got more: {more:?} {byte:02x?}", self.name);
        }
    }

    /// The session's task ends, whatever the ends have still to read.
    pub(super) async fn session_ends(&mut self) {
        let ended = tokio::time::timeout(Duration::from_secs(60), &mut self.session).await;
        ended.unwrap_or_else(|_| panic!("{}: the session goes on", self.name)).unwrap();
    }

    /// The session ends by itself: nothing more goes to the upstream, and the client's stream is closed.
    pub(super) async fn ends(mut self) {
        for (side, end) in [("upstream", &mut self.upstream), ("client", &mut self.client)] {
            let mut rest = Vec::new();
            let ended = tokio::time::timeout(Duration::from_secs(60), end.read_to_end(&mut rest)).await;
            assert!(ended.is_ok(), "{}: the {side}'s stream is still open", self.name);
            assert!(rest.is_empty(), "{}: the {side} got {rest:02x?}", self.name);
        }
        drop(self.client);
        self.session.await.unwrap();
    }

    /// Prepares a statement with so many parameters and no columns; its id is 1.
    pub(super) async fn prepare(&mut self, params: u16) {
        let ok = [&[0, 1, 0, 0, 0, 0, 0][..], &params.to_le_bytes(), &[0, 0, 0]].concat();
        let mut reply = packet(1, &ok);
        for n in 0..params {
            reply.extend_from_slice(&packet(2 + n as u8, b"\x03def"));
        }
        if params > 0 {
            reply.extend_from_slice(&packet(2 + params as u8, &[0xFE, 0, 0, 2, 0]));
        }
        self.exchange(&packet(0, b"\x16SELECT ?"), &reply).await;
    }

    /// The client gets an ERR with this code and number.
    pub(super) async fn client_gets_err(&mut self, sequence: u8, code: u16) {
        let header = read(&mut self.client, 4).await;
        assert_eq!(header[3], sequence, "{}", self.name);
        let payload = read(&mut self.client, usize::from(header[0])).await;
        let err = wire::ErrPacket::decode(&payload).unwrap();
        assert_eq!(err.code, code, "{}", self.name);
    }
}

async fn read(end: &mut DuplexStream, length: usize) -> Vec<u8> {
    let mut got = vec![0; length];
    let mut at = 0;
    while at < length {
        match tokio::time::timeout(Duration::from_secs(60), end.read(&mut got[at..])).await {
            Ok(Ok(count)) if count > 0 => at += count,
            _ => break,
        }
    }
    got.truncate(at);
    got
}

fn assert_same(who: &str, got: &[u8], due: &[u8]) {
    if got != due {
        let same = got.iter().zip(due).take_while(|(got, due)| got == due).count();
        let show = |bytes: &[u8]| format!("{:02x?}", &bytes[same.saturating_sub(8)..bytes.len().min(same + 24)]);
        panic!(
            "{who} got {} bytes of {}, different from {same} on:\n{}\n{}",
            got.len(),
            due.len(),
            show(got),
            show(due)
        );
    }
}

/// One logical packet.
pub(super) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::with_capacity(payload.len() + 8);
    put_packet(&mut packet, sequence, payload);
    packet
}
