//! Colours, for light and dark, that people who see few colours can tell apart.

use crate::storm::plan::Control;

pub(super) fn class(control: Control) -> &'static str {
    match control {
        Control::Off => "off",
        Control::ByHand => "by-hand",
        Control::Binary => "binary",
        Control::Paced => "paced",
        Control::NoHeartbeat => "no-heartbeat",
        Control::Permits => "permits",
    }
}

pub(super) const SHEET: &str = "\
text { font-family: system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; font-size: 12px; fill: #24292f }
.paper { fill: #ffffff }
.title { font-size: 17px; font-weight: 600 }
.heading, .name { font-size: 13px; font-weight: 600 }
.tick, .note, .value { fill: #57606a }
.note { font-size: 11px }
.grid { stroke: #e4e8ec; stroke-width: 1 }
.axis { stroke: #8c959f; stroke-width: 1 }
.warm-up { fill: #f3f5f7 }
.slow { fill: #fff1d6 }
.moment { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 2 3 }
.threshold { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 6 4 }
.threshold-text { fill: #cf222e; font-size: 11px }
.can-apply { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 2 3; fill: none }
.curve { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.bar { fill-opacity: 0.45 }
.off { stroke: #7d8590; fill: #7d8590 }
.by-hand { stroke: #b5478f; fill: #b5478f }
.binary { stroke: #d55e00; fill: #d55e00 }
.paced { stroke: #0066b3; fill: #0066b3 }
.permits { stroke: #00875f; fill: #00875f }
.no-heartbeat { stroke: #7a6a00; fill: #7a6a00 }
.curve.off, .curve.by-hand, .curve.binary, .curve.paced, .curve.permits, .curve.no-heartbeat { fill: none }
.bar, .core { stroke: none }
.note, .value, .threshold-text { stroke: #ffffff; stroke-width: 3px; paint-order: stroke }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.paper { fill: #0d1117 }
.tick, .note, .value { fill: #9aa4af }
.grid { stroke: #252b33 }
.axis { stroke: #6e7681 }
.warm-up { fill: #151b23 }
.slow { fill: #2e2410 }
.moment { stroke: #6e7681 }
.threshold { stroke: #ff7b72 }
.threshold-text { fill: #ff7b72 }
.can-apply { stroke: #e6edf3 }
.off { stroke: #8b949e; fill: #8b949e }
.by-hand { stroke: #e48ac4; fill: #e48ac4 }
.binary { stroke: #ff9a4d; fill: #ff9a4d }
.paced { stroke: #58a6ff; fill: #58a6ff }
.permits { stroke: #3fcf9b; fill: #3fcf9b }
.no-heartbeat { stroke: #d6c95a; fill: #d6c95a }
.curve.off, .curve.by-hand, .curve.binary, .curve.paced, .curve.permits, .curve.no-heartbeat { fill: none }
.bar, .core { stroke: none }
.note, .value, .threshold-text { stroke: #0d1117 }
}
";
