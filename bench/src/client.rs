//! A MySQL client of a few hundred lines over a raw blocking socket, for what sysbench cannot time: the first
//! byte of a result, a login, single queries to the nanosecond. It speaks plain TCP and text queries only, reads
//! no values, and knows the fast path of `caching_sha2_password` (sysbench's `prepare` has filled the server's
//! cache by then).

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS,
/// PLUGIN_AUTH, DEPRECATE_EOF: what a plain modern driver asks for.
const CAPABILITIES: u32 = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x2_0000 | 0x8_0000 | 0x100_0000;
const UTF8MB4: u8 = 45;
const CACHING_SHA2: &[u8] = b"caching_sha2_password";
const FAST_LOGIN_OK: u8 = 3;
/// No step of a measurement takes this long unless something hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who logs in, and where to.
#[derive(Clone, Debug)]
pub struct Account {
    pub user: String,
    pub password: String,
    pub schema: String,
}

#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What of `buffer` has been received and not yet consumed.
    start: usize,
    end: usize,
    sequence: u8,
}

/// How a result came: nothing of it is kept.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// From the command's being sent to the first byte of its result.
    pub first_byte: Duration,
    pub whole: Duration,
    pub bytes: u64,
}

impl Client {
    /// Connects and logs in, with a receive buffer of `buffer` bytes.
    pub fn connect(address: SocketAddr, account: &Account, buffer: usize) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE).context("cannot connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut client = Self { stream, buffer: vec![0; buffer.max(1024)], start: 0, end: 0, sequence: 0 };
        client.log_in(account)?;
        Ok(client)
    }

    /// Sends a text query and reads its whole result.
    pub fn query(&mut self, sql: &str) -> Result<Reply> {
        self.sequence = 0;
        let mut command = Vec::with_capacity(sql.len() + 1);
        command.push(0x03);
        command.extend_from_slice(sql.as_bytes());
        let sent = Instant::now();
        self.send(&command)?;
        self.need(1)?;
        let first_byte = sent.elapsed();
        let bytes = self.skip_result()?;
        Ok(Reply { first_byte, whole: sent.elapsed(), bytes })
    }

    /// The first column of the first row, for the few settings that are asked for.
    pub fn value(&mut self, sql: &str) -> Result<String> {
        self.sequence = 0;
        self.send(&[b"\x03", sql.as_bytes()].concat())?;
        let columns = self.packet()?;
        refuse_error(&columns)?;
        for _ in 0..columns.first().copied().unwrap_or(0) {
            self.packet()?;
        }
        let row = self.packet()?;
        ensure!(row.first() != Some(&0xfe), "no row for {sql}");
        self.skip_result_rows()?;
        let length = usize::from(row.first().copied().unwrap_or(0));
        let value = row.get(1..1 + length).with_context(|| format!("no short value for {sql}"))?;
        Ok(String::from_utf8_lossy(value).into_owned())
    }

    /// COM_QUIT and a close, as drivers do.
    pub fn quit(mut self) -> Result<()> {
        self.sequence = 0;
        self.send(&[0x01])
    }

    fn log_in(&mut self, account: &Account) -> Result<()> {
        let greeting = self.packet()?;
        refuse_error(&greeting)?;
        let (plugin, salt) = parse_greeting(&greeting).context("unreadable greeting")?;
        let proof = if plugin == CACHING_SHA2 { prove(&account.password, &salt) } else { Vec::new() };
        self.send(&login_request(account, &proof))?;
        loop {
            let packet = self.packet()?;
            refuse_error(&packet)?;
            match packet.split_first() {
                Some((0x00, _)) => return Ok(()),
                Some((0xfe, request)) => {
                    let salt = parse_switch(request)?;
                    self.send(&prove(&account.password, &salt))?;
                }
                Some((0x01, [FAST_LOGIN_OK])) => {}
                Some((0x01, _)) => bail!("the server does not have the password of {} in its cache", account.user),
                other => bail!("unexpected packet during login: {other:?}"),
            }
        }
    }

    fn send(&mut self, payload: &[u8]) -> Result<()> {
        let length =
            u32::try_from(payload.len()).ok().filter(|length| *length < 0xff_ffff).context("packet too long")?;
        let [a, b, c, _] = length.to_le_bytes();
        let mut packet = Vec::with_capacity(4 + payload.len());
        packet.extend_from_slice(&[a, b, c, self.sequence]);
        packet.extend_from_slice(payload);
        self.stream.write_all(&packet).context("cannot send")
    }

    /// Reads to the end of a result without keeping any of it; returns how many bytes it had.
    fn skip_result(&mut self) -> Result<u64> {
        let (length, first) = self.skip_packet()?;
        match first {
            0x00 => Ok(length + 4),
            _ => Ok(length + 4 + self.skip_result_rows()?),
        }
    }

    /// Column definitions start with a 3 and a row never with 0xfe in a short packet: that is the end.
    fn skip_result_rows(&mut self) -> Result<u64> {
        let mut bytes = 0;
        loop {
            let (length, first) = self.skip_packet()?;
            bytes += length + 4;
            if first == 0xfe && length < 0xff_ffff {
                return Ok(bytes);
            }
        }
    }

    /// Passes over one packet: its length and first byte. An error packet is an error.
    fn skip_packet(&mut self) -> Result<(u64, u8)> {
        let length = self.header()?;
        if length == 0 {
            return Ok((0, 0));
        }
        let first = self.need(1)?[0];
        if first == 0xff {
            refuse_error(&self.payload(length)?)?;
        }
        let mut left = length;
        while left > 0 {
            let step = left.min(self.need(1)?.len());
            self.start += step;
            left -= step;
        }
        Ok((length as u64, first))
    }

    fn packet(&mut self) -> Result<Vec<u8>> {
        let length = self.header()?;
        self.payload(length)
    }

    fn header(&mut self) -> Result<usize> {
        let header = self.need(4)?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        self.sequence = header[3].wrapping_add(1);
        self.start += 4;
        Ok(length)
    }

    fn payload(&mut self, length: usize) -> Result<Vec<u8>> {
        ensure!(length <= self.buffer.len(), "a packet of {length} bytes where a short one was expected");
        let payload = self.need(length)?[..length].to_vec();
        self.start += length;
        Ok(payload)
    }

    /// Receives until at least `count` bytes are there, and gives all that are.
    fn need(&mut self, count: usize) -> Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + count > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < count {
            match self.stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(received) => self.end += received,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot receive"),
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }
}

fn refuse_error(packet: &[u8]) -> Result<()> {
    if let Some((0xff, rest)) = packet.split_first() {
        bail!("the server says: {}", String::from_utf8_lossy(rest.get(2..).unwrap_or_default()));
    }
    Ok(())
}

/// The plugin's name and the salt, from a protocol 10 greeting.
fn parse_greeting(packet: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let version_end = 1 + packet.get(1..)?.iter().position(|byte| *byte == 0)?;
    let rest = packet.get(version_end + 1..)?;
    let mut salt = rest.get(4..12)?.to_vec();
    // Behind the first half of the salt: filler 1, capabilities 2, charset 1, status 2, capabilities 2, length 1, filler 10.
    salt.extend_from_slice(rest.get(31..43)?);
    let plugin = rest.get(44..)?;
    let plugin = plugin.split(|byte| *byte == 0).next()?;
    Some((plugin.to_vec(), salt))
}

/// The salt of an authentication switch, to the one plugin that we know.
fn parse_switch(request: &[u8]) -> Result<Vec<u8>> {
    let mut parts = request.splitn(2, |byte| *byte == 0);
    let plugin = parts.next().unwrap_or_default();
    ensure!(plugin == CACHING_SHA2, "cannot log in with {}", String::from_utf8_lossy(plugin));
    let salt = parts.next().unwrap_or_default();
    Ok(salt.get(..20).context("short salt")?.to_vec())
}

fn login_request(account: &Account, proof: &[u8]) -> Vec<u8> {
    let mut request = CAPABILITIES.to_le_bytes().to_vec();
    request.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    request.push(UTF8MB4);
    request.extend_from_slice(&[0; 23]);
    request.extend_from_slice(account.user.as_bytes());
    // A proof is 32 bytes or none.
    request.extend_from_slice(&[0, u8::try_from(proof.len()).unwrap_or(0)]);
    request.extend_from_slice(proof);
    for text in [account.schema.as_bytes(), CACHING_SHA2] {
        request.extend_from_slice(text);
        request.push(0);
    }
    request
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), salt); nothing for an empty password.
fn prove(password: &str, salt: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(salt).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_of_mysql_9_7() {
        let mut packet = b"\x0a9.7.4\0\x07\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15".to_vec();
        packet.extend_from_slice(&[0; 10]);
        packet.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
        let expected = (CACHING_SHA2.to_vec(), b"abcdefghijklmnopqrst".to_vec());
        assert_eq!(parse_greeting(&packet), Some(expected));
        for length in 0..packet.len() - CACHING_SHA2.len() - 2 {
            assert_eq!(parse_greeting(&packet[..length]), None, "cut at {length}");
        }
    }

    #[test]
    fn proofs_have_32_bytes_and_depend_on_the_salt() {
        assert!(prove("", b"salt").is_empty());
        assert_eq!(prove("secret", b"salt").len(), 32);
        assert_ne!(prove("secret", b"salt"), prove("secret", b"tlas"));
    }

    #[test]
    fn a_switch_to_another_plugin_is_refused() {
        assert_eq!(parse_switch(b"caching_sha2_password\x0001234567890123456789\0").unwrap(), b"01234567890123456789");
        assert!(parse_switch(b"caching_sha2_password\x00short\0").is_err());
        assert!(parse_switch(b"mysql_native_password\x0001234567890123456789\0").is_err());
        assert!(parse_switch(b"").is_err());
    }
}
