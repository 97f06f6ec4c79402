//! `table` or `schema.table`, either also in backticks. Names are compared in lower case.

use statement::Table;

use crate::tree::Complaint;

pub(crate) fn parse(text: &str) -> Result<Table, Complaint> {
    let (schema, name) = as_written(text)?;
    Ok(in_lower_case(schema.as_deref(), &name))
}

/// As it is compared.
pub(crate) fn in_lower_case(schema: Option<&str>, name: &str) -> Table {
    Table { schema: schema.map(|schema| schema.to_lowercase().into()), name: name.to_lowercase().into() }
}

/// The schema, if there is one, and the name.
pub(crate) fn as_written(text: &str) -> Result<(Option<String>, String), Complaint> {
    let names = names(text).filter(|names| names.iter().all(|name| !name.is_empty()));
    let mut names = names.unwrap_or_default().into_iter();
    match (names.next(), names.next(), names.next()) {
        (Some(name), None, None) => Ok((None, name)),
        (Some(schema), Some(name), None) => Ok((Some(schema), name)),
        _ => {
            let remedy = "write `table` or `schema.table`; a name with a dot in it goes in backticks";
            Err(Complaint::new(format!("`{text}` is not the name of a table"), remedy))
        }
    }
}

fn names(text: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            // Two backticks in a quoted name stand for one.
            '`' if quoted && chars.peek() == Some(&'`') => names.last_mut()?.extend(chars.next()),
            '`' => quoted = !quoted,
            '.' if !quoted => names.push(String::new()),
            c if !quoted && (c.is_whitespace() || c == '*') => return None,
            c => names.last_mut()?.push(c),
        }
    }
    (!quoted).then_some(names)
}

/// What is read back to the same table.
pub(crate) fn shown(schema: Option<&str>, name: &str) -> String {
    let plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "_$-".contains(c));
    let quoted = |name: &str| if plain(name) { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) };
    match schema {
        Some(schema) => format!("{}.{}", quoted(schema), quoted(name)),
        None => quoted(name),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, shown};

    #[test]
    fn tables_are_read_and_printed() {
        for (text, printed) in [
            ("orders", Some("orders")),
            ("Shop.Orders", Some("shop.orders")),
            ("`my.shop`.orders", Some("`my.shop`.orders")),
            ("`a``b`", Some("`a``b`")),
            ("a-b.c$d", Some("a-b.c$d")),
            ("", None),
            (".", None),
            ("a.", None),
            (".a", None),
            ("a.b.c", None),
            ("a b", None),
            ("a.*", None),
            ("`a", None),
            ("``", None),
        ] {
            let read = parse(text).ok().map(|table| shown(table.schema.as_deref(), &table.name));
            assert_eq!(read.as_deref(), printed, "{text:?}");
        }
    }
}
