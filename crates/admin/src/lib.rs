//! The operator's side, over HTTP: whether the proxy lives and is ready, what it has counted, and the rules of the run time.
//!
//! It decides nothing: what changes something becomes a [`control::Command`] for the one thread that keeps the rules. It runs
//! on a thread of its own, so that it answers when the data side is busy. Health and metrics answer everybody who asks for a
//! host that this one is known by; the rest answers only who is on this machine and no web page (see `door`). Connections
//! are bounded (see `connections`). Read [`control`] first.
#![forbid(unsafe_code)]

pub mod control;

mod connections;
mod door;

mod answer;
mod sent;

// An endpoint a file.
mod clients;
mod explain;
mod gates;
mod hand_over;
mod incidents;
mod live;
mod metrics;
mod ready;
mod reload;
mod rules;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use admission::Gatekeeper;
use axum::Router;
use axum::routing::{delete, get, post};
use relay::shared::Shared;

use control::Controller;
use hand_over::HandOver;
use tokio::sync::Notify;

/// What health and metrics are read from.
#[derive(Debug, Clone)]
pub struct Sight {
    pub shared: Arc<Shared>,
    pub keeper: Arc<Gatekeeper>,
    pub file: Arc<PolicyFile>,
}

/// Whether proxy.yaml, as it is on the disk, is what is in force. Written by whoever reads it.
#[derive(Debug, Default)]
pub struct PolicyFile {
    refused: AtomicBool,
}

impl PolicyFile {
    pub fn set_refused(&self, refused: bool) {
        self.refused.store(refused, Ordering::Relaxed);
    }

    /// The last look at it found something wrong: an older one is in force.
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Serves until the process ends. `host_names` are names in requests besides addresses and `localhost`. Returns the address
/// in use.
pub fn start(
    address: SocketAddr,
    host_names: Vec<String>,
    sight: Sight,
    controller: Controller,
) -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let local = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let close: Arc<Notify> = Arc::default();
    let handing = HandOver { shared: Arc::clone(&sight.shared), close: Arc::clone(&close) };
    let routes = open(sight).merge(control(controller)).merge(to_successor(handing)).fallback(answer::no_such_path);
    std::thread::Builder::new().name("admin".to_owned()).spawn(move || {
        runtime.block_on(async {
            if let Err(error) = serve(listener, routes, host_names, close).await {
                tracing::error!(%error, "the HTTP port is closed");
            }
        });
    })?;
    Ok(local)
}

async fn serve(
    listener: std::net::TcpListener,
    routes: Router,
    host_names: Vec<String>,
    close: Arc<Notify>,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let names: Arc<[String]> = host_names.into();
    let routes = routes.layer(axum::middleware::from_fn_with_state(names, door::known_host));
    tokio::select! {
        () = connections::accept(listener, routes) => {}
        () = close.notified() => {}
    }
    // Those who are connected are answered until the process ends.
    std::future::pending().await
}

/// For the next process on this machine.
fn to_successor(handing: HandOver) -> Router {
    Router::new()
        .route("/hand-over", post(hand_over::hand_over))
        .method_not_allowed_fallback(answer::no_such_method)
        .layer(axum::middleware::from_fn(door::door))
        .with_state(handing)
}

/// For everybody: load balancers and monitoring may be elsewhere.
fn open(sight: Sight) -> Router {
    Router::new()
        .route("/livez", get(live::live))
        .route("/readyz", get(ready::ready))
        .route("/metrics", get(metrics::metrics))
        .with_state(sight)
}

/// For operators on this machine.
fn control(controller: Controller) -> Router {
    Router::new()
        .route("/rules", get(rules::list::list).post(rules::add::add))
        .route("/rules/{id}", delete(rules::end::end))
        .route("/rules/{id}/extend", post(rules::extend::extend))
        .route("/incidents", get(incidents::list::list).post(incidents::open::open))
        .route("/incidents/{id}", delete(incidents::close::close))
        .route("/clients", get(clients::clients))
        .route("/gates", get(gates::gates))
        .route("/gates/{name}/history", get(gates::history))
        .route("/explain", post(explain::explain))
        .route("/reload", post(reload::reload))
        .method_not_allowed_fallback(answer::no_such_method)
        .layer(axum::middleware::from_fn(answer::in_time))
        .layer(axum::middleware::from_fn(door::door))
        .with_state(controller)
}

#[cfg(test)]
mod tests;
