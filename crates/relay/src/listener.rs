//! Accepting connections: as many as the limits allow, each handed to a worker.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};
use wire::Capabilities;

use crate::counters::Counter;
use crate::error::ClientError;
use crate::leg::Leg;
use crate::limits::{Limit, Slot, UnauthenticatedPlaces};
use crate::login::say_goodbye;
use crate::proxy_protocol::Trusted;
use crate::shared::Shared;
use crate::transport::Transport;
use crate::upstream::set_keepalive;
use crate::workers::{Job, Workers};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// How long a connection may take from its first packet to the queue, when the socket takes no more first packets.
const SETTLE: Duration = Duration::from_millis(300);

/// Clients over a limit that are being told so at once; more are just closed.
const GOODBYES: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ListenAddress::Tcp(address) => write!(f, "{address}"),
            ListenAddress::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientLegTls {
    Disabled,
    Optional,
    Required,
}

#[derive(Debug)]
pub struct ListenerSettings {
    /// As configured, for logs and rules.
    pub name: String,
    pub address: ListenAddress,
    pub tls: ClientLegTls,
    /// Peers that begin with a PROXY header, and must.
    pub proxy_protocol_from: Trusted,
}

/// A connection with its ends, before anything was said.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) leg: Leg,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) listener: Arc<ListenerSettings>,
}

/// A socket on its way to the runtime that will serve it.
#[derive(Debug)]
pub(crate) enum Socketed {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

impl Socketed {
    /// Registers the socket with the runtime of the caller.
    pub(crate) fn into_leg(self) -> io::Result<Leg> {
        Ok(Leg::new(match self {
            Socketed::Tcp(stream) => Transport::Tcp(TcpStream::from_std(stream)?),
            Socketed::Unix(stream) => Transport::Unix(UnixStream::from_std(stream)?),
        }))
    }
}

/// A bound listener that has not begun to accept.
#[derive(Debug)]
pub struct Listener {
    settings: Arc<ListenerSettings>,
    socket: ListenSocket,
}

#[derive(Debug)]
enum ListenSocket {
    Tcp(TcpListener),
    Unix { listener: UnixListener, path: PathBuf, inode: u64 },
}

impl Listener {
    /// Binds. The port may be in use by another process of ours that is draining: both get new connections until it
    /// stops.
    pub fn bind(settings: ListenerSettings) -> io::Result<Listener> {
        let socket = match &settings.address {
            ListenAddress::Tcp(address) => ListenSocket::Tcp(bind_tcp(*address)?),
            ListenAddress::Unix(path) => bind_unix(path)?,
        };
        Ok(Listener { settings: Arc::new(settings), socket })
    }

    /// The address in use: the configured one, with the port that the system chose for 0.
    pub fn local_address(&self) -> ListenAddress {
        match &self.socket {
            ListenSocket::Tcp(listener) => match listener.local_addr() {
                Ok(address) => ListenAddress::Tcp(address),
                Err(_) => self.settings.address.clone(),
            },
            ListenSocket::Unix { .. } => self.settings.address.clone(),
        }
    }

    /// Accepts until told to stop, and then what has already been queued.
    pub async fn accept(self, shared: Arc<Shared>, workers: Arc<Workers>, mut stop: watch::Receiver<bool>) {
        let door = Door {
            shared,
            workers,
            settings: Arc::clone(&self.settings),
            goodbyes: Arc::new(Semaphore::new(GOODBYES)),
        };
        info!(listen = %self.local_address(), "listening");
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                _ = stop.wait_for(|&stop| stop) => break,
            };
            match accepted {
                Ok((socket, peer, local)) => door.let_in(socket, peer, local),
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    // Out of descriptors or memory: those who have connections go on, and the rest wait in the backlog.
                    warn!(%error, "cannot accept connections");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        // What is queued would be reset with the socket.
        let rest = if self.socket.stop_queueing() { SETTLE } else { Duration::ZERO };
        let settled = Instant::now() + rest;
        while let Ok(accepted) = timeout_at(settled, self.socket.accept()).await {
            match accepted {
                Ok((socket, peer, local)) => door.let_in(socket, peer, local),
                Err(error) if is_the_clients(&error) => {}
                Err(_) => break,
            }
        }
        self.socket.close();
    }
}

struct Door {
    shared: Arc<Shared>,
    workers: Arc<Workers>,
    settings: Arc<ListenerSettings>,
    goodbyes: Arc<Semaphore>,
}

impl Door {
    fn let_in(&self, socket: Socketed, peer: Option<SocketAddr>, local: Option<SocketAddr>) {
        self.shared.counters.add(Counter::Accepted);
        match self.slots(peer) {
            Ok((connection, unauthenticated)) => self.workers.send(Job {
                socket,
                peer,
                local,
                listener: Arc::clone(&self.settings),
                shared: Arc::clone(&self.shared),
                connection,
                unauthenticated,
            }),
            Err(limit) => self.turn_away(socket, limit),
        }
    }

    fn slots(&self, peer: Option<SocketAddr>) -> Result<(Slot, UnauthenticatedPlaces), Limit> {
        let limits = &self.shared.limits;
        let (connection, of_all) = (limits.connection()?, limits.unauthenticated()?);
        // A load balancer's address is not its clients': theirs is known after the PROXY header.
        let client = peer.filter(|peer| !self.settings.proxy_protocol_from.contains(peer.ip()));
        let of_address = client.map(|client| limits.unauthenticated_share(client.ip())).transpose()?;
        Ok((connection, UnauthenticatedPlaces { _of_all: of_all, of_address }))
    }

    fn turn_away(&self, socket: Socketed, limit: Limit) {
        let (error, counter) = match limit {
            Limit::Unauthenticated => {
                (ClientError::too_many_of("clients not logged in"), Counter::LimitUnauthenticated)
            }
            Limit::UnauthenticatedPerAddress => {
                let what = "clients not logged in from this address";
                (ClientError::too_many_of(what), Counter::LimitUnauthenticatedPerAddress)
            }
            Limit::Connections | Limit::PerAddress | Limit::PerUser => {
                (ClientError::too_many_connections(), Counter::LimitConnections)
            }
        };
        self.shared.counters.add(counter);
        if let (Ok(place), Ok(leg)) = (Arc::clone(&self.goodbyes).try_acquire_owned(), socket.into_leg()) {
            tokio::spawn(async move {
                say_goodbye(leg, error.payload(Capabilities::PROTOCOL_41)).await;
                drop(place);
            });
        }
    }
}

impl ListenSocket {
    /// Cancel safe.
    async fn accept(&self) -> io::Result<(Socketed, Option<SocketAddr>, Option<SocketAddr>)> {
        match self {
            ListenSocket::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                let local = stream.local_addr().ok();
                let stream = stream.into_std()?;
                Ok((Socketed::Tcp(stream), Some(peer), local))
            }
            ListenSocket::Unix { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                Ok((Socketed::Unix(stream.into_std()?), None, None))
            }
        }
    }

    /// Lets those who are connecting come in, and nobody else. A connection in the queue is reset when the socket
    /// closes, and there is always one more that comes between the last accept and the close. So the first packet of
    /// new ones is dropped: their system sends it again after a second, to the process that has taken over.
    ///
    /// `false`: there is nothing to wait for. (A Unix socket's successor has taken its name already.)
    fn stop_queueing(&self) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            ListenSocket::Tcp(listener) => SockRef::from(listener).attach_filter(&DROP_NEW).is_ok(),
            #[cfg(not(target_os = "linux"))]
            ListenSocket::Tcp(_) => false,
            ListenSocket::Unix { .. } => false,
        }
    }

    /// Removes a Unix socket's file, unless a successor has put its own there.
    fn close(self) {
        if let ListenSocket::Unix { path, inode, .. } = self
            && fs::metadata(&path).is_ok_and(|metadata| metadata.ino() == inode)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// A classic BPF program over a TCP header: drop what has SYN and not ACK, keep the rest.
#[cfg(target_os = "linux")]
const DROP_NEW: [socket2::SockFilter; 5] = [
    // The byte of the flags; of them SYN (2) and ACK (16).
    socket2::SockFilter::new(0x30, 0, 0, 13),
    socket2::SockFilter::new(0x54, 0, 0, 0x12),
    socket2::SockFilter::new(0x15, 0, 1, 0x02),
    socket2::SockFilter::new(0x06, 0, 0, 0),
    socket2::SockFilter::new(0x06, 0, 0, u32::MAX),
];

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    // Accepted sockets inherit these, which saves five calls a connection.
    socket.set_tcp_nodelay(true)?;
    set_keepalive(SockRef::from(&socket))?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Binds beside the path and renames over it, so that a successor takes over without a moment in which there is none.
fn bind_unix(path: &Path) -> io::Result<ListenSocket> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&beside);
    let listener = UnixListener::bind(&beside)?;
    fs::rename(&beside, path)?;
    let inode = fs::metadata(path)?.ino();
    Ok(ListenSocket::Unix { listener, path: path.to_owned(), inode })
}

/// The connection was gone before it was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::NotConnected
    )
}
