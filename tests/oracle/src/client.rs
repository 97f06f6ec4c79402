//! A raw client that sends any bytes and reads every reply to its end.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use wire::packet::{HEADER_LENGTH, Header, put_packet};
use wire::{AuthPacket, Capabilities, Fields, Greeting, LoginRequest};

/// A reply that takes longer belongs to a hung statement; the connection is given up.
const PATIENCE: Duration = Duration::from_secs(15);
/// MariaDB loops for ever outside of a routine too, and sends a result each time; it ends when the connection is closed.
const MOST_RESULTS: u32 = 10_000;
const MORE_RESULTS: u16 = 8;

/// Address of a server or a proxy.
#[derive(Debug, Clone)]
pub enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Facts of one reply, all of its results together.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Results without an error.
    pub succeeded: u32,
    pub error: Option<(u16, String)>,
    /// Status flags of the last result.
    pub status: Option<u16>,
    /// Names of the first column of each result set.
    pub first_columns: Vec<Vec<u8>>,
    /// The rows of the last result set, if asked for.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    pub statement_id: Option<u32>,
    pub parameters: u16,
}

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

/// A logged-in connection.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<Stream>,
    pending: Vec<u8>,
    sequence: u8,
    /// As greeted: `9.7.4-2`.
    pub version: String,
    pub connection_id: u32,
}

/// Shape of the reply that a command gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Results of text or of an execution; the rows are dropped.
    Results,
    /// The same with rows, which are text.
    Rows,
    Prepared,
}

impl Client {
    /// Logs in as a user without a password.
    pub fn connect(address: &Address, user: &str, schema: Option<&str>) -> Result<Client> {
        let stream = match address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Stream::Unix(stream)
            }
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
        };
        let mut client = Client {
            stream: BufReader::with_capacity(1 << 16, stream),
            pending: Vec::new(),
            sequence: 0,
            version: String::new(),
            connection_id: 0,
        };
        client.log_in(user, schema)?;
        Ok(client)
    }

    fn log_in(&mut self, user: &str, schema: Option<&str>) -> Result<()> {
        let packet = self.read_packet()?;
        let greeting = match Greeting::decode(&packet) {
            Ok(greeting) => greeting,
            Err(_) => bail!("no greeting: {}", String::from_utf8_lossy(&packet)),
        };
        self.version = String::from_utf8_lossy(&greeting.version).into_owned();
        self.connection_id = greeting.connection_id;
        let mut capabilities = Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::TRANSACTIONS
            | Capabilities::MULTI_STATEMENTS
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS;
        capabilities.set(Capabilities::CONNECT_WITH_DB, schema.is_some());
        let request = LoginRequest {
            capabilities,
            max_packet: 1 << 30,
            // utf8mb4_general_ci
            charset: 45,
            filler: [0; 23],
            user: user.as_bytes(),
            auth_response: b"",
            database: schema.map(str::as_bytes),
            auth_plugin: Some(&greeting.auth_plugin),
            attributes: None,
            compression_level: None,
        };
        put_packet(&mut self.pending, 1, &request.encode());
        self.flush()?;
        loop {
            let packet = self.read_packet()?;
            match AuthPacket::decode(&packet) {
                AuthPacket::Ok => return Ok(()),
                AuthPacket::Err => bail!("login refused: {}", String::from_utf8_lossy(&packet)),
                // An empty password has an empty proof with every plugin.
                AuthPacket::Switch { .. } => {
                    put_packet(&mut self.pending, self.sequence.wrapping_add(1), b"");
                    self.flush()?;
                }
                _ => {}
            }
        }
    }

    /// Adds a command to what [`Self::flush`] sends.
    pub fn push(&mut self, command: u8, body: &[u8]) {
        let payload = [&[command], body].concat();
        put_packet(&mut self.pending, 0, &payload);
    }

    pub fn flush(&mut self) -> io::Result<()> {
        let result = match self.stream.get_mut() {
            Stream::Unix(stream) => stream.write_all(&self.pending),
            Stream::Tcp(stream) => stream.write_all(&self.pending),
        };
        self.pending.clear();
        result
    }

    /// Runs SQL and gives the rows of the last result set; `Err` for an ERR, too.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
        self.push(3, sql.as_bytes());
        self.flush()?;
        let reply = self.read_reply(Shape::Rows)?;
        if let Some((code, message)) = reply.error {
            let head: String = sql.chars().take(300).collect();
            bail!("{code} {message}: {head}");
        }
        Ok(reply.rows)
    }

    /// Reads one reply to its end. `Err`: the connection is lost.
    pub fn read_reply(&mut self, shape: Shape) -> Result<Reply> {
        let mut reply = Reply::default();
        loop {
            let first = self.read_packet()?;
            let status = match first.first() {
                None => bail!("an empty packet"),
                Some(0xFF) => {
                    reply.error = Some(error(&first));
                    return Ok(reply);
                }
                Some(0) if shape == Shape::Prepared => {
                    self.read_prepared(&first, &mut reply)?;
                    return Ok(reply);
                }
                Some(0) => ok_status(&first)?,
                Some(0xFB) => {
                    put_packet(&mut self.pending, self.sequence.wrapping_add(1), b"");
                    self.flush()?;
                    continue;
                }
                Some(_) => match self.read_result_set(&first, shape, &mut reply)? {
                    Some(status) => status,
                    None => return Ok(reply),
                },
            };
            reply.succeeded += 1;
            ensure!(reply.succeeded < MOST_RESULTS, "results without an end");
            reply.status = Some(status);
            if status & MORE_RESULTS == 0 {
                return Ok(reply);
            }
        }
    }

    fn read_prepared(&mut self, first: &[u8], reply: &mut Reply) -> Result<()> {
        let mut fields = Fields::new(first);
        let malformed = |_| anyhow::anyhow!("malformed prepare reply");
        fields.u8().map_err(malformed)?;
        reply.statement_id = Some(fields.u32().map_err(malformed)?);
        let columns = fields.u16().map_err(malformed)?;
        reply.parameters = fields.u16().map_err(malformed)?;
        reply.succeeded = 1;
        for count in [reply.parameters, columns] {
            for _ in 0..count {
                self.read_packet()?;
            }
            if count > 0 {
                self.read_packet()?;
            }
        }
        Ok(())
    }

    /// `None`: it ended with an error.
    fn read_result_set(&mut self, first: &[u8], shape: Shape, reply: &mut Reply) -> Result<Option<u16>> {
        reply.rows.clear();
        let mut seen = 0;
        loop {
            let packet = self.read_packet()?;
            match packet.as_slice() {
                [0xFE, ..] if packet.len() < 9 => break,
                [0xFF, ..] => {
                    reply.error = Some(error(&packet));
                    return Ok(None);
                }
                _ => {}
            }
            if seen == 0 {
                reply.first_columns.push(column_name(&packet).unwrap_or_default());
            }
            seen += 1;
        }
        ensure!(!first.is_empty(), "an empty packet");
        loop {
            let packet = self.read_packet()?;
            match packet.as_slice() {
                [0xFE, _, _, low, high] => return Ok(Some(u16::from_le_bytes([*low, *high]))),
                [0xFF, ..] => {
                    reply.error = Some(error(&packet));
                    return Ok(None);
                }
                row if shape == Shape::Rows => reply.rows.push(text_row(row, seen)),
                _ => {}
            }
        }
    }

    fn read_packet(&mut self) -> Result<Vec<u8>> {
        let mut header = [0; HEADER_LENGTH];
        self.stream.read_exact(&mut header)?;
        let Some(header) = Header::read(&header) else { bail!("no header") };
        let mut payload = vec![0; header.length];
        self.stream.read_exact(&mut payload)?;
        self.sequence = header.sequence;
        Ok(payload)
    }
}

fn error(packet: &[u8]) -> (u16, String) {
    match wire::ErrPacket::decode(packet) {
        Ok(err) => (err.code, String::from_utf8_lossy(err.message).into_owned()),
        Err(_) => (0, String::new()),
    }
}

fn ok_status(packet: &[u8]) -> Result<u16> {
    let mut fields = Fields::new(packet);
    let malformed = |_| anyhow::anyhow!("malformed OK");
    fields.u8().map_err(malformed)?;
    fields.lenenc_int().map_err(malformed)?;
    fields.lenenc_int().map_err(malformed)?;
    fields.u16().map_err(malformed)
}

fn column_name(packet: &[u8]) -> Option<Vec<u8>> {
    let mut fields = Fields::new(packet);
    for _ in 0..4 {
        fields.lenenc_bytes().ok()?;
    }
    fields.lenenc_bytes().ok().map(<[u8]>::to_vec)
}

fn text_row(mut row: &[u8], columns: usize) -> Vec<Option<Vec<u8>>> {
    let mut values = Vec::with_capacity(columns);
    for _ in 0..columns {
        if let [0xFB, rest @ ..] = row {
            values.push(None);
            row = rest;
            continue;
        }
        let mut fields = Fields::new(row);
        let Ok(value) = fields.lenenc_bytes() else { break };
        values.push(Some(value.to_vec()));
        let taken = lenenc_length(value.len()) + value.len();
        row = row.get(taken..).unwrap_or_default();
    }
    values
}

fn lenenc_length(length: usize) -> usize {
    match length {
        0..=250 => 1,
        251..=0xFFFF => 3,
        0x1_0000..=0xFF_FFFF => 4,
        _ => 9,
    }
}
