//! TLS before a script that knows none.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use wire::packet::{HEADER_LENGTH, Header};
use wire::{Capabilities, Greeting, LoginPacket};

/// Puts a port that takes TLS only before a script: as a server would be reached over an encrypted leg. For logins, in which
/// the two sides take turns packet by packet.
pub(crate) fn tls_bridge(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let config = Arc::new(self_signed());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let config = Arc::clone(&config);
            std::thread::spawn(move || serve(stream, to, config));
        }
    });
    address
}

fn self_signed() -> ServerConfig {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("its key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions.expect("versions").with_no_client_auth();
    config.with_single_cert(vec![made.cert.der().clone()], key).expect("a certificate and its key")
}

fn serve(mut proxy: TcpStream, to: SocketAddr, config: Arc<ServerConfig>) -> io::Result<()> {
    let mut script = TcpStream::connect(to)?;
    let (sequence, greeting) = read(&mut script)?;
    let mut greeting = Greeting::decode(&greeting).expect("the script's greeting");
    greeting.capabilities |= Capabilities::SSL;
    write(&mut proxy, sequence, &greeting.encode())?;
    let (_, request) = read(&mut proxy)?;
    // Whoever does not ask for TLS is not let in.
    let Ok(LoginPacket::SslRequest(_)) = LoginPacket::decode(&request) else { return Ok(()) };
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut proxy = StreamOwned::new(connection, proxy);
    loop {
        // The script has not seen the request for TLS, which has a number too.
        let (sequence, payload) = read(&mut proxy)?;
        write(&mut script, sequence.wrapping_sub(1), &payload)?;
        let (sequence, payload) = read(&mut script)?;
        write(&mut proxy, sequence.wrapping_add(1), &payload)?;
    }
}

fn read(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; HEADER_LENGTH];
    from.read_exact(&mut header)?;
    let header = Header::read(&header).ok_or(io::ErrorKind::InvalidData)?;
    let mut payload = vec![0; header.length];
    from.read_exact(&mut payload)?;
    Ok((header.sequence, payload))
}

fn write(to: &mut impl Write, sequence: u8, payload: &[u8]) -> io::Result<()> {
    let mut packet = Vec::new();
    wire::packet::put_packet(&mut packet, sequence, payload);
    to.write_all(&packet)?;
    to.flush()
}
