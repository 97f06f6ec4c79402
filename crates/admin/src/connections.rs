//! The HTTP connections: how many there may be, and how long one may take.
//!
//! This port asks for no login, so whoever reaches it may open connections and say nothing. They are bounded in all
//! and for each address, and a new one is always let in: it takes the place of the oldest that no request is being
//! answered on. So a health check, which asks at once, is answered while a thousand others are held open.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use relay::limits::network;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// Connections at one time.
const MOST: usize = 256;

/// The most of those connections that one IPv4 address or one IPv6 /64 may have.
const MOST_OF_ADDRESS: usize = 64;

/// For the head of a request, from its first byte or from the end of the request before: also how long an idle connection
/// stays open.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// From then on a connection takes no more requests.
const LIFE: Duration = Duration::from_secs(300);

/// For the answer to the last one. A command may take 20 s.
const LAST_ANSWER: Duration = Duration::from_secs(30);

/// Serves until the process ends.
pub(crate) async fn accept(listener: TcpListener, routes: Router) {
    let connections = Connections::default();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Some((place, replaced)) = connections.take(peer.ip()) {
                    tokio::spawn(serve(stream, peer, routes.clone(), place, replaced));
                }
            }
            Err(error) => {
                // Without descriptors it would fail again at once.
                tracing::warn!(%error, "cannot accept connections on the HTTP port");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, routes: Router, place: Place, replaced: oneshot::Receiver<()>) {
    let routes = TowerToHyperService::new(routes);
    let requests = Arc::clone(&place.requests);
    let service = service_fn(move |request: Request<Incoming>| answer(&routes, request, peer, &requests));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    // How a connection ends is the client's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        // An error would mean that the place is gone, and it is held here.
        Ok(()) = replaced => return,
        () = tokio::time::sleep(LIFE) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(LAST_ANSWER, connection).await;
    drop(place);
}

/// The answer to one request, which counts as being answered until then.
fn answer(
    routes: &TowerToHyperService<Router>,
    request: Request<Incoming>,
    peer: SocketAddr,
    requests: &Arc<AtomicUsize>,
) -> impl Future<Output = Result<Response<Body>, std::convert::Infallible>> + use<> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    requests.fetch_add(1, Ordering::Relaxed);
    let answering = Answering(Arc::clone(requests));
    let answer = routes.call(request);
    async move {
        let answer = answer.await;
        drop(answering);
        answer
    }
}

struct Answering(Arc<AtomicUsize>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connections that are open, the oldest first.
#[derive(Clone, Default)]
struct Connections {
    open: Arc<Mutex<VecDeque<Entry>>>,
}

struct Entry {
    number: u64,
    address: IpAddr,
    /// Being answered.
    requests: Arc<AtomicUsize>,
    replace: oneshot::Sender<()>,
}

/// Given back when dropped.
struct Place {
    number: u64,
    requests: Arc<AtomicUsize>,
    connections: Connections,
}

impl Connections {
    /// A place for a connection, and what tells it that another has taken it. `None`: every other is being answered.
    fn take(&self, peer: IpAddr) -> Option<(Place, oneshot::Receiver<()>)> {
        let address = network(peer);
        let mut open = self.lock();
        if open.iter().filter(|entry| entry.address == address).count() >= MOST_OF_ADDRESS {
            replace_oldest(&mut open, |entry| entry.address == address)?;
        } else if open.len() >= MOST {
            replace_oldest(&mut open, |_| true)?;
        }
        let number = open.back().map_or(0, |last| last.number + 1);
        let requests = Arc::new(AtomicUsize::new(0));
        let (replace, replaced) = oneshot::channel();
        open.push_back(Entry { number, address, requests: Arc::clone(&requests), replace });
        Some((Place { number, requests, connections: self.clone() }, replaced))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn replace_oldest(open: &mut VecDeque<Entry>, may_be: impl Fn(&Entry) -> bool) -> Option<()> {
    let is_idle = |entry: &Entry| entry.requests.load(Ordering::Relaxed) == 0;
    let oldest = open.iter().position(|entry| may_be(entry) && is_idle(entry))?;
    let entry = open.remove(oldest)?;
    // It may have ended by itself.
    let _ = entry.replace.send(());
    Some(())
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        if let Some(at) = open.iter().position(|entry| entry.number == self.number) {
            open.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, number])
    }

    #[test]
    fn oldest_idle_connection_of_the_address_is_replaced() {
        let connections = Connections::default();
        let (other, mut other_replaced) = connections.take(address(1)).unwrap();
        let mut places: Vec<_> = (0..MOST_OF_ADDRESS).map(|_| connections.take(address(2)).unwrap()).collect();
        places[0].0.requests.fetch_add(1, Ordering::Relaxed);
        let _new = connections.take(address(2)).unwrap();
        assert!(places[0].1.try_recv().is_err(), "it is being answered");
        assert!(places[1].1.try_recv().is_ok(), "the oldest that is not");
        assert!(places[2].1.try_recv().is_err() && other_replaced.try_recv().is_err());
        assert_eq!(connections.lock().len(), MOST_OF_ADDRESS + 1);
        drop((other, places, _new));
        assert!(connections.lock().is_empty());
    }

    #[test]
    fn connections_in_all_are_bounded() {
        let connections = Connections::default();
        let mut places = Vec::new();
        for number in 0..=MOST {
            places.push(connections.take(address(u8::try_from(number % 100).unwrap())).unwrap());
            places.last().unwrap().0.requests.fetch_add(1, Ordering::Relaxed);
            if number == MOST - 1 {
                assert!(connections.take(address(200)).is_none(), "all are being answered");
                places[7].0.requests.fetch_sub(1, Ordering::Relaxed);
            }
        }
        assert!(places[7].1.try_recv().is_ok());
        assert_eq!(connections.lock().len(), MOST);
    }
}
