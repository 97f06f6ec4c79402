//! The steps from a file to a plan.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use rules::Timestamp;

use crate::disk::Disk;
use crate::keys::home_of;
use crate::later;
use crate::plan::Plan;
use crate::problem::{ConfigError, Problem};
use crate::raw::Raw;
use crate::resolve::{Environment, resolve};
use crate::tree::{self, KeyPath, Node, Trouble};
use crate::warnings::{Exposure, warnings};

/// No configuration is larger; a file named by mistake may be.
pub(crate) const MAX_FILE: u64 = 1024 * 1024;

impl Plan {
    /// Reads and validates a file. Relative paths in it start at its folder.
    pub fn from_file(path: &Path) -> Result<Plan, ConfigError> {
        Plan::from_file_with_warnings(path).map(|(plan, _)| plan)
    }

    /// Leaves out what stands elsewhere: secrets are empty, and files are not looked at. For whoever wants to know something of the
    /// proxy and is not the proxy.
    pub fn from_file_alone(path: &Path) -> Result<Plan, ConfigError> {
        let around = Surroundings { elsewhere: Elsewhere::LeftOut, ..Surroundings::of_process() };
        let (text, exposure) = read(path, &around.disk)?;
        load(&text, path, &Surroundings { exposure, ..around }).map(|(plan, _)| plan)
    }

    /// Also says what is allowed but worth a word, for `check` and for the log at start.
    pub fn from_file_with_warnings(path: &Path) -> Result<(Plan, Vec<Problem>), ConfigError> {
        let around = Surroundings::of_process();
        let (text, exposure) = read(path, &around.disk)?;
        load(&text, path, &Surroundings { exposure, ..around })
    }

    /// Validates a text as if it stood in the file `origin`, which need not exist.
    pub fn from_text(text: &str, origin: &Path) -> Result<Plan, ConfigError> {
        load(text, origin, &Surroundings::of_process()).map(|(plan, _)| plan)
    }
}

/// The secrets and files that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    Read,
    LeftOut,
}

/// What a plan depends on besides the text, an argument so that tests can give it.
pub(crate) struct Surroundings<'a> {
    pub(crate) exposure: Exposure,
    pub(crate) environment: Environment<'a>,
    pub(crate) now: Timestamp,
    pub(crate) disk: Disk,
    pub(crate) elsewhere: Elsewhere,
}

impl Surroundings<'_> {
    pub(crate) fn of_process() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp(0).plus(since);
        Surroundings {
            exposure: Exposure::Unknown,
            environment: &|name| std::env::var_os(name),
            now,
            disk: Disk::at_start(),
            elsewhere: Elsewhere::Read,
        }
    }
}

/// The whole way.
pub(crate) fn load(text: &str, origin: &Path, around: &Surroundings<'_>) -> Result<(Plan, Vec<Problem>), ConfigError> {
    // The YAML reader does not count it among the bytes.
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut tree =
        Node::parse(text).map_err(|error| ConfigError::Invalid(vec![Problem::of_unparsed(&error, origin, text)]))?;
    let mut troubles = Vec::new();
    tree.take_out_repeated(&KeyPath::default(), &mut troubles);
    let raw: Option<Raw> = tree::read(&tree, &mut troubles);
    let folder = origin.parent().unwrap_or(Path::new(""));
    let plan = raw.and_then(|raw| resolve(raw, folder, around, &mut troubles));
    troubles.iter_mut().for_each(explain_unknown_key);
    match plan {
        Some(plan) if troubles.is_empty() => {
            let warnings = in_order(&warnings(&plan, around.exposure, around.now), origin, text);
            Ok((plan, warnings))
        }
        _ => Err(ConfigError::Invalid(in_order(&troubles, origin, text))),
    }
}

/// Finding the place of each takes a reading of the file: of a thousand bad rules the first say enough, and of a large file
/// fewer.
fn most_problems(text: &str) -> usize {
    (4 * 1024 * 1024 / text.len().max(1)).clamp(5, 39)
}

fn in_order(troubles: &[Trouble], origin: &Path, text: &str) -> Vec<Problem> {
    let most = most_problems(text);
    let mut problems: Vec<Problem> =
        troubles.iter().take(most).map(|trouble| Problem::of(trouble, origin, text)).collect();
    problems.sort_by_key(|problem| (problem.line, problem.column));
    if let Some(trouble) = troubles.get(most) {
        let what = format!("and {} more like these, from here on", troubles.len() - most);
        let last = Trouble::new(trouble.path(), trouble.at, what, "see to those above first");
        problems.push(Problem::of(&last, origin, text));
    }
    problems
}

/// A key that comes later, or that stands in the wrong section, gets a better word than "no such key".
pub(crate) fn explain_unknown_key(trouble: &mut Trouble) {
    if trouble.known_keys.is_none() {
        return;
    }
    let path = trouble.path();
    if let Some((what, remedy)) = later::word_on(&path.pattern()) {
        (trouble.what, trouble.remedy) = (what, remedy);
    } else if let Some(section) = home_of(&path).filter(|_| !trouble.remedy.starts_with("did you mean")) {
        trouble.remedy = format!("it belongs under `{section}`");
    }
}

pub(crate) fn read(path: &Path, disk: &Disk) -> Result<(String, Exposure), ConfigError> {
    read_file(path, disk).map_err(|error| ConfigError::Unreadable { path: path.to_owned(), error })
}

fn read_file(path: &Path, disk: &Disk) -> io::Result<(String, Exposure)> {
    let content = disk.read(path, MAX_FILE).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => io::Error::new(error.kind(), "it is larger than 1 MiB"),
        _ => error,
    })?;
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    let text = String::from_utf8(content.bytes).map_err(not_text)?;
    Ok((text, Exposure::of(&content.metadata)))
}
