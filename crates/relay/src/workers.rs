//! The threads that serve sessions: each has a runtime of its own, and a session stays where it began.
//!
//! Both sockets of a session then wait in one epoll and no wake-up crosses threads. New connections go to the worker
//! with the fewest. Why not one shared runtime, and not a listener a worker: `docs/decisions/`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::warn;

use crate::limits::{Slot, UnauthenticatedPlaces};
use crate::listener::{Accepted, ListenerSettings, Socketed};
use crate::session;
use crate::shared::Shared;

/// A connection to be served. The channel is unbounded, but what is in it has a place under `limits.connections`.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) socket: Socketed,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) listener: Arc<ListenerSettings>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) connection: Slot,
    pub(crate) unauthenticated: UnauthenticatedPlaces,
}

#[derive(Debug)]
pub struct Workers {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    jobs: UnboundedSender<Job>,
    sessions: Arc<AtomicUsize>,
    _thread: JoinHandle<()>,
}

impl Workers {
    pub fn start(count: usize) -> io::Result<Workers> {
        let workers = (0..count).map(Worker::start).collect::<io::Result<_>>()?;
        Ok(Workers { workers })
    }

    pub(crate) fn send(&self, job: Job) {
        let least = self.workers.iter().min_by_key(|worker| worker.sessions.load(Ordering::Relaxed));
        if let Some(worker) = least {
            worker.sessions.fetch_add(1, Ordering::Relaxed);
            if worker.jobs.send(job).is_err() {
                warn!("a worker has ended; its connection is closed");
            }
        }
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Worker> {
        let (jobs, queue) = unbounded_channel();
        let sessions = Arc::new(AtomicUsize::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let count = Arc::clone(&sessions);
        let thread = std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || runtime.block_on(work(queue, count)))?;
        Ok(Worker { jobs, sessions, _thread: thread })
    }
}

async fn work(mut queue: UnboundedReceiver<Job>, sessions: Arc<AtomicUsize>) {
    while let Some(job) = queue.recv().await {
        let leaving = Leaving(Arc::clone(&sessions));
        tokio::spawn(async move {
            serve(job).await;
            drop(leaving);
        });
    }
}

/// Counts a session out, also when its task panics.
struct Leaving(Arc<AtomicUsize>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(job: Job) {
    let Job { socket, peer, local, listener, shared, connection, unauthenticated } = job;
    match socket.into_leg() {
        Ok(leg) => {
            let accepted = Accepted { leg, peer, local, listener };
            session::serve(shared, accepted, connection, unauthenticated).await;
        }
        Err(error) => warn!(%error, "a connection cannot be served"),
    }
}
