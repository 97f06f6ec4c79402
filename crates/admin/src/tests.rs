//! The control routes over a real socket, before a thread that answers as the test says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::control;
use crate::control::{Command, ControlError, ControlErrorKind, Controller, Request};

/// Says which command came, and answers it.
fn answering(requests: &Receiver<Request>) {
    let wrong = |kind| Err(ControlError { kind, message: "why".to_owned() });
    for Request { command, reply } in requests {
        let answer = match &command {
            Command::End { id, .. } if id == "gone" => wrong(ControlErrorKind::NotFound),
            Command::End { id, .. } if id == "of-file" => wrong(ControlErrorKind::Conflict),
            Command::Explain { .. } => wrong(ControlErrorKind::Invalid),
            Command::Reload => wrong(ControlErrorKind::Failed),
            command => Ok(json!({ "command": format!("{command:?}") })),
        };
        let _ = reply.send(answer);
    }
}

async fn start() -> SocketAddr {
    let (requests, queue) = channel();
    std::thread::spawn(move || answering(&queue));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(super::serve(listener, control(Controller::new(requests)), Vec::new(), Arc::default()));
    address
}

async fn ask(address: SocketAddr, request: &str, body: &str) -> (u16, Json) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let text = format!("{request}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}")))
}

#[tokio::test]
async fn each_path_is_a_command() {
    let address = start().await;
    for (line, body, command) in [
        ("GET /rules", "", "Rules"),
        ("POST /rules", "{\"do\":1,\"do\":2}", r#"Add { rule: "{\"do\":1,\"do\":2}" }"#),
        (
            "POST /rules/a%3Ab/extend",
            "{\"for\":\"2h\"}",
            r#"Extend { id: "a:b", change: Object {"for": String("2h")} }"#,
        ),
        ("DELETE /rules/x", "", r#"End { id: "x", change: Object {} }"#),
        ("DELETE /rules/x", "{\"by\":\"me\"}", r#"End { id: "x", change: Object {"by": String("me")} }"#),
        ("GET /incidents", "", "Incidents"),
        ("POST /incidents", "{}", "OpenIncident { incident: Object {} }"),
        ("DELETE /incidents/INC-42", "", r#"CloseIncident { id: "INC-42", change: Object {} }"#),
        ("GET /clients", "", "Clients"),
        ("GET /gates", "", "Gates"),
        ("GET /gates/my%20lag/history", "", r#"History { gate: "my lag" }"#),
    ] {
        let (status, json) = ask(address, &format!("{line} HTTP/1.1\r\nHost: localhost"), body).await;
        let made = ["POST /rules", "POST /incidents"].contains(&line);
        assert_eq!((status, &json), (if made { 201 } else { 200 }, &json!({ "command": command })), "{line}");
    }
}

#[tokio::test]
async fn what_is_wrong_has_a_status_and_a_message() {
    let address = start().await;
    let long = format!("{{\"reason\":\"{}\"}}", "x".repeat(200_000));
    for (line, body, status, message) in [
        ("DELETE /rules/gone", "", 404, "why"),
        ("DELETE /rules/of-file", "", 409, "why"),
        ("POST /explain", "{}", 400, "why"),
        ("POST /reload", "", 500, "why"),
        ("POST /rules/x/extend", "{\"for\":", 400, "this is not JSON"),
        ("POST /rules/x/extend", "[1]", 400, "send an object"),
        ("POST /rules", &long, 413, "longer than"),
        ("PUT /rules", "", 405, "not with this method"),
    ] {
        let (found, json) = ask(address, &format!("{line} HTTP/1.1\r\nHost: [::1]:6034"), body).await;
        assert_eq!(found, status, "{line}: {json}");
        assert!(json["error"].as_str().is_some_and(|error| error.contains(message)), "{line}: {json}");
    }
}

#[tokio::test]
async fn a_page_in_a_browser_is_kept_out() {
    let address = start().await;
    for (headers, expected) in
        [("Host: localhost\r\nOrigin: https://evil.example", 403), ("Host: evil.example:6034", 421)]
    {
        for line in ["GET /rules", "POST /reload", "DELETE /rules/x"] {
            let (status, json) = ask(address, &format!("{line} HTTP/1.1\r\n{headers}"), "").await;
            assert_eq!(status, expected, "{line}: {json}");
        }
    }
}
