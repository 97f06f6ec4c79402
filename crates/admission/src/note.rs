//! What is remembered of a prepared text, so that its executions get the verdict that the text would get.

use identity::Kept;
use statement::{CharsetChange, Class, Lexer, Mode, ParseCache, Scan, Shapes, TransactionEffect};

use crate::question::{Known, Question, TextQuestion};
use crate::unit::Facts;

/// Never the SQL itself.
#[derive(Debug)]
pub struct Note {
    pub(crate) facts: Facts,
    pub(crate) shapes: Shapes,
    pub(crate) known: Known,
    /// What its comments said of who asks.
    pub(crate) said: Option<Kept>,
    /// What it sets the client's character set to: SET NAMES can be prepared.
    pub(crate) charset: Option<CharsetChange>,
}

impl Note {
    /// Of a text that nobody saw, as in `PREPARE s FROM @v`.
    pub fn unknown() -> Note {
        Note::without_text(Facts { class: Class::Unparsed, free: false, ..Facts::FREE })
    }

    pub(crate) fn without_text(facts: Facts) -> Note {
        Note { facts, shapes: Shapes::empty(), known: None, said: None, charset: None }
    }

    pub(crate) fn of(sql: &[u8], mode: Mode, cache: &ParseCache) -> Note {
        let scan = statement::scan(sql, mode);
        let question = TextQuestion::new(sql, mode, &scan, None, cache, None);
        Note {
            facts: facts(sql, mode, &scan, question.class),
            shapes: scan.shapes,
            known: question.keep().known,
            said: crate::spoken::comments(sql, &scan).map(|said| said.to_owned()),
            charset: scan.charset,
        }
    }
}

/// Of a text, what its place in a transaction depends on.
#[inline]
pub(crate) fn facts(sql: &[u8], mode: Mode, scan: &Scan, class: Class) -> Facts {
    let transaction = match scan.transaction {
        // It ends one only if autocommit was off, and then the flags of the reply show it.
        TransactionEffect::Ends if begins_with(sql, mode, "SET") => TransactionEffect::None,
        effect => effect,
    };
    Facts {
        class,
        free: scan.free,
        transaction,
        crosses_boundary: scan.crosses_boundary,
        commits_implicitly: scan.commits_implicitly,
        rolls_back: transaction != TransactionEffect::None && rolls_back(sql, mode),
    }
}

/// All of it: ROLLBACK [WORK], and not TO a savepoint.
fn rolls_back(sql: &[u8], mode: Mode) -> bool {
    let mut lexer = Lexer::new(sql, mode);
    let mut next_is = |word: &str| lexer.next().is_some_and(|token| lexer.is(&token, word));
    next_is("ROLLBACK") && !next_is("TO") && !next_is("TO")
}

fn begins_with(sql: &[u8], mode: Mode, word: &str) -> bool {
    let mut lexer = Lexer::new(sql, mode);
    lexer.next().is_some_and(|first| lexer.is(&first, word))
}
