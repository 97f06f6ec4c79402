//! A real server behind a door that counts: what reaches it, while other tests use it too.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Passes bytes on and counts connections. Its threads end with their connections.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicU64>,
}

impl Counting {
    pub(crate) fn before(server: SocketAddr) -> Counting {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let connections = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::Relaxed);
                let Ok(to) = TcpStream::connect(server) else { continue };
                copy(&stream, &to);
                copy(&to, &stream);
            }
        });
        Counting { address, connections }
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// The `upstream:` line.
    pub(crate) fn upstream(&self) -> String {
        format!("upstream: {{ address: \"{}\" }}\n", self.address)
    }
}

fn copy(from: &TcpStream, to: &TcpStream) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    let _ = to.set_nodelay(true);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
        let _ = from.shutdown(Shutdown::Read);
    });
}
