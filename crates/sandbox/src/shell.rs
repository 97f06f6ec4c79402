//! Commands written down as shell text, for the watcher's scripts.

use std::process::Command;

/// `exec` and the command with every word quoted, as one line of a `sh` script.
pub(crate) fn exec_line(command: &Command) -> String {
    let mut line = "exec".to_owned();
    let environment = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut assignments: Vec<String> = environment
        .map(|(name, value)| quote(&format!("{}={}", name.to_string_lossy(), value.to_string_lossy())))
        .collect();
    if !assignments.is_empty() {
        assignments.insert(0, "env".to_owned());
        line = format!("{line} {}", assignments.join(" "));
    }
    for word in std::iter::once(command.get_program()).chain(command.get_args()) {
        line.push(' ');
        line.push_str(&quote(&word.to_string_lossy()));
    }
    line.push('\n');
    line
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_arrives_as_it_was() {
        let words = ["plain", "two words", "it's", "$HOME", "", "a\nb", "--x=#1;2"];
        let mut command = Command::new("printf");
        command.arg("%s|").args(words).env("A", "b c");
        let out = Command::new("sh").args(["-c", &exec_line(&command)]).output().expect("sh runs");
        let expected: String = words.iter().map(|word| format!("{word}|")).collect();
        assert_eq!(String::from_utf8_lossy(&out.stdout), expected);
    }
}
