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

    /// What is judged as a whole: a section, as in `upstream` for `upstream.tls`; of rules, gates and metrics, each by itself.
    pub(crate) fn section(&self) -> &[Step] {
        let Some(Step::Key(first)) = self.0.first() else { return &self.0 };
        let end = match first.as_str() {
            "rules" | "playbooks" => self.0.iter().position(|step| matches!(step, Step::Item(_))).unwrap_or(0),
            "gates" | "metrics" => 1,
            _ => 0,
        };
        self.0.get(..=end).unwrap_or(&self.0)
    }

    /// Printed without the numbers of items and the names that users give, as in `rules[].do` and `playbooks.*[].do`.
    pub(crate) fn pattern(&self) -> String {
        let mut text = String::new();
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(_) => text.push_str("[]"),
                Step::Key(key) if position == 0 => text.push_str(key),
                Step::Key(_) if position == 1 && ["playbooks", "gates", "metrics"].contains(&text.as_str()) => {
                    text.push_str(".*")
                }
                Step::Key(key) => text.extend([".", key]),
            }
        }
        text
    }

    /// Printed as seen from `base`.
    pub(crate) fn below(&self, base: &KeyPath) -> String {
        KeyPath(self.0.strip_prefix(base.0.as_slice()).unwrap_or(&self.0).to_vec()).to_string()
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
