//! Deep nesting, found before the YAML reader sees it.
//!
//! The reader refuses values nested deeper than [`DEEPEST`], but only after it has read the whole text; and for each token
//! its scanner walks over all open brackets (the simple keys of libyaml), so a text of nothing but brackets takes quadratic
//! time. This scan finds the bracket that goes too deep, and the reader is given the text up to there.
//!
//! The scan follows the reader's rules for quotes, comments and plain scalars in brackets. Outside of brackets it is coarse:
//! a bracket in a block scalar may count. So its finding is a suspicion only, which the reader confirms or not.

/// Levels of lists and maps that the reader accepts.
pub(crate) const DEEPEST: usize = 128;

/// The length of the shortest beginning of the text that seems to be nested too deep, if there is one.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut scan = Scan::default();
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        let escaped = scan.take(byte);
        if escaped {
            bytes.next();
        }
        if scan.depth > DEEPEST {
            return Some(at + 1);
        }
    }
    None
}

#[derive(Default)]
struct Scan {
    depth: usize,
    state: State,
    /// The byte before, and the last one that was no whitespace; 0 at the start of a line outside of brackets.
    previous: u8,
    solid: u8,
    /// The word that is being read is an anchor or a tag, behind which a value may begin.
    property: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Until the end of the line.
    Comment,
    /// Until this byte.
    Quote(u8),
}

impl Scan {
    /// `true`: the next byte is escaped.
    fn take(&mut self, byte: u8) -> bool {
        match self.state {
            State::Comment if byte == b'\n' => self.state = State::Open,
            State::Comment => return false,
            State::Quote(b'"') if byte == b'\\' => return true,
            State::Quote(quote) if byte == quote => self.state = State::Open,
            State::Quote(_) => return false,
            State::Open => self.take_open(byte),
        }
        self.remember(byte);
        false
    }

    fn take_open(&mut self, byte: u8) {
        let blank = self.previous == 0 || self.previous.is_ascii_whitespace();
        match byte {
            b'#' if blank => self.state = State::Comment,
            b'"' | b'\'' if self.value_may_begin(blank) => self.state = State::Quote(byte),
            b'[' | b'{' if self.depth > 0 || self.value_may_begin(blank) => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            b'&' | b'!' if self.value_may_begin(blank) => self.property = true,
            _ if blank && !byte.is_ascii_whitespace() => self.property = false,
            _ => {}
        }
    }

    /// A bracket or a quote elsewhere is a character of a plain scalar.
    fn value_may_begin(&self, blank: bool) -> bool {
        match self.solid {
            0 => true,
            _ if self.property && blank => true,
            b'[' | b'{' | b',' => self.depth > 0,
            b':' | b'?' | b'-' => blank || self.depth > 0,
            _ => false,
        }
    }

    fn remember(&mut self, byte: u8) {
        self.previous = byte;
        if byte == b'\n' && self.depth == 0 {
            (self.solid, self.previous) = (0, 0);
        } else if !byte.is_ascii_whitespace() {
            self.solid = byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Node;

    fn is_too_deep(text: &str) -> bool {
        Node::parse(text).is_err_and(|error| error.to_string().contains("recursion limit"))
    }

    /// Whatever stands between them, the brackets are counted, and no more of the text is read than the first 129.
    #[test]
    fn deep_text_is_read_up_to_the_limit_only() {
        for unit in [
            "[",
            "{a: ",
            "{a:\n",
            "{",
            "[{a: ",
            "[\n",
            "[ # ]\n",
            "[\"]\", ",
            "[']', ",
            "{']': ",
            "[\"\\\"]\", ",
            "[a', ",
            "[a 'b, ",
            "[&a ",
            "[&a \"]\", ",
            "[!t ']', ",
            "[[a], ",
            "- [",
            "{? ",
            "[-1, ",
            "[a#b, ",
        ] {
            for before in ["", "key: ", "a: 'it''s'\nb: it's\n", "- - ", "? ", "rules:\n  - id: a\n    match: "] {
                let [short, long] = [200, 2000].map(|count| too_deep(&format!("{before}{}", unit.repeat(count))));
                let most = before.len() + unit.len() * (DEEPEST + 2);
                assert!(short.is_some_and(|length| length <= most), "{before:?} {unit:?}: {short:?}");
                assert_eq!(short, long, "{before:?} {unit:?}");
            }
        }
    }

    #[test]
    fn reader_agrees_on_what_is_too_deep() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_too_deep(&nested(DEEPEST)));
        assert!(is_too_deep(&nested(DEEPEST + 1)));
        assert_eq!(too_deep(&nested(DEEPEST)), None);
        assert_eq!(too_deep(&nested(DEEPEST + 1)), Some(DEEPEST + 1));
    }

    #[test]
    fn suspected_depth_that_is_none_is_accepted() {
        let block = format!("reason: |\n{}", "  [\n".repeat(500));
        assert!(too_deep(&block).is_some());
        assert!(Node::parse(&block).is_ok());
        for text in ["a: b[[[[", "a: '[[[['", "# [[[[", "a: \"[[\\\"[[\"", "a: it's [[["] {
            assert_eq!(too_deep(&format!("{}\n", text.replace('[', &"[".repeat(200)))), None, "{text}");
        }
    }
}
