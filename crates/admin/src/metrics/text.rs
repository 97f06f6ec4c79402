//! Prometheus's text format.

use std::fmt::{Display, Write};

#[derive(Debug, Default)]
pub(super) struct Text(String);

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// One metric, whose samples follow each other.
#[derive(Debug)]
pub(super) struct Metric<'t> {
    text: &'t mut Text,
    name: String,
}

impl Text {
    /// Begins a metric; `name` is without its prefix.
    pub(super) fn about(&mut self, kind: Kind, name: &str, help: &str) -> Metric<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let name = format!("tollgate_{name}");
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Metric { text: self, name }
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

impl Metric<'_> {
    pub(super) fn put(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        let out = &mut self.text.0;
        out.push_str(&self.name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let _ = write!(out, "{}{label}=\"{}\"", if index == 0 { '{' } else { ',' }, escaped(value));
        }
        if !labels.is_empty() {
            out.push('}');
        }
        let _ = writeln!(out, " {value}");
        self
    }
}

/// What clients call themselves must not end the label.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_what_they_are_about() {
        let mut text = Text::default();
        text.about(Kind::Gauge, "rules", "Rules.").put(&[("origin", "file")], 3).put(&[("a", "b"), ("c", "d")], 0.5);
        text.about(Kind::Counter, "x_total", "X.").put(&[], 1);
        assert_eq!(
            text.into_string(),
            "# HELP tollgate_rules Rules.\n# TYPE tollgate_rules gauge\ntollgate_rules{origin=\"file\"} 3\n\
             tollgate_rules{a=\"b\",c=\"d\"} 0.5\n# HELP tollgate_x_total X.\n# TYPE tollgate_x_total counter\n\
             tollgate_x_total 1\n"
        );
    }

    #[test]
    fn a_label_cannot_be_left() {
        for (value, written) in [("a\"} 1\nevil 1", r#"a\"} 1\nevil 1"#), (r"\", r"\\"), (r#"\""#, r#"\\\""#)] {
            assert_eq!(escaped(value), written);
        }
    }
}
