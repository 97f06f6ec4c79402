//! A running proxy, as operators' commands reach it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use config::Plan;
use serde_json::Value as Json;

use crate::http::{self, Bounds, Method};

/// Longer than the proxy itself gives an answer, and room for what 100,000 rules say.
const BOUNDS: Bounds = Bounds { time: Duration::from_secs(30), size: 256 * 1024 * 1024 };

/// The variable of the environment that names it where no option does.
const VARIABLE: &str = "TOLLGATE_HTTP";

/// Where it is.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Where {
    /// The `admin.http` of the running proxy [default: TOLLGATE_HTTP, or 127.0.0.1:6034].
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    http: Option<SocketAddr>,
    /// Take that address from this configuration file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Where {
    /// At this address, or where one is by default.
    pub(crate) fn at(http: Option<SocketAddr>) -> Where {
        Where { http, config: None }
    }

    pub(crate) fn running(&self) -> anyhow::Result<Running> {
        Ok(Running { address: self.address()? })
    }

    /// Nothing of the file is read but itself: the secrets that it names are the proxy's.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        if let Some(http) = self.http {
            return Ok(http);
        }
        let Some(path) = &self.config else {
            let Ok(address) = std::env::var(VARIABLE) else {
                return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, 6034)));
            };
            return address.parse().with_context(|| format!("{VARIABLE} is {address:?}: write it as 127.0.0.1:6034"));
        };
        // A file that was broken after the start says nothing about the proxy that runs.
        let hint = "the file has errors, so where the proxy is was not read; name its `admin.http` with --http";
        let plan = Plan::from_file_alone(path).context(hint)?;
        let http = plan.admin.http.with_context(|| {
            format!("`admin.http` is off in {}: set an address and start the proxy anew", path.display())
        })?;
        Ok(from_here(http))
    }
}

/// What listens on all addresses is reached on this machine's own.
pub(crate) fn from_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Running {
    address: SocketAddr,
}

impl Running {
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Json> {
        self.ask(Method::Get, path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Json) -> anyhow::Result<Json> {
        self.ask(Method::Post, path, Some(body))
    }

    pub(crate) fn delete(&self, path: &str, body: &Json) -> anyhow::Result<Json> {
        self.ask(Method::Delete, path, Some(body))
    }

    fn ask(&self, method: Method, path: &str, body: Option<&Json>) -> anyhow::Result<Json> {
        let address = self.address;
        let body = body.map(Json::to_string);
        let response =
            http::ask(address, method, path, body.as_deref(), BOUNDS).map_err(|error| unreached(address, error))?;
        let json = serde_json::from_str::<Json>(&response.body).ok();
        match (response.status, json) {
            (200 | 201, Some(json)) => Ok(json),
            (status, Some(json)) => match json.get("error").and_then(Json::as_str) {
                Some(error) => Err(anyhow!("{error}")),
                None => bail!("http://{address}{path} answers with the status {status}: {}", response.body.trim()),
            },
            (status, None) => bail!(
                "what listens on {address} is not this version's `admin.http` (status {status}); name the right address with \
                 --http"
            ),
        }
    }
}

/// What to do when nobody answers.
fn unreached(address: SocketAddr, error: anyhow::Error) -> anyhow::Error {
    let refused = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    match refused {
        true => anyhow!(
            "no proxy listens on http://{address}: start one with `tollgate run --config proxy.yaml`, or name the \
             `admin.http` of the one that runs with --http, or its file with --config"
        ),
        false => error.context(format!(
            "{address} does not answer as a proxy's `admin.http` does; name the right address with --http (6033 is for \
             MySQL clients, 6034 for operators)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_all_interfaces_is_reached_here() {
        for (address, reached) in [
            ("0.0.0.0:6034", "127.0.0.1:6034"),
            ("[::]:1", "[::1]:1"),
            ("127.0.0.1:2", "127.0.0.1:2"),
            ("10.0.0.7:6034", "10.0.0.7:6034"),
        ] {
            assert_eq!(from_here(address.parse().unwrap()), reached.parse().unwrap());
        }
    }
}
