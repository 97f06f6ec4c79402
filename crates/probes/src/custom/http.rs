//! A page whose whole text is one number.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use health::{Reading, ServerName, Unknown};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::header::{HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use super::{Ask, CustomMetric, Next, On, Schedule, number};
use crate::connector::PROGRAM_NAME;
use crate::event::Outbox;
use crate::pace::Pace;

/// Longer than any number.
const LONGEST: usize = 4096;

/// No server is asked, so it needs nothing of what leads to one.
pub(crate) async fn run(custom: watch::Receiver<Arc<Vec<CustomMetric>>>, pace: watch::Receiver<Pace>, outbox: Outbox) {
    let wanted = |ask: &Ask, _: On| matches!(ask, Ask::Http { .. });
    let mut schedule = Schedule::new(custom, pace, On::Primary, wanted);
    // Each by itself, since they have nothing in common. None lasts longer than its deadline.
    let mut asking = JoinSet::new();
    loop {
        match schedule.next().await {
            Next::Ask(metric) => {
                while asking.try_join_next().is_some() {}
                let outbox = outbox.clone();
                // Before it is on its way: by then another question may be asked, and this is no answer to that.
                let sent = Instant::now();
                asking.spawn(async move {
                    let Ask::Http { url } = &metric.ask else { return };
                    let reading = measure(url, &metric, sent).await;
                    outbox.report(metric.name.clone(), &server(url), reading, sent, None);
                });
            }
            Next::Replaced => asking.abort_all(),
        }
    }
}

async fn measure(url: &str, metric: &CustomMetric, sent: Instant) -> Reading {
    match timeout_at((sent + metric.timeout).into(), get(url)).await {
        Ok(Ok(text)) => number::parse(&text),
        Ok(Err(why)) => Reading::Unknown(why),
        Err(_) => Reading::Unknown(Unknown::TimedOut),
    }
}

/// Host and port, for the lists.
fn server(url: &str) -> ServerName {
    let uri: Option<Uri> = url.parse().ok();
    uri.as_ref().and_then(Uri::authority).map_or_else(|| url.into(), |authority| authority.as_str().into())
}

async fn get(url: &str) -> Result<String, Unknown> {
    let uri: Uri = url.parse().map_err(|_| Unknown::Failed)?;
    let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http")).ok_or(Unknown::Unsupported)?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(80);
    let stream = TcpStream::connect((host, port)).await.map_err(|_| Unknown::Unreachable)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|_| Unknown::Failed)?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(HOST, authority.as_str())
        .header(USER_AGENT, PROGRAM_NAME)
        .body(Empty::<Bytes>::new())
        .map_err(|_| Unknown::Failed)?;
    // The connection moves the bytes for the answer; both end together.
    tokio::select! {
        biased;
        answer = async {
            let response = sender.send_request(request).await.map_err(|_| Unknown::Failed)?;
            match response.status() {
                StatusCode::OK => {}
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(Unknown::Denied),
                _ => return Err(Unknown::Failed),
            }
            let body = Limited::new(response.into_body(), LONGEST).collect().await.map_err(|_| Unknown::Failed)?;
            Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
        } => answer,
        never = async {
            let _ = connection.await;
            // What had arrived is still to be read, and the end is an error there.
            std::future::pending::<Infallible>().await
        } => match never {},
    }
}
