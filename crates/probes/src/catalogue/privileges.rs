//! Where a user sees everything of a kind, by what SHOW GRANTS prints of it.
//!
//! Checked on MySQL 9.7 and MariaDB 10.11: a table is listed to whoever has any privilege on it; the definition of a view
//! is shown with SELECT and SHOW VIEW on the view; a trigger is listed with TRIGGER on its table. The body of a routine is
//! shown on MySQL with SHOW_ROUTINE or SELECT on everything, and on MariaDB with SELECT on `mysql.proc` (from 11.3 also with
//! SHOW CREATE ROUTINE). Privileges of roles and on single tables are not counted here: what they show is used, but
//! nothing is concluded from what they do not show.

use std::collections::BTreeSet;

use catalog::Sight;

use crate::server::Flavor;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Privileges {
    /// On everything.
    global: BTreeSet<String>,
    /// A schema in lower case, and a privilege on all of it.
    schemas: BTreeSet<(String, String)>,
    /// The schemas of all grants as they are written, with their wildcards.
    patterns: Vec<Pattern>,
    /// SELECT on `mysql.proc` alone.
    proc: bool,
}

/// Each of these lists every table that it covers.
const ON_TABLES: [&str; 3] = ["SELECT", "SHOW VIEW", "TRIGGER"];

impl Privileges {
    pub(super) fn read<'l>(lines: impl Iterator<Item = &'l str>) -> Privileges {
        let mut privileges = Privileges::default();
        let mut revoked = false;
        for line in lines {
            revoked |= line.starts_with("REVOKE ");
            privileges.add(line);
        }
        privileges.drop_ambiguous();
        if revoked {
            // Partial revokes: what is missing where is not followed.
            privileges.global.clear();
        }
        privileges
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let (list, rest) = line.strip_prefix("GRANT ")?.split_once(" ON ")?;
        let (object, _) = rest.split_once(" TO ")?;
        let list = list.split(',').map(|privilege| privilege.trim().to_ascii_uppercase());
        if object == "*.*" {
            self.global.extend(list);
        } else if let Some(schema) = object.strip_suffix(".*") {
            let pattern = Pattern::read(schema)?;
            let schema = pattern.as_name();
            self.patterns.push(pattern);
            self.schemas.extend(list.map(|privilege| (schema.clone(), privilege)));
        } else if object == "`mysql`.`proc`" {
            self.proc |= list.into_iter().any(|privilege| privilege == "SELECT" || privilege == "ALL PRIVILEGES");
        }
        Some(())
    }

    /// Of several grants that fit a schema the server takes one, by an order that is not followed here.
    fn drop_ambiguous(&mut self) {
        let Privileges { schemas, patterns, .. } = self;
        schemas.retain(|(schema, _)| patterns.iter().filter(|pattern| pattern.fits(schema)).count() == 1);
    }

    fn has(&self, privilege: &str) -> bool {
        self.global.contains(privilege) || self.global.contains("ALL PRIVILEGES")
    }

    fn has_in(&self, schema: &str, privilege: &str) -> bool {
        let held = |privilege: &str| self.schemas.contains(&(schema.to_owned(), privilege.to_owned()));
        self.has(privilege) || held(privilege) || held("ALL PRIVILEGES")
    }

    /// Where this holds: everywhere, or in the schemas that are named.
    fn sight(&self, everywhere: bool, holds_in: impl Fn(&str) -> bool) -> Sight {
        if everywhere {
            return Sight::Everywhere;
        }
        let schemas = self.schemas.iter().map(|(schema, _)| schema).filter(|schema| holds_in(schema));
        Sight::In(schemas.cloned().collect())
    }

    pub(super) fn tables(&self) -> Sight {
        let any = |has: &dyn Fn(&str) -> bool| ON_TABLES.into_iter().any(has);
        self.sight(any(&|one| self.has(one)), |schema| any(&|one| self.has_in(schema, one)))
    }

    pub(super) fn views(&self) -> Sight {
        let both = |has: &dyn Fn(&str) -> bool| has("SELECT") && has("SHOW VIEW");
        self.sight(both(&|one| self.has(one)), |schema| both(&|one| self.has_in(schema, one)))
    }

    pub(super) fn triggers(&self) -> Sight {
        self.sight(self.has("TRIGGER"), |schema| self.has_in(schema, "TRIGGER"))
    }

    pub(super) fn routines(&self, flavor: Flavor) -> Sight {
        let everywhere = match flavor {
            Flavor::Mysql => self.has("SHOW_ROUTINE") || self.has("SELECT"),
            Flavor::Mariadb => self.proc || self.has_in("mysql", "SELECT") || self.has("SHOW CREATE ROUTINE"),
        };
        self.sight(everywhere, |_| false)
    }
}

/// The schema of a grant, in lower case. `_` and `%` without a backslash are wildcards, which also fit themselves.
#[derive(Debug, PartialEq)]
struct Pattern(Vec<Part>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Is(char),
    One,
    Many,
}

impl Pattern {
    fn read(quoted: &str) -> Option<Pattern> {
        let inside = quoted.strip_prefix('`')?.strip_suffix('`')?.replace("``", "`").to_lowercase();
        let mut parts = Vec::new();
        let mut chars = inside.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '\\' => Part::Is(chars.next()?),
                '_' => Part::One,
                '%' => Part::Many,
                c => Part::Is(c),
            });
        }
        Some(Pattern(parts))
    }

    /// The schema that is called so.
    fn as_name(&self) -> String {
        let char_of = |part: &Part| match part {
            Part::Is(c) => *c,
            Part::One => '_',
            Part::Many => '%',
        };
        self.0.iter().map(char_of).collect()
    }

    /// Whether it may fit. What follows a `%` is not looked at.
    fn fits(&self, name: &str) -> bool {
        let mut chars = name.chars();
        for part in &self.0 {
            match (part, chars.next()) {
                (Part::Many, _) => return true,
                (Part::Is(wanted), Some(c)) if *wanted == c => {}
                (Part::One, Some(_)) => {}
                (Part::Is(_) | Part::One, _) => return false,
            }
        }
        chars.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(schemas: &[&str]) -> Sight {
        Sight::In(schemas.iter().map(|schema| (*schema).to_owned()).collect())
    }

    #[test]
    fn sight_follows_from_the_grants() {
        let all = || Sight::Everywhere;
        let none = Sight::nowhere;
        for (lines, tables, views, triggers, mysql, mariadb) in [
            (&["GRANT USAGE ON *.* TO `p`@`%`"][..], none(), none(), none(), none(), none()),
            (&["GRANT SELECT, SHOW VIEW ON *.* TO `p`@`%`"], all(), all(), none(), all(), all()),
            (&["GRANT TRIGGER ON *.* TO `p`@`%`"], all(), none(), all(), none(), none()),
            (&["GRANT ALL PRIVILEGES ON *.* TO `p`@`%` WITH GRANT OPTION"], all(), all(), all(), all(), all()),
            (&["GRANT SHOW_ROUTINE ON *.* TO `p`@`%`"], none(), none(), none(), all(), none()),
            (&["GRANT SELECT ON `mysql`.`proc` TO `p`@`%`"], none(), none(), none(), none(), all()),
            (
                &["GRANT SELECT ON *.* TO `p`@`%`", "GRANT SHOW VIEW ON `My\\_Shop`.* TO `p`@`%`"],
                all(),
                within(&["my_shop"]),
                none(),
                all(),
                all(),
            ),
            (
                &["GRANT SELECT, SHOW VIEW, TRIGGER ON `shop`.* TO `p`@`%`", "GRANT SELECT ON `a`.`b` TO `p`@`%`"],
                within(&["shop"]),
                within(&["shop"]),
                within(&["shop"]),
                none(),
                none(),
            ),
            // A wildcard also fits itself; of two grants that fit a schema only one counts.
            (
                &["GRANT ALL PRIVILEGES ON `sh_p`.* TO `p`@`%`"],
                within(&["sh_p"]),
                within(&["sh_p"]),
                within(&["sh_p"]),
                none(),
                none(),
            ),
            (
                &["GRANT TRIGGER ON `sh_p`.* TO `p`@`%`", "GRANT SELECT ON `shop`.* TO `p`@`%`"],
                within(&["sh_p"]),
                none(),
                within(&["sh_p"]),
                none(),
                none(),
            ),
            (
                &["GRANT TRIGGER ON `sh_p`.* TO `p`@`%`", "GRANT SELECT ON `s%`.* TO `p`@`%`"],
                within(&["s%"]),
                none(),
                none(),
                none(),
                none(),
            ),
            (
                &["GRANT SELECT, SHOW VIEW ON *.* TO `p`@`%`", "REVOKE SELECT ON `hr`.* FROM `p`@`%`"],
                none(),
                none(),
                none(),
                none(),
                none(),
            ),
        ] {
            let read = Privileges::read(lines.iter().copied());
            assert_eq!((read.tables(), read.views(), read.triggers()), (tables, views, triggers), "{lines:?}");
            assert_eq!(read.routines(Flavor::Mysql), mysql, "{lines:?}");
            assert_eq!(read.routines(Flavor::Mariadb), mariadb, "{lines:?}");
        }
    }
}
