//! The name of a place in the file, printed as `listen[1].tls`.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct KeyPath(pub(crate) Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Item(usize),
}

impl KeyPath {
    /// From keys joined by dots, as in `upstream.tls`.
    pub(crate) fn of(keys: &str) -> Self {
        KeyPath(keys.split('.').map(|key| Step::Key(key.to_owned())).collect())
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        self.then(Step::Key(key.to_owned()))
    }

    pub(crate) fn item(&self, index: usize) -> Self {
        self.then(Step::Item(index))
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        KeyPath(steps)
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The first key, as in `upstream` for `upstream.tls`.
    pub(crate) fn section(&self) -> Option<&Step> {
        self.0.first()
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if position == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
