//! The operator's side, over HTTP: whether the proxy lives, whether it is ready, and what it has counted.
//!
//! It only reads. It runs on a thread of its own, so that it answers when the data side is busy. Rules, the console and
//! the page come to the same port later.
#![forbid(unsafe_code)]

pub mod control;

mod live;

mod metrics;

mod ready;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use relay::shared::Shared;

use control::Controller;

/// Serves until the process ends. Returns the address in use.
pub fn start(address: SocketAddr, shared: Arc<Shared>, controller: Controller) -> io::Result<SocketAddr> {
    let _ = controller;
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let local = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("admin".to_owned()).spawn(move || {
        runtime.block_on(async {
            let served = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => axum::serve(listener, routes(shared)).await,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                tracing::error!(%error, "the HTTP port is closed");
            }
        });
    })?;
    Ok(local)
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/livez", get(live::live))
        .route("/readyz", get(ready::ready))
        .route("/metrics", get(metrics::metrics))
        .with_state(shared)
}
