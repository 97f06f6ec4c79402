//! What an operator gets: JSON, and `{"error": "…"}` where something is wrong.

use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Json, json};

use crate::control::{ControlError, ControlErrorKind, Reply};

/// From the first byte of the body to the answer. A disk may hang.
const TIME: Duration = Duration::from_secs(20);

/// The answer to a command.
pub(crate) struct Answer(pub(crate) Reply);

/// The answer to a command that makes something.
pub(crate) struct Created(pub(crate) Reply);

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        response(StatusCode::OK, self.0)
    }
}

impl IntoResponse for Created {
    fn into_response(self) -> Response {
        response(StatusCode::CREATED, self.0)
    }
}

fn response(good: StatusCode, reply: Reply) -> Response {
    match reply {
        Ok(json) => body(good, &json),
        Err(ControlError { kind, message }) => error(status(kind), &message),
    }
}

fn status(kind: ControlErrorKind) -> StatusCode {
    match kind {
        ControlErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ControlErrorKind::NotFound => StatusCode::NOT_FOUND,
        ControlErrorKind::Conflict => StatusCode::CONFLICT,
        ControlErrorKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(crate) fn error(status: StatusCode, message: &str) -> Response {
    body(status, &json!({ "error": message }))
}

fn body(status: StatusCode, json: &Json) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], format!("{json}\n")).into_response()
}

pub(crate) async fn no_such_path() -> Response {
    let paths = "/livez, /readyz, /metrics, /rules, /incidents, /clients, /gates, /explain, /reload and /hand-over";
    error(StatusCode::NOT_FOUND, &format!("there is nothing here; there are {paths}"))
}

pub(crate) async fn no_such_method() -> Response {
    error(StatusCode::METHOD_NOT_ALLOWED, "not with this method; GET shows, POST adds and does, DELETE ends")
}

/// Lets nobody wait for ever.
pub(crate) async fn in_time(request: Request, next: Next) -> Response {
    let late = "no answer in time; what was asked for may still be done: look with `tollgate rules list`";
    let answer = tokio::time::timeout(TIME, next.run(request)).await;
    answer.unwrap_or_else(|_| error(StatusCode::GATEWAY_TIMEOUT, late))
}
