use axum::extract::{Path, State};

use crate::answer::Answer;
use crate::control::{Command, Controller};
use crate::sent::Sent;

/// `POST /rules/{id}/extend`: another end, for a new reason.
pub(crate) async fn extend(State(controller): State<Controller>, Path(id): Path<String>, Sent(change): Sent) -> Answer {
    Answer(controller.ask(Command::Extend { id, change }).await)
}
