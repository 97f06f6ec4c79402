//! An upstream of which every byte is the test's, for what no server here does.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use wire::{Capabilities, Greeting, LoginPacket, StatusFlags};

use super::Raw;

/// A listener that greets as a MySQL would and then plays a script for each login. Its thread ends with the process.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
}

pub(crate) const SCRAMBLE: [u8; 20] = *b"0123456789abcdefghij";

impl Scripted {
    /// `script` gets each connection after its login request was read, with the request's payload. The proxy's own
    /// first look (user `tollgate_greeting_check`) is answered with an ERR.
    pub(crate) fn start(script: impl Fn(&mut Raw, &[u8]) + Send + Sync + 'static) -> Scripted {
        Scripted::offering(Capabilities::empty(), script)
    }

    /// The same, with more capabilities in its greeting.
    pub(crate) fn offering(more: Capabilities, script: impl Fn(&mut Raw, &[u8]) + Send + Sync + 'static) -> Scripted {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let script = Arc::clone(&script);
                std::thread::spawn(move || serve(Raw::over(stream), more, &*script));
            }
        });
        Scripted { address }
    }
}

fn serve(mut raw: Raw, more: Capabilities, script: &dyn Fn(&mut Raw, &[u8])) {
    raw.write(0, &greeting(more).encode());
    let Ok(login) = raw.read() else { return };
    match LoginPacket::decode(&login) {
        Ok(LoginPacket::Login(request)) if request.user == b"tollgate_greeting_check" => raw.write(2, &denied()),
        _ => script(&mut raw, &login),
    }
}

fn greeting(more: Capabilities) -> Greeting {
    Greeting {
        version: b"9.7.0-scripted".to_vec(),
        connection_id: 7,
        scramble: SCRAMBLE,
        capabilities: super::RawOptions::default().capabilities | Capabilities::CONNECT_ATTRS | more,
        charset: 255,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: b"caching_sha2_password".to_vec(),
    }
}

/// An OK without anything to tell.
pub(crate) const OK: &[u8] = b"\0\0\0\x02\0\0\0";

pub(crate) fn denied() -> Vec<u8> {
    wire::ErrPacket::encode(1045, b"28000", "Access denied by the script", Capabilities::PROTOCOL_41)
}

/// Puts a Unix socket before a TCP address, for a script that is to be reached over one.
pub(crate) fn bridge(path: &std::path::Path, to: SocketAddr) {
    use std::net::TcpStream;
    use std::os::unix::net::UnixListener;

    let listener = UnixListener::bind(path).expect("a socket");
    std::thread::spawn(move || {
        for unix in listener.incoming().map_while(Result::ok) {
            let tcp = TcpStream::connect(to).expect("the script");
            let (mut unix_in, mut tcp_in) = (unix.try_clone().expect("a clone"), tcp.try_clone().expect("a clone"));
            let (mut unix_out, mut tcp_out) = (unix, tcp);
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut unix_in, &mut tcp_out);
                let _ = tcp_out.shutdown(std::net::Shutdown::Write);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut tcp_in, &mut unix_out);
                let _ = unix_out.shutdown(std::net::Shutdown::Write);
            });
        }
    });
}
