use axum::extract::State;

use crate::answer::Answer;
use crate::control::{Command, Controller};

/// `GET /clients`: who asked, and what became of it.
pub(crate) async fn clients(State(controller): State<Controller>) -> Answer {
    Answer(controller.ask(Command::Clients).await)
}
