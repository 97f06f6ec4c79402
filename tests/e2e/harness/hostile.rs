//! An upstream that does what no server does, from its first byte on.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use wire::packet::{HEADER_LENGTH, Header, put_packet};
use wire::{Capabilities, ErrPacket, Greeting, LoginPacket, StatusFlags, encode_switch};

/// Runs the script for each connection, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Hostile {
    pub(crate) address: SocketAddr,
}

/// One connection from the proxy.
#[derive(Debug)]
pub(crate) struct HostileLeg {
    pub(crate) stream: TcpStream,
}

impl Hostile {
    pub(crate) fn start(script: impl Fn(HostileLeg) -> io::Result<()> + Send + Sync + 'static) -> Hostile {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let script = Arc::clone(&script);
                std::thread::spawn(move || script(HostileLeg { stream }));
            }
        });
        Hostile { address }
    }

    /// Greets and logs everybody in; then the script begins with the first command's payload.
    pub(crate) fn logged_in(script: impl Fn(HostileLeg, Vec<u8>) -> io::Result<()> + Send + Sync + 'static) -> Hostile {
        Hostile::start(move |mut leg| {
            if leg.log_in()? {
                let (_, command) = leg.read()?;
                script(leg, command)?;
            }
            Ok(())
        })
    }

    /// The `upstream:` line, with a dial time that a test can wait for.
    pub(crate) fn upstream(&self) -> String {
        format!("upstream: {{ address: \"{}\", tls: disabled, dial_timeout: 1s }}\n", self.address)
    }
}

impl HostileLeg {
    pub(crate) fn greeting() -> Vec<u8> {
        let capabilities = Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::CONNECT_WITH_DB
            | Capabilities::CONNECT_ATTRS
            | Capabilities::PLUGIN_AUTH
            | Capabilities::PLUGIN_AUTH_LENENC_DATA
            | Capabilities::SECURE_CONNECTION
            | Capabilities::TRANSACTIONS
            | Capabilities::MULTI_STATEMENTS
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS
            | Capabilities::LOCAL_FILES
            | Capabilities::SESSION_TRACK
            | Capabilities::DEPRECATE_EOF;
        Greeting {
            version: b"9.7.4-scripted".to_vec(),
            connection_id: 7,
            scramble: *b"abcdefghijklmnopqrst",
            capabilities,
            charset: 255,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: b"mysql_native_password".to_vec(),
        }
        .encode()
    }

    /// Takes any password of any user but the proxy's own, whose question it refuses. `false`: that one.
    pub(crate) fn log_in(&mut self) -> io::Result<bool> {
        self.write(0, &HostileLeg::greeting())?;
        let (sequence, request) = self.read()?;
        let Ok(LoginPacket::Login(login)) = LoginPacket::decode(&request) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        if login.user == b"tollgate_greeting_check" {
            self.write(sequence.wrapping_add(1), &ErrPacket::encode(1045, b"28000", "no", Capabilities::PROTOCOL_41))?;
            return Ok(false);
        }
        let switch = encode_switch(b"mysql_native_password", b"abcdefghijklmnopqrst\0");
        self.write(sequence.wrapping_add(1), &switch)?;
        let (sequence, _) = self.read()?;
        self.write(sequence.wrapping_add(1), OK)?;
        Ok(true)
    }

    pub(crate) fn write(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        let mut packet = Vec::new();
        put_packet(&mut packet, sequence, payload);
        self.stream.write_all(&packet)
    }

    /// One packet: its number and payload.
    pub(crate) fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; HEADER_LENGTH];
        self.stream.read_exact(&mut header)?;
        let header = Header::read(&header).ok_or(io::ErrorKind::InvalidData)?;
        let mut payload = vec![0; header.length];
        self.stream.read_exact(&mut payload)?;
        Ok((header.sequence, payload))
    }

    /// Holds the connection open until the proxy closes it.
    pub(crate) fn until_closed(mut self) -> io::Result<()> {
        io::copy(&mut self.stream, &mut io::sink()).map(drop)
    }
}

/// An OK in autocommit mode.
pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
