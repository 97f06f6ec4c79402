use axum::extract::State;

use crate::answer::Answer;
use crate::control::{Command, Controller};

/// `GET /incidents`
pub(crate) async fn list(State(controller): State<Controller>) -> Answer {
    Answer(controller.ask(Command::Incidents).await)
}
