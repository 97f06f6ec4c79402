//! The process that has the HTTP port when this one starts: one that drains gives it away.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::time::sleep;

use crate::http::{self, Bounds, Method};
use crate::running::from_here;

/// The answer needs no work on the other side.
const BOUNDS: Bounds = Bounds { time: Duration::from_secs(2), size: 64 * 1024 };
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Starts the HTTP port, which whoever drains there is asked for.
pub(crate) async fn start_behind(
    address: SocketAddr,
    start: impl Fn() -> io::Result<SocketAddr>,
) -> anyhow::Result<SocketAddr> {
    match start() {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
        other => return other.with_context(|| cannot_listen(address)),
    }
    let asked = tokio::task::spawn_blocking(move || {
        http::ask(from_here(address), Method::Post, "/hand-over", Some("{}"), BOUNDS)
    });
    match asked.await? {
        Ok(response) if response.status == 200 => {}
        Ok(response) if response.status == 409 => {
            return Err(anyhow!(
                "{}: another Tollgate runs there. To replace it, send it SIGTERM first: it lets clients in for `drain.wait` \
                 while this one starts, and gives it this address",
                cannot_listen(address)
            ));
        }
        Ok(_) | Err(_) => {
            return Err(anyhow!("{}: another program has it; set another address, or `off`", cannot_listen(address)));
        }
    }
    for _ in 0..TRIES {
        match start() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => sleep(PAUSE).await,
            other => return other.with_context(|| cannot_listen(address)),
        }
    }
    Err(anyhow!("{}: the process that drains there does not let go of it", cannot_listen(address)))
}

fn cannot_listen(address: SocketAddr) -> String {
    format!("cannot listen on admin.http {address}")
}
