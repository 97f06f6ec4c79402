use super::{Excess, Said, Tag, Texts, Tool};
use crate::comments::{Pair, Span};
use crate::said::Source;

/// What a PREPARE said, kept with its statement for every EXECUTE. Its trace is not: that was the PREPARE's alone.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    text: Box<[u8]>,
    tags: Box<[Tag]>,
    tool: Tool,
    excess: Excess,
}

impl Kept {
    pub(super) fn new(said: &Said<'_>) -> Kept {
        let mut text = Vec::new();
        let mut keep = |bytes: &[u8]| {
            let start = text.len();
            text.extend_from_slice(bytes);
            Span::new(start, text.len())
        };
        let tags = said
            .read()
            .iter()
            .map(|tag| {
                let (key, value) = (keep(tag.raw_key(&said.texts)), keep(tag.raw_value(&said.texts)));
                Tag::new(Source::Leading, Pair { form: tag.form, key, value })
            })
            .collect();
        Kept { text: text.into(), tags, tool: said.tool, excess: Excess { attributes: false, ..said.excess } }
    }

    /// To be joined with the query attributes of an EXECUTE.
    pub fn said(&self) -> Said<'_> {
        let mut said = Said::new(Texts { leading: &self.text, infix: &[], trailing: &[] });
        said.tool = self.tool;
        self.tags.iter().for_each(|tag| said.put(*tag));
        said.excess = self.excess;
        said
    }
}
