use axum::extract::State;

use crate::answer::Answer;
use crate::control::{Command, Controller};

/// `POST /reload`: reads proxy.yaml again.
pub(crate) async fn reload(State(controller): State<Controller>) -> Answer {
    Answer(controller.ask(Command::Reload).await)
}
