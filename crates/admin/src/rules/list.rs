use axum::extract::State;

use crate::answer::Answer;
use crate::control::{Command, Controller};

/// `GET /rules`: every rule in force or about to be, with what it did so far.
pub(crate) async fn list(State(controller): State<Controller>) -> Answer {
    Answer(controller.ask(Command::Rules).await)
}
