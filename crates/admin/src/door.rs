//! Who may change anything: whoever is on this machine, and no web page that a browser here has open.
//!
//! There are no passwords yet, so the machine is the boundary. A browser is on the machine too, and runs what strangers
//! wrote. It says where a page comes from (`Origin`, `Sec-Fetch-Site`); and a page whose name was made to point here, which it
//! takes for one of ours, still has its own name in `Host`.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::answer::error;

pub(crate) async fn door(ConnectInfo(peer): ConnectInfo<SocketAddr>, request: Request, next: Next) -> Response {
    match stays_out(peer.ip(), request.uri(), request.headers()) {
        Some(why) => {
            tracing::warn!(%peer, path = request.uri().path(), why, "refused at admin.http");
            error(StatusCode::FORBIDDEN, why).into_response()
        }
        None => next.run(request).await,
    }
}

/// Why this one stays out, with what to do.
fn stays_out(peer: IpAddr, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
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
    let hosts = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default()).chain(uri.host());
    if !hosts.into_iter().all(is_loopback) {
        return Some("this is not the name of this machine: ask for 127.0.0.1, [::1] or localhost");
    }
    None
}

/// With or without a port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stays_out() {
        for (peer, headers, out) in [
            ("127.0.0.1", &[][..], None),
            ("127.8.8.8", &[("host", "127.0.0.1:6034")], None),
            ("::1", &[("host", "[::1]:6034")], None),
            ("::ffff:127.0.0.1", &[("host", "localhost:6034")], None),
            ("127.0.0.1", &[("host", "LocalHost")], None),
            ("127.0.0.1", &[("sec-fetch-site", "none")], None),
            ("10.0.0.7", &[("host", "localhost")], Some("on this machine")),
            ("::ffff:10.0.0.7", &[], Some("on this machine")),
            ("2001:db8::1", &[], Some("on this machine")),
            ("127.0.0.1", &[("origin", "http://127.0.0.1:6034")], Some("web page")),
            ("127.0.0.1", &[("origin", "null")], Some("web page")),
            ("127.0.0.1", &[("sec-fetch-site", "cross-site")], Some("web page")),
            ("127.0.0.1", &[("sec-fetch-site", "same-origin")], Some("web page")),
            ("127.0.0.1", &[("host", "evil.example")], Some("not the name")),
            ("127.0.0.1", &[("host", "127.0.0.1.evil.example:6034")], Some("not the name")),
            ("127.0.0.1", &[("host", "localhost.evil.example")], Some("not the name")),
            ("127.0.0.1", &[("host", "[::1].evil.example"), ("host", "evil.example")], Some("not the name")),
            ("127.0.0.1", &[("host", "0.0.0.0:6034")], Some("not the name")),
            ("127.0.0.1", &[("host", "")], Some("not the name")),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            let found = stays_out(peer.parse().unwrap(), &Uri::from_static("/rules"), &map);
            match out {
                None => assert_eq!(found, None, "{peer} {headers:?}"),
                Some(part) => assert!(found.is_some_and(|why| why.contains(part)), "{peer} {headers:?}: {found:?}"),
            }
        }
        let whole = Uri::from_static("http://evil.example/rules");
        assert!(stays_out("127.0.0.1".parse().unwrap(), &whole, &HeaderMap::new()).is_some());
    }
}
