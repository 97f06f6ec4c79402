//! Drawings as SVG text: just what the plots need.

mod panel;
mod scale;

pub use panel::{Frame, Panel};
pub use scale::Scale;

use std::fmt::Write;

/// A drawing that grows. Colours are classes, so that one style sheet has those for light and for dark.
#[derive(Debug, Default)]
pub struct Drawing {
    body: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#));
    }

    pub fn rectangle(&mut self, class: &str, corner: (f64, f64), size: (f64, f64)) {
        let ((x, y), (width, height)) = (corner, size);
        self.put(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    pub fn curve(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let mut text = String::new();
        for (x, y) in points {
            let _ = write!(text, "{x:.1},{y:.1} ");
        }
        self.put(format_args!(r#"<polyline class="{class}" points="{}"/>"#, text.trim_end()));
    }

    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let ((x, y), anchor, text) = (at, anchor.name(), escape(text));
        self.put(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#));
    }

    /// The whole file. `title` is what screen readers say.
    pub fn finish(self, width: f64, height: f64, title: &str, style: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\">\n<title>{}</title>\n<style>\n{style}</style>\n\
             <rect class=\"paper\" x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\"/>\n{}</svg>\n",
            escape(title),
            self.body
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements() {
        let mut drawing = Drawing::default();
        drawing.line("axis", (0.0, 1.0), (2.04, 3.06));
        drawing.curve("run", [(1.0, 2.0), (3.0, 4.0)]);
        drawing.text("label", (5.0, 6.0), Anchor::End, "a < b & c");
        let text = drawing.finish(100.0, 50.0, "A > B", ".axis { stroke: red }\n");
        for expected in [
            r#"<line class="axis" x1="0.0" y1="1.0" x2="2.0" y2="3.1"/>"#,
            r#"points="1.0,2.0 3.0,4.0"/>"#,
            r#"text-anchor="end">a &lt; b &amp; c</text>"#,
            "<title>A &gt; B</title>",
            r#"viewBox="0 0 100 50""#,
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
    }
}
