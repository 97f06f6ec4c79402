use axum::extract::State;

use crate::answer::Answer;
use crate::control::{Command, Controller};
use crate::sent::Sent;

/// `POST /explain`: what would become of a query.
pub(crate) async fn explain(State(controller): State<Controller>, Sent(question): Sent) -> Answer {
    Answer(controller.ask(Command::Explain { question }).await)
}
