//! A rectangle with two axes, and what is drawn in it.

use super::{Anchor, Drawing, Scale};

/// Where a panel lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// Values go in, places come out. The frame's sides are the scales' ends.
#[derive(Debug)]
pub struct Panel {
    pub frame: Frame,
    pub x: Scale,
    pub y: Scale,
}

impl Panel {
    pub fn new(frame: Frame, x: Scale, y: Scale) -> Self {
        Self { frame, x: x.between(frame.left, frame.right()), y: y.between(frame.bottom(), frame.top) }
    }

    /// The heading over it, to the left.
    pub fn heading(&self, drawing: &mut Drawing, text: &str) {
        drawing.text("heading", (self.frame.left, self.frame.top - 9.0), Anchor::Start, text);
    }

    pub fn horizontal_grid(&self, drawing: &mut Drawing, ticks: u32, label: impl Fn(f64) -> String) {
        for value in self.y.ticks(ticks) {
            let y = self.y.place(value);
            drawing.line("grid", (self.frame.left, y), (self.frame.right(), y));
            drawing.text("tick", (self.frame.left - 6.0, y + 4.0), Anchor::End, &label(value));
        }
    }

    pub fn bottom_axis(&self, drawing: &mut Drawing, ticks: u32, label: impl Fn(f64) -> String) {
        let bottom = self.frame.bottom();
        drawing.line("axis", (self.frame.left, bottom), (self.frame.right(), bottom));
        for value in self.x.ticks(ticks) {
            let x = self.x.place(value);
            drawing.line("axis", (x, bottom), (x, bottom + 4.0));
            drawing.text("tick", (x, bottom + 17.0), Anchor::Middle, &label(value));
        }
    }

    /// A band from one time to another, behind everything that is drawn later.
    pub fn band(&self, drawing: &mut Drawing, class: &str, from: f64, to: f64) {
        let (left, right) = (self.x.place(from), self.x.place(to));
        drawing.rectangle(class, (left, self.frame.top), (right - left, self.frame.height));
    }

    pub fn level(&self, drawing: &mut Drawing, class: &str, value: f64) {
        let y = self.y.place(value);
        drawing.line(class, (self.frame.left, y), (self.frame.right(), y));
    }

    pub fn moment(&self, drawing: &mut Drawing, class: &str, at: f64) {
        let x = self.x.place(at);
        drawing.line(class, (x, self.frame.top), (x, self.frame.bottom()));
    }

    pub fn curve(&self, drawing: &mut Drawing, class: &str, points: &[(f64, f64)]) {
        drawing.curve(class, points.iter().map(|(x, y)| (self.x.place(*x), self.y.place(*y))));
    }
}
