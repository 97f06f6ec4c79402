//! A text that is no YAML has no keys yet to speak of; the YAML reader's own words say what is wrong, and we add the remedy.

use std::path::Path;

use super::Problem;
use crate::locate::{Place, START};
use crate::tree::{DEEPEST, Unparsed, is_too_deep};

impl Problem {
    pub(crate) fn of_unparsed(unparsed: &Unparsed, file: &Path, text: &str) -> Self {
        match unparsed {
            Unparsed::Yaml(error) => Problem::of_yaml(error, file, text),
            Unparsed::TooDeep(at) => {
                let what = format!("lists and maps in brackets are nested deeper than {DEEPEST} levels");
                Problem::at(place_of_byte(*at, text), file, text, String::new(), what, TOO_DEEP_REMEDY.to_owned())
            }
        }
    }

    fn of_yaml(error: &serde_yaml::Error, file: &Path, text: &str) -> Self {
        let said = error.to_string();
        let place = place(error, &said, text);
        if is_too_deep(error) {
            let what = format!("lists and maps are nested deeper than {DEEPEST} levels");
            return Problem::at(place, file, text, String::new(), what, TOO_DEEP_REMEDY.to_owned());
        }
        let what = match said.contains(SECOND_DOCUMENT) {
            true => "there is a second document after `---`".to_owned(),
            false => said.replace(&format!(" at line {} column {}", place.line, place.column), ""),
        };
        let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or("");
        let remedy = remedy(&said, line).to_owned();
        Problem::at(place, file, text, String::new(), format!("this is not YAML: {what}"), remedy)
    }
}

const TOO_DEEP_REMEDY: &str = "close what is opened before this place; no key needs so many levels";

const SECOND_DOCUMENT: &str = "more than one document";

fn place_of_byte(at: usize, text: &str) -> Place {
    let before = text.get(..at).unwrap_or_default();
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    Place { line: before.matches('\n').count() + 1, column: last_line.chars().count() + 1 }
}

fn place(error: &serde_yaml::Error, said: &str, text: &str) -> Place {
    if said.contains(SECOND_DOCUMENT) {
        let marks = text.lines().enumerate().skip(1).filter(|(_, line)| line.trim_end() == "---");
        return marks.last().map_or(START, |(index, _)| Place { line: index + 1, column: 1 });
    }
    let found = error.location().map_or(START, |at| Place { line: at.line(), column: at.column() });
    if found.line <= text.lines().count() {
        return found;
    }
    // At the end of the file all that helps is where the thing began that never ended.
    beginning(said).unwrap_or(START)
}

/// The last "at line … column …" of the reader's words.
fn beginning(said: &str) -> Option<Place> {
    let (_, numbers) = said.rsplit_once(" at line ")?;
    let (line, column) = numbers.split_once(" column ")?;
    Some(Place { line: line.parse().ok()?, column: column.parse().ok()? })
}

fn remedy(said: &str, line: &str) -> &'static str {
    let tab = line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t');
    match said {
        _ if said.contains(SECOND_DOCUMENT) => "keep one document in the file",
        _ if tab => "indent with spaces: YAML takes no tabs",
        _ if said.contains("mapping values are not allowed") => {
            "put the value in quotes if it holds `: `, else check the indentation"
        }
        _ if said.contains("cannot start any token") => "put the value in quotes",
        _ if said.contains("anchor") => "put the value in quotes if its `*` is meant as it stands",
        _ if said.contains("quoted scalar") => "close the quote that is opened here",
        _ => "check the indentation and the quotes of this line and of the one above it",
    }
}
