use axum::extract::{Path, State};

use crate::answer::Answer;
use crate::control::{Command, Controller};

/// `GET /gates`: how the database is doing, and what each gate makes of it.
pub(crate) async fn gates(State(controller): State<Controller>) -> Answer {
    Answer(controller.ask(Command::Gates).await)
}

/// `GET /gates/{name}/history`: the last hours of a gate's metric, five seconds a point.
pub(crate) async fn history(State(controller): State<Controller>, Path(gate): Path<String>) -> Answer {
    Answer(controller.ask(Command::History { gate }).await)
}
