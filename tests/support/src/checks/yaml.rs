//! Bytes as a YAML document: its places lie inside of it, and what is written of it is read again as
//! the same.

use reclass::error::Error;
use reclass::json;
use reclass::pystr;
use reclass::value::Value;
use reclass_yaml::compose::{Document, compose};
use reclass_yaml::emit::{EmitOptions, emit};
use reclass_yaml::outline::Outline;
use reclass_yaml::{parse_value, to_value};

use super::shown;

/// Larger documents take more time than they find.
const MOST: usize = 64 * 1024;

/// Reads the bytes in every way.
pub fn check(input: &[u8]) {
    if input.len() > MOST {
        return;
    }
    let read = |_: &str| Some(String::from_utf8_lossy(input).into_owned());
    match compose(input) {
        Ok(document) => document_of(input, &document),
        Err(error) => {
            // The place is one of the text.
            for site in error.faults().iter().filter_map(|fault| fault.site.as_ref()) {
                let lines = String::from_utf8_lossy(input)
                    .split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
                    .count();
                assert!(site.line as usize <= lines + 1, "line {} of {lines}: {error}", site.line);
            }
            shown::error(&in_file(error), &read);
        }
    }
    if let Err(error) = Outline::read(input) {
        shown::error(&in_file(error), &read);
    }
}

/// The same with a name for the text.
fn in_file(mut error: Error) -> Error {
    for site in error.faults_mut().iter_mut().filter_map(|fault| fault.site.as_mut()) {
        site.path = "/inventory/nodes/n.yml".into();
    }
    error
}

fn document_of(input: &[u8], document: &Document) {
    for span in document.spans.iter() {
        assert!(span.start <= span.end && span.end as usize <= input.len(), "{span:?} of {}", input.len());
    }
    assert!(Outline::read(input).is_ok(), "a document without an outline");
    let Some(root) = &document.root else { return };
    let value = to_value(root);
    json::dumps(&value, false);
    let _ = pystr::str(&value);
    for pretty in [true, false] {
        let text = emit(&value, &EmitOptions { pretty, no_refs: true });
        let again = read_again(&text);
        let twice = emit(&again, &EmitOptions { pretty, no_refs: true });
        assert_eq!(text, twice);
        let aliased = emit(&value, &EmitOptions { pretty, no_refs: false });
        assert_eq!(read_again(&aliased), again, "{aliased}");
    }
}

fn read_again(text: &str) -> Value {
    parse_value(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
