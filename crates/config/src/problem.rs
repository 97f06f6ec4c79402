//! What is wrong with a file, printed as a compiler would.

mod excerpt;
mod yaml;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::locate::{self, Place};
use crate::tree::Trouble;
use excerpt::Excerpt;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {error}\n  = write the file, or name another one: `tollgate check FILE`, `tollgate run --config FILE`", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// In the order of the file; never empty.
    #[error("{}", all(.0))]
    Invalid(Vec<Problem>),
}

impl ConfigError {
    /// What is wrong, place by place; empty if the file could not be read at all.
    pub fn problems(&self) -> &[Problem] {
        match self {
            ConfigError::Unreadable { .. } => &[],
            ConfigError::Invalid(problems) => problems,
        }
    }
}

/// One thing that is wrong, or with which a user should not be content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// Counts from one.
    pub line: usize,
    /// Counts from one, in characters.
    pub column: usize,
    /// As in `upstream.tls` or `listen[1].address`; empty if the whole file is meant.
    pub key: String,
    pub what: String,
    pub remedy: String,
    excerpt: Excerpt,
}

impl Problem {
    pub(crate) fn of(trouble: &Trouble, file: &Path, text: &str) -> Self {
        let path = trouble.path();
        let place = locate::locate(text, &path, trouble.at);
        Problem::at(place, file, text, path.to_string(), trouble.what.clone(), trouble.remedy.clone())
    }

    pub(crate) fn at(place: Place, file: &Path, text: &str, key: String, what: String, remedy: String) -> Self {
        let excerpt = Excerpt::of(text, place);
        Problem { file: file.to_owned(), line: place.line, column: place.column, key, what, remedy, excerpt }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file.display(), self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        writeln!(f, "{}", self.what)?;
        writeln!(f, "{:>5} | {}", self.line, self.excerpt.line)?;
        writeln!(f, "{:>5} | {}^", "", self.excerpt.indent)?;
        write!(f, "{:>5} = {}", "", self.remedy)
    }
}

fn all(problems: &[Problem]) -> String {
    let shown: Vec<String> = problems.iter().map(Problem::to_string).collect();
    shown.join("\n\n")
}
