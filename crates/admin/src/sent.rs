//! What an operator sends: JSON, and not much of it.

use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value as Json;

use crate::answer::error;

/// A rule with every key has a few hundred bytes; its longest value, a statement, may have 64 KiB.
const MOST: usize = 128 * 1024;

/// A text that is JSON, as it was written.
pub(crate) struct SentText(pub(crate) String);

/// The same, read. Nothing at all is like `{}`.
pub(crate) struct Sent(pub(crate) Json);

impl<S: Send + Sync> FromRequest<S> for SentText {
    type Rejection = Response;

    async fn from_request(request: Request, _state: &S) -> Result<SentText, Response> {
        let bytes = to_bytes(request.into_body(), MOST).await.map_err(|_| {
            error(StatusCode::PAYLOAD_TOO_LARGE, &format!("this is longer than {MOST} bytes, or it broke off"))
        })?;
        let text = String::from_utf8(bytes.into()).map_err(|_| error(StatusCode::BAD_REQUEST, "this is not UTF-8"))?;
        Ok(SentText(text))
    }
}

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Sent, Response> {
        let SentText(text) = SentText::from_request(request, state).await?;
        if text.trim().is_empty() {
            return Ok(Sent(Json::Object(serde_json::Map::new())));
        }
        let json: Json = serde_json::from_str(&text)
            .map_err(|wrong| error(StatusCode::BAD_REQUEST, &format!("this is not JSON: {wrong}")))?;
        match json {
            Json::Object(_) => Ok(Sent(json)),
            _ => Err(error(StatusCode::BAD_REQUEST, "send an object, as in `{ \"reason\": \"…\" }`")),
        }
    }
}
