//! Parses inventory queries: the inside of `$[ … ]`, with options, the requested export, and a condition.
//!
//! The grammar is the one of the Python forks. Words are runs of printable ASCII. Keywords match in any
//! case and as prefixes. `and` and `or` bind from left to right. The first key of a side decides whether it
//! is an export, a parameter of the node (`self:`), or plain data (ruling Q1).

use std::sync::Arc;

use nom::IResult;
use nom::Parser;
use nom::branch::alt;
use nom::bytes::complete::{tag, tag_no_case, take_while1};
use nom::character::complete::{char, digit1};
use nom::combinator::{all_consuming, map, not, opt, peek, recognize};
use nom::multi::many0;

use reclass_base::number::UniqueNumber;
use reclass_base::path::split_path;
use reclass_base::value::{Text, Value};

/// An inventory query.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The text between the sentinels, trimmed.
    pub source: Text,
    /// `+AllEnvs`: queries nodes of every environment.
    pub all_environments: bool,
    /// `+IgnoreErrors`: skips nodes whose exports fail.
    pub ignore_errors: bool,
    /// The first key of the requested path, if it is not `exports`.
    pub misnamed: Option<Text>,
    /// The path of the requested export; `None` for a list of nodes.
    pub value: Option<Vec<Text>>,
    /// The first test, if there is one.
    pub first: Option<Comparison>,
    /// The other tests, combined from left to right.
    pub rest: Vec<(Connective, Comparison)>,
    /// Identifies the query in the memos of evaluations.
    pub number: UniqueNumber,
}

/// `and` or `or`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Connective {
    /// Both sides hold.
    And,
    /// One side holds.
    Or,
}

/// One test of an export.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The path of the export.
    pub export: Vec<Text>,
    /// `==` if true, `!=` if false.
    pub equal: bool,
    /// What it is compared with.
    pub operand: Operand,
}

/// The other side of a test.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A parameter of the querying node.
    Parameter(Vec<Text>),
    /// A number, a boolean or a word.
    Data(Value),
    /// Nothing comparable, as if both sides are exports.
    Missing,
}

impl Query {
    /// The tests in order.
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.first.iter().chain(self.rest.iter().map(|(_, comparison)| comparison))
    }

    /// The operator of each test, after the connective in front of it.
    pub fn operators(&self) -> impl Iterator<Item = (Option<Connective>, bool)> {
        let connectives =
            std::iter::once(None).chain(self.rest.iter().map(|(connective, _)| Some(*connective)));
        connectives.zip(self.comparisons().map(|comparison| comparison.equal))
    }

    /// Sets the requested export. The first key of its path should be `exports`, but any key works.
    fn ask(&mut self, word: &str, delimiter: &str) -> Result<(), String> {
        let mut path = split_path(word, delimiter);
        let first = path.remove(0);
        if path.is_empty() {
            return Err(format!("the query names no export: expected 'exports{delimiter}…'"));
        }
        self.misnamed = (first.to_lowercase() != "exports").then_some(first);
        self.value = Some(path);
        Ok(())
    }
}

/// The result of a parser: the rest of the text, and what it read.
pub(super) type Parse<'t, T> = IResult<&'t str, T>;

/// A token of the expression.
#[derive(Clone, Debug)]
enum QueryToken<'t> {
    Word(&'t str),
    Integer(&'t str),
    Real(&'t str),
}

/// Parses the inside of a query. The error is a message.
pub fn parse(inside: &str, delimiter: &str) -> Result<Query, String> {
    let (rest, options) = many0(option).parse(inside).map_err(|_| "cannot read the options".to_owned())?;
    let source = inside.trim_matches(is_space);
    let mut query = Query {
        source: source.into(),
        all_environments: options.contains(&"+allenvs"),
        ignore_errors: options.contains(&"+ignoreerrors"),
        misnamed: None,
        value: None,
        first: None,
        rest: Vec::new(),
        number: UniqueNumber::default(),
    };
    if rest.trim_matches(is_space).is_empty() {
        return Err("the query asks for nothing".into());
    }
    if let Some(odd) = inside.chars().find(|c| !is_printable(*c) && !is_space(*c)) {
        // A no-break space looks like a space.
        let odd = if odd.is_alphanumeric() { format!("'{odd}'") } else { format!("U+{:04X}", odd as u32) };
        return Err(format!("an inventory query may contain only ASCII characters, not {odd}"));
    }
    let tested = all_consuming((word, condition, spaces)).parse(rest);
    let plain = all_consuming((word, spaces)).parse(rest);
    let listed = all_consuming((condition, spaces)).parse(rest);
    let tests = if let Ok((_, (value, tests, ()))) = tested {
        query.ask(value, delimiter)?;
        tests
    } else if let Ok((_, (value, ()))) = plain {
        query.ask(value, delimiter)?;
        return Ok(query);
    } else if let Ok((_, (tests, ()))) = listed {
        tests
    } else {
        return Err(
            "cannot read the query: expected 'exports:…', 'exports:… if exports:… == …' or 'if exports:… \
                    == …'"
                .into(),
        );
    };
    let (first, rest) = tests;
    query.first = Some(comparison(first, delimiter)?);
    for (connective, test) in rest {
        query.rest.push((connective, comparison(test, delimiter)?));
    }
    Ok(query)
}

fn comparison((left, equal, right): Test<'_>, delimiter: &str) -> Result<Comparison, String> {
    let mut export = None;
    let mut operand = Operand::Missing;
    for token in [left, right] {
        match token {
            QueryToken::Integer(digits) => operand = Operand::Data(integer(digits)?),
            QueryToken::Real(digits) => {
                operand = Operand::Data(Value::Float(digits.parse().map_err(|_| "bad number".to_owned())?));
            }
            QueryToken::Word(word) => {
                let mut path = split_path(word, delimiter);
                match path[0].to_lowercase().as_str() {
                    "exports" => {
                        path.remove(0);
                        export = Some(path);
                    }
                    "self" => {
                        path.remove(0);
                        operand = Operand::Parameter(path);
                    }
                    "true" => operand = Operand::Data(Value::Bool(true)),
                    "false" => operand = Operand::Data(Value::Bool(false)),
                    _ => operand = Operand::Data(Value::text(word)),
                }
            }
        }
    }
    match export {
        Some(export) => Ok(Comparison { export, equal, operand }),
        None => Err("a test compares no export: one side must be 'exports:…'".into()),
    }
}

/// The most digits of an integer, as in YAML: reading takes time for their square.
const INT_DIGITS: usize = 4300;

fn integer(digits: &str) -> Result<Value, String> {
    if let Ok(number) = digits.parse::<i64>() {
        return Ok(Value::Int(number));
    }
    if digits.trim_start_matches('-').len() > INT_DIGITS {
        return Err(format!("a number in the query has more than {INT_DIGITS} digits"));
    }
    Ok(digits.parse().map_or_else(|_| Value::text(digits), |number| Value::BigInt(Arc::new(number))))
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn is_printable(c: char) -> bool {
    c.is_ascii_graphic()
}

#[expect(clippy::unnecessary_wraps, reason = "a parser like its siblings")]
fn spaces(at: &str) -> Parse<'_, ()> {
    Ok((at.trim_start_matches(is_space), ()))
}

fn option(at: &str) -> Parse<'_, &'static str> {
    let (at, ()) = spaces(at)?;
    alt((
        map(tag_no_case("+IgnoreErrors"), |_| "+ignoreerrors"),
        map(tag_no_case("+AllEnvs"), |_| "+allenvs"),
    ))
    .parse(at)
}

fn word(at: &str) -> Parse<'_, &str> {
    let (at, ()) = spaces(at)?;
    take_while1(is_printable).parse(at)
}

fn token(at: &str) -> Parse<'_, QueryToken<'_>> {
    let (at, ()) = spaces(at)?;
    let integer = (recognize((opt(char('-')), digit1)), peek(not(take_while1(is_printable))));
    let real = recognize((
        opt(char('-')),
        alt((
            recognize((digit1, char('.'), digit1)),
            recognize((char('.'), digit1)),
            recognize((digit1, char('.'))),
        )),
    ));
    alt((
        map(integer, |(digits, ())| QueryToken::Integer(digits)),
        map(real, QueryToken::Real),
        map(take_while1(is_printable), QueryToken::Word),
    ))
    .parse(at)
}

type Test<'t> = (QueryToken<'t>, bool, QueryToken<'t>);

fn test(at: &str) -> Parse<'_, Test<'_>> {
    let (at, left) = token(at)?;
    let (at, ()) = spaces(at)?;
    let (at, equal) = alt((map(tag("=="), |_| true), map(tag("!="), |_| false))).parse(at)?;
    let (at, right) = token(at)?;
    Ok((at, (left, equal, right)))
}

fn further(at: &str) -> Parse<'_, (Connective, Test<'_>)> {
    let (at, ()) = spaces(at)?;
    let (at, connective) =
        alt((map(tag_no_case("and"), |_| Connective::And), map(tag_no_case("or"), |_| Connective::Or)))
            .parse(at)?;
    let (at, test) = test(at)?;
    Ok((at, (connective, test)))
}

type Condition<'t> = (Test<'t>, Vec<(Connective, Test<'t>)>);

fn condition(at: &str) -> Parse<'_, Condition<'_>> {
    let (at, ()) = spaces(at)?;
    let (at, _) = tag_no_case("if").parse(at)?;
    let (at, first) = test(at)?;
    let (at, rest) = many0(further).parse(at)?;
    Ok((at, (first, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_the_forks_read_them() {
        let query =
            parse(" +allenvs exports:a:b if exports:c == self:d and exports:e != 7 ", ":").expect("parses");
        assert!(query.all_environments && !query.ignore_errors);
        assert_eq!(query.value, Some(vec!["a".into(), "b".into()]));
        assert_eq!(
            query.first.as_ref().map(|test| &test.operand),
            Some(&Operand::Parameter(vec!["d".into()]))
        );
        assert_eq!(query.rest[0].1.operand, Operand::Data(Value::Int(7)));
        assert!(!query.rest[0].1.equal);
        let list = parse("IF exports:a == yes", ":").expect("parses");
        assert!(list.value.is_none());
        let error = parse(" exports:größe ", ":").expect_err("a letter that is not ASCII");
        assert!(error.contains("'ö'"), "{error}");
        for bad in ["", " ", "if", "a b", "exports:a if", "exports:a if exports:b = 1", "exports:a if b == 1"]
        {
            assert!(parse(bad, ":").is_err(), "{bad}");
        }
    }
}
