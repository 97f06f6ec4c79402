//! An address that leads to one server, and then to another: what a failover looks like from outside.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) address: SocketAddr,
    target: Arc<Mutex<SocketAddr>>,
}

impl Forwarder {
    pub(crate) fn to(target: SocketAddr) -> Forwarder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let target = Arc::new(Mutex::new(target));
        let leads_to = Arc::clone(&target);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let target = *leads_to.lock().expect("the target");
                // A server that is not there: the client's connection is closed.
                if let Ok(server) = TcpStream::connect(target) {
                    join(client, server);
                }
            }
        });
        Forwarder { address, target }
    }

    /// From now on, for whoever connects; connections that are there stay where they are.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
        *self.target.lock().expect("the target") = target;
    }
}

/// Carries bytes both ways until either side has ended.
fn join(client: TcpStream, server: TcpStream) {
    let [one, two] = [&client, &server].map(|end| end.try_clone().expect("a second handle"));
    for (mut from, mut to) in [(client, server), (two, one)] {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
            let _ = from.shutdown(std::net::Shutdown::Both);
        });
    }
}
