//! What goes wrong with the overlay: with a change, or with the file.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rules::lifetime::StaleReason;
use rules::{RuleId, Timestamp};

/// Why a change was not made. Memory and file are as they were.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    #[error("there is a rule `{id}` already; choose another id, or end that one first")]
    IdTaken { id: RuleId },
    #[error("no rule added at run time is called `{id}`")]
    NoSuchRule { id: String },
    #[error("a rule added at run time expires, and `{id}` does not")]
    NoEnd { id: RuleId },
    #[error("{at} is over; write a later moment")]
    Over { at: Timestamp },
    #[error("{at} is more than a year away; write a permanent rule into proxy.yaml")]
    TooFar { at: Timestamp },
    #[error(transparent)]
    StaleReason(#[from] StaleReason),
    #[error("the incident `{id}` is open already")]
    IncidentOpen { id: String },
    #[error("no incident `{id}` is open")]
    NoSuchIncident { id: String },
    #[error("there are {most} rules of the run time already; end some first")]
    TooMany { most: usize },
    #[error("the change is not made, since it could not be kept: {}: {error}", .file.display())]
    NotKept { file: PathBuf, error: io::Error },
    #[error(
        "the disk with {} has not answered in time: the change is probably not made; look with `tollgate rules list` once \
         it answers again",
        .file.display()
    )]
    Unanswered { file: PathBuf },
    #[error("the change is not made: another process has held the lock of {} for too long", .file.display())]
    Locked { file: PathBuf },
    #[error(
        "the change is not made: {} was written by a newer version (format {format}); use that one, or move the file away",
        .file.display()
    )]
    Newer { file: PathBuf, format: u64 },
}

/// Something about the file that a person must know: to be logged as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// It could not be understood at all. The rules in it are not in force.
    Broken {
        file: PathBuf,
        why: String,
        kept: Result<PathBuf, String>,
    },
    /// Some of its entries could not be understood. They are not in force; the others are.
    Lost {
        file: PathBuf,
        lost: Vec<String>,
        kept: Result<PathBuf, String>,
    },
    Newer {
        file: PathBuf,
        format: u64,
    },
    Unreadable {
        file: PathBuf,
        error: String,
    },
    /// It cannot be read any more. The rules that were read before stay in force.
    NotRefreshed {
        file: PathBuf,
        error: String,
    },
    /// The folder's file system does not answer. What was read before stays in force.
    Hanging {
        folder: PathBuf,
        error: String,
    },
    /// The folder cannot be used: no rule can be added.
    NoFolder {
        folder: PathBuf,
        error: String,
    },
    /// A rule of proxy.yaml has its id.
    Renamed {
        old: RuleId,
        new: RuleId,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Broken { file, why, kept } => {
                write!(f, "the rules added at run time are LOST: {} is broken: {why}; {}", file.display(), Kept(kept))
            }
            Note::Lost { file, lost, kept } => {
                let lost = lost.join("; ");
                write!(f, "of the rules added at run time some are LOST: in {}: {lost}; {}", file.display(), Kept(kept))
            }
            Note::Newer { file, format } => write!(
                f,
                "the rules added at run time are not in force: {} was written by a newer version (format {format}); \
                 none can be added until it is moved away",
                file.display()
            ),
            Note::Unreadable { file, error } => {
                write!(f, "the rules added at run time are not in force: cannot read {}: {error}", file.display())
            }
            Note::NotRefreshed { file, error } => write!(
                f,
                "the rules added at run time stay as they are, and none can be changed: cannot read {}: {error}",
                file.display()
            ),
            Note::Hanging { folder, error } => write!(
                f,
                "the rules added at run time stay as they were last read, and none can be changed: no access to the state_dir {}: {error}",
                folder.display()
            ),
            Note::NoFolder { folder, error } => {
                write!(f, "no rule can be added at run time: cannot use the state_dir {}: {error}", folder.display())
            }
            Note::Renamed { old, new } => {
                write!(f, "the rule `{old}` added at run time is now called `{new}`: proxy.yaml has one of that id")
            }
        }
    }
}

struct Kept<'a>(&'a Result<PathBuf, String>);

impl fmt::Display for Kept<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(path) => write!(f, "the file is kept as {}", path.display()),
            Err(error) => write!(f, "and it could not be set aside: {error}"),
        }
    }
}
