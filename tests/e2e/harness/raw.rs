//! A client of which every byte is the test's.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use sandbox::Login;
use wire::packet::{HEADER_LENGTH, Header, MAX_PAYLOAD, put_packet};
use wire::{AuthPacket, Capabilities, Greeting, LoginRequest};

/// A connection over plain TCP that reads and writes whole packets.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    pub(crate) greeting: Option<Greeting>,
    /// The number of the last packet read.
    pub(crate) sequence: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct RawOptions {
    pub(crate) capabilities: Capabilities,
    pub(crate) database: Option<&'static [u8]>,
    pub(crate) attributes: Option<Vec<u8>>,
    /// The collation of the login request.
    pub(crate) collation: u8,
}

impl Default for RawOptions {
    fn default() -> Self {
        RawOptions {
            capabilities: Capabilities::LONG_PASSWORD
                | Capabilities::PROTOCOL_41
                | Capabilities::SECURE_CONNECTION
                | Capabilities::PLUGIN_AUTH
                | Capabilities::TRANSACTIONS
                | Capabilities::MULTI_STATEMENTS
                | Capabilities::MULTI_RESULTS
                | Capabilities::PS_MULTI_RESULTS
                | Capabilities::LOCAL_FILES,
            database: None,
            attributes: None,
            // utf8mb4_general_ci
            collation: 45,
        }
    }
}

impl Raw {
    /// Connects, and reads nothing.
    pub(crate) fn dial(address: SocketAddr) -> Raw {
        Raw::over(TcpStream::connect(address).expect("a connection"))
    }

    /// Over a connection that is there.
    pub(crate) fn over(stream: TcpStream) -> Raw {
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(super::tollgate::PATIENCE)).expect("a time limit");
        Raw { stream, greeting: None, sequence: 0 }
    }

    /// Connects and reads the greeting.
    pub(crate) fn greeted(address: SocketAddr) -> Raw {
        let mut raw = Raw::dial(address);
        let packet = raw.read().expect("a greeting");
        raw.greeting = Some(Greeting::decode(&packet).unwrap_or_else(|_| panic!("a greeting: {packet:02x?}")));
        raw
    }

    /// Logs in with the defaults. Knows caching_sha2_password with a warm cache or its RSA key, and
    /// mysql_native_password.
    pub(crate) fn login(address: SocketAddr, login: Login) -> Raw {
        Raw::login_with(address, login, &RawOptions::default()).expect("a login")
    }

    /// `Err`: the payload of the ERR, be it in place of a greeting.
    pub(crate) fn login_with(address: SocketAddr, login: Login, options: &RawOptions) -> Result<Raw, Vec<u8>> {
        Raw::dial(address).log_in(login, options)
    }

    /// `Err`: the code and the message, as in `1040 Too many connections`.
    pub(crate) fn try_login(address: SocketAddr, login: Login) -> Result<Raw, String> {
        Raw::login_with(address, login, &RawOptions::default()).map_err(|payload| {
            let code = u16::from_le_bytes([payload[1], payload[2]]);
            format!("{code} {}", String::from_utf8_lossy(payload.get(9..).unwrap_or_default()))
        })
    }

    /// The same over a connection on which nothing was read yet.
    pub(crate) fn log_in(mut self, login: Login, options: &RawOptions) -> Result<Raw, Vec<u8>> {
        let packet = self.read().expect("a greeting");
        if packet.first() == Some(&0xFF) {
            return Err(packet);
        }
        self.greeting = Some(Greeting::decode(&packet).unwrap_or_else(|_| panic!("a greeting: {packet:02x?}")));
        self.request_login(login, options);
        self.answer(login).map(|_| self)
    }

    /// Sends a login request, with a plugin that makes the server ask for the account's own.
    pub(crate) fn request_login(&mut self, login: Login, options: &RawOptions) {
        let mut capabilities = options.capabilities;
        capabilities.set(Capabilities::CONNECT_WITH_DB, options.database.is_some());
        capabilities.set(Capabilities::CONNECT_ATTRS, options.attributes.is_some());
        let request = LoginRequest {
            capabilities,
            max_packet: 1 << 30,
            charset: options.collation,
            filler: [0; 23],
            user: login.user.as_bytes(),
            auth_response: b"",
            database: options.database,
            auth_plugin: Some(b"a_plugin_that_nobody_has"),
            attributes: options.attributes.as_deref(),
            compression_level: None,
        };
        self.write(1, &request.encode());
    }

    /// Answers what a server asks until its OK, which is returned; `Err`: its ERR.
    pub(crate) fn answer(&mut self, login: Login) -> Result<Vec<u8>, Vec<u8>> {
        let (mut plugin, mut scramble) = (Vec::new(), Vec::new());
        loop {
            let packet = self.read().expect("an answer to the login");
            let answer = match AuthPacket::decode(&packet) {
                AuthPacket::Ok => return Ok(packet),
                AuthPacket::Err => return Err(packet),
                AuthPacket::Switch { plugin: asked, data } => {
                    plugin = asked.to_vec();
                    scramble = wire::scramble(data).to_vec();
                    proof(&plugin, login.password.as_bytes(), &scramble)
                }
                AuthPacket::MoreData([3]) => continue,
                AuthPacket::MoreData([4]) => vec![2],
                AuthPacket::MoreData(key) => encrypt(key, login.password, &scramble),
                other => panic!("not known here: {other:?} ({})", String::from_utf8_lossy(&plugin)),
            };
            self.write(self.sequence.wrapping_add(1), &answer);
        }
    }

    pub(crate) fn write(&mut self, sequence: u8, payload: &[u8]) {
        let mut packets = Vec::new();
        put_packet(&mut packets, sequence, payload);
        self.stream.write_all(&packets).expect("writing");
    }

    /// Sends a command.
    pub(crate) fn command(&mut self, command: u8, body: &[u8]) {
        self.write(0, &[&[command], body].concat());
    }

    /// Sends COM_QUERY.
    pub(crate) fn query(&mut self, sql: &str) {
        self.command(0x03, sql.as_bytes());
    }

    /// Reads one logical packet; an error when the connection is closed.
    pub(crate) fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            let mut header = [0; HEADER_LENGTH];
            self.stream.read_exact(&mut header)?;
            let header = Header::read(&header).expect("four bytes");
            let from = payload.len();
            payload.resize(from + header.length, 0);
            self.stream.read_exact(&mut payload[from..])?;
            self.sequence = header.sequence;
            if header.length < MAX_PAYLOAD {
                return Ok(payload);
            }
        }
    }

    /// Reads one packet that must be an OK.
    pub(crate) fn ok(&mut self) {
        let packet = self.read().expect("an OK");
        assert_eq!(packet.first(), Some(&0), "not an OK: {}", String::from_utf8_lossy(&packet));
    }

    /// Reads one packet that must be an ERR: its code, SQLSTATE and message.
    pub(crate) fn err(&mut self) -> (u16, String, String) {
        let packet = self.read().expect("an ERR");
        read_err(&packet)
    }

    /// Runs a statement that gives one value, or nothing.
    pub(crate) fn value(&mut self, sql: &str) -> Option<String> {
        self.query(sql);
        let first = self.read().expect("a reply");
        match first.first() {
            Some(&0) => return None,
            Some(&0xFF) => panic!("{sql}: {:?}", read_err(&first)),
            _ => {}
        }
        let mut value = None;
        let (mut ends, mut columns) = (0, 0);
        while ends < 2 {
            let packet = self.read().expect("a row");
            match packet.as_slice() {
                [0xFE, ..] if packet.len() < 9 => ends += 1,
                [0xFF, ..] => panic!("{sql}: {:?}", read_err(&packet)),
                _ if ends == 0 => columns += 1,
                [0xFB, ..] => value = None,
                row => {
                    value = Some(
                        String::from_utf8_lossy(wire::Fields::new(row).lenenc_bytes().expect("a value")).into_owned(),
                    )
                }
            }
        }
        assert!(columns >= 1);
        value
    }

    /// The id that the greeting gave.
    pub(crate) fn id(&self) -> u32 {
        self.greeting.as_ref().expect("a greeting").connection_id
    }

    /// Reads a reply up to its ERR, past what a result sends before its rows.
    pub(crate) fn err_at_end(&mut self) -> (u16, String, String) {
        loop {
            let packet = self.read().expect("an ERR");
            if packet.first() == Some(&0xFF) {
                return read_err(&packet);
            }
        }
    }

    /// Everything that still comes, until the other side closes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        if let Err(error) = self.stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "the other side does not close");
        }
        rest
    }

    /// Whether the other side has closed: nothing more to read, at once or soon.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time limit");
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// Code, SQLSTATE and message of an ERR.
pub(crate) fn read_err(packet: &[u8]) -> (u16, String, String) {
    assert_eq!(packet.first(), Some(&0xFF), "not an ERR: {}", String::from_utf8_lossy(packet));
    let err = wire::ErrPacket::decode(packet).expect("an ERR");
    let state = err.sqlstate.map(|state| String::from_utf8_lossy(&state).into_owned()).unwrap_or_default();
    (err.code, state, String::from_utf8_lossy(err.message).into_owned())
}

pub(crate) fn proof(plugin: &[u8], password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let hash = |algorithm, parts: &[&[u8]]| digest(algorithm, &parts.concat()).as_ref().to_vec();
    let xor = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a ^ b).collect();
    match plugin {
        b"caching_sha2_password" => {
            let once = hash(&SHA256, &[password]);
            let twice = hash(&SHA256, &[&once]);
            xor(&once, &hash(&SHA256, &[&twice, scramble]))
        }
        b"mysql_native_password" => {
            let once = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[password]);
            let twice = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[&once]);
            xor(&once, &hash(&SHA1_FOR_LEGACY_USE_ONLY, &[scramble, &twice]))
        }
        other => panic!("no proof for {}", String::from_utf8_lossy(other)),
    }
}

pub(crate) fn encrypt(key: &[u8], password: &str, scramble: &[u8]) -> Vec<u8> {
    let password = relay::password_exchange::Password::new(password.as_bytes().to_vec());
    relay::password_exchange::encrypt(key, &password, scramble).expect("the server's key")
}
