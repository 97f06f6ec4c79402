//! Decides which requests are answered: by the host in the request, and for operators' commands also by the caller.
//!
//! There are no passwords yet, so the machine is the boundary. A browser is on the machine too, and runs what strangers
//! wrote. It says where a page comes from (`Origin`, `Sec-Fetch-Site`); and a page whose name was made to point here (DNS
//! rebinding), which the browser takes for one of ours, still has its own name in `Host`. That is refused on every path:
//! metrics and readiness tell about users and servers too.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::answer::error;

/// For every path: refuses requests for hosts that this proxy is not known by.
pub(crate) async fn known_host(
    State(names): State<Arc<[String]>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    if asks_for_known_host(request.uri(), request.headers(), &names) {
        return next.run(request).await;
    }
    tracing::warn!(%peer, path = request.uri().path(), "refused at admin.http: unknown Host");
    let why =
        "this is not a name of this proxy: ask for its address or localhost, or add the name to `admin.host_names`";
    error(StatusCode::MISDIRECTED_REQUEST, why).into_response()
}

/// For operators' paths: on this machine only, and not from a web page.
pub(crate) async fn door(ConnectInfo(peer): ConnectInfo<SocketAddr>, request: Request, next: Next) -> Response {
    match stays_out(peer.ip(), request.headers()) {
        Some(why) => {
            tracing::warn!(%peer, path = request.uri().path(), why, "refused at admin.http");
            error(StatusCode::FORBIDDEN, why).into_response()
        }
        None => next.run(request).await,
    }
}

/// Why this one stays out, with what to do.
fn stays_out(peer: IpAddr, headers: &HeaderMap) -> Option<&'static str> {
    if !peer.to_canonical().is_loopback() {
        return Some(
            "rules are only for who is on this machine: run `tollgate rules …` there, or reach the port through an SSH \
             tunnel or `docker exec`",
        );
    }
    let from_a_page = headers.get("sec-fetch-site").is_some_and(|site| site.as_bytes() != b"none");
    if headers.contains_key(ORIGIN) || from_a_page {
        return Some("a web page may not do this: use the `tollgate` command, or curl without an Origin");
    }
    None
}

/// Programs that name no host at all, as in HTTP/1.0, are no browsers.
fn asks_for_known_host(uri: &Uri, headers: &HeaderMap, names: &[String]) -> bool {
    let hosts = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default()).chain(uri.host());
    hosts.into_iter().all(|host| is_known(host, names))
}

/// With or without a port. An address is no name that could be made to point elsewhere, so every one will do, but for the
/// unspecified one, which browsers take for this machine.
fn is_known(host: &str, names: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(v6) => {
            v6.split_once(']').filter(|(_, port)| port.is_empty() || port.starts_with(':')).map(|(name, _)| name)
        }
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.parse::<IpAddr>() {
        Ok(address) => !address.to_canonical().is_unspecified(),
        Err(_) => name.eq_ignore_ascii_case("localhost") || names.iter().any(|known| known.eq_ignore_ascii_case(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn who_stays_out() {
        for (peer, pairs, out) in [
            ("127.0.0.1", &[][..], None),
            ("127.8.8.8", &[("host", "127.0.0.1:6034")], None),
            ("::1", &[("host", "[::1]:6034")], None),
            ("::ffff:127.0.0.1", &[("host", "localhost:6034")], None),
            ("127.0.0.1", &[("sec-fetch-site", "none")], None),
            ("10.0.0.7", &[("host", "localhost")], Some("on this machine")),
            ("::ffff:10.0.0.7", &[], Some("on this machine")),
            ("2001:db8::1", &[], Some("on this machine")),
            ("127.0.0.1", &[("origin", "http://127.0.0.1:6034")], Some("web page")),
            ("127.0.0.1", &[("origin", "null")], Some("web page")),
            ("127.0.0.1", &[("sec-fetch-site", "cross-site")], Some("web page")),
            ("127.0.0.1", &[("sec-fetch-site", "same-origin")], Some("web page")),
        ] {
            let found = stays_out(peer.parse().unwrap(), &headers(pairs));
            match out {
                None => assert_eq!(found, None, "{peer} {pairs:?}"),
                Some(part) => assert!(found.is_some_and(|why| why.contains(part)), "{peer} {pairs:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn unknown_hosts_are_refused() {
        let names = ["proxy-1.internal".to_owned()];
        for (host, known) in [
            ("127.0.0.1:6034", true),
            ("10.0.0.7:6034", true),
            ("[::1]:6034", true),
            ("[2001:db8::1]", true),
            ("LocalHost", true),
            ("localhost.:6034", true),
            ("Proxy-1.Internal:6034", true),
            ("proxy-2.internal:6034", false),
            ("evil.example", false),
            ("127.0.0.1.evil.example:6034", false),
            ("localhost.evil.example", false),
            ("[::1].evil.example", false),
            ("[::1", false),
            ("0.0.0.0:6034", false),
            ("[::]:6034", false),
            ("", false),
        ] {
            let relative = Uri::from_static("/metrics");
            assert_eq!(asks_for_known_host(&relative, &headers(&[("host", host)]), &names), known, "{host}");
        }
        let (none, two) = (HeaderMap::new(), headers(&[("host", "localhost"), ("host", "evil.example")]));
        assert!(asks_for_known_host(&Uri::from_static("/metrics"), &none, &names));
        assert!(!asks_for_known_host(&Uri::from_static("/metrics"), &two, &names));
        assert!(!asks_for_known_host(&Uri::from_static("http://evil.example/rules"), &none, &names));
    }
}
