//! The editor of texts: only the entry changes, or nothing does.

use reclass::parts::model::Prefixes;
use reclass::settings::Settings;
use reclass::value::{Map, Value};
use reclass_edit::{Action, Change};
use reclass_yaml::parse_value;

fn yaml(text: &str) -> Value {
    parse_value(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What becomes of a text; `Err` with the message of the refusal.
fn edit(text: &str, keys: &str, action: Action) -> Result<Option<String>, String> {
    let keys: Vec<&str> = keys.split(':').collect();
    let settings = Settings::from_options(&Map::default()).expect("settings").0;
    let changed = Change::new(&keys, action).apply(text.as_bytes(), "f.yml", &Prefixes::new(&settings));
    changed
        .map(|text| text.map(|text| String::from_utf8(text).expect("UTF-8")))
        .map_err(|error| error.to_string())
}

fn set(text: &str, keys: &str, value: &str) -> String {
    edit(text, keys, Action::Set(yaml(value)))
        .unwrap_or_else(|error| panic!("{text:?}: {error}"))
        .unwrap_or_else(|| text.to_owned())
}

fn delete(text: &str, keys: &str) -> String {
    edit(text, keys, Action::Delete)
        .unwrap_or_else(|error| panic!("{text:?}: {error}"))
        .unwrap_or_else(|| text.to_owned())
}

#[test]
fn a_value_is_replaced_and_its_comment_stays() {
    for (before, value, after) in [
        ("a: 1\n", "2", "a: 2\n"),
        ("# c\na:   1   # d\n\nb: 2\n", "x", "# c\na:   x   # d\n\nb: 2\n"),
        ("a:    10.0.0.4\nlonger: 1\n", "10.0.0.5", "a:    10.0.0.5\nlonger: 1\n"),
        ("a:   [1] # c\n", "{}", "a:   {} # c\n"),
        ("a:   &x 5\n", "6", "a:   &x 6\n"),
        ("a: 'x'\n", "y", "a: 'y'\n"),
        ("a: \"x\"\n", "y z", "a: \"y z\"\n"),
        ("a: 'x'\n", "5", "a: 5\n"),
        ("a: x\n", "'5'", "a: '5'\n"),
        ("a:\n", "5", "a: 5\n"),
        ("a:   # why\nb: 1", "5", "a: 5   # why\nb: 1"),
        ("a: ~\n", "{}", "a: {}\n"),
        ("a: one\n  two # x\nb: 1\n", "5", "a: 5 # x\nb: 1\n"),
        ("a:\n  one # x\nb: 1\n", "5", "a:\n  5 # x\nb: 1\n"),
        ("a: # y\n  one # x\nb: 1\n", "[1]", "a: # y\n  - 1\nb: 1\n"),
        ("a: |  # text\n  one\n\n  two\n\nb: 1\n", "5", "a: 5  # text\n\nb: 1\n"),
        ("a: |+\n  one\n\nb: 1\n", "5", "a: 5\nb: 1\n"),
        ("a: >-\n  one\n  two", "5", "a: 5"),
        ("a:\n  x: 1\n  # in\n  y: 2 # t\n# out\nb: 1\n", "5", "a: 5\n# out\nb: 1\n"),
        ("a: # c\n- 1\n- 2\nb: 1\n", "x", "a: x # c\nb: 1\n"),
        ("a: 1 # c\nb: 1\n", "{x: {y: [1, 2]}}", "a: # c\n  x:\n    y:\n      - 1\n      - 2\nb: 1\n"),
        ("a: 1\nl:\n- 1\n", "[x, [y]]", "a:\n- x\n- - y\nl:\n- 1\n"),
        ("a: {x: 1,\n    y: 2}  # c\nb: 1\n", "5", "a: 5  # c\nb: 1\n"),
        ("a: [1] # c\n", "[1, 2]", "a: # c\n  - 1\n  - 2\n"),
        ("a: !!str 5\n", "6", "a: 6\n"),
        ("a: &x 5 # c\nb: 1\n", "6", "a: &x 6 # c\nb: 1\n"),
        ("b: &x 5\na: *x # c\n", "6", "b: &x 5\na: 6 # c\n"),
        ("a: 1\r\nb: 2\r\n", "[x]", "a:\r\n  - x\r\nb: 2\r\n"),
        ("a: 1", "\"x\\ny\\n\"", "a: \"x\\ny\\n\""),
        ("a: 1", "\"x\\ny\"", "a: |-\n  x\n  y"),
        ("a: 1\nb: 2\n", "\"x\\n\\ny\\n\"", "a: |\n  x\n\n  y\nb: 2\n"),
        ("a: 1\na: 2\n", "3", "a: 1\na: 3\n"),
        ("b: &b {a: 1}\n<<: *b\n", "2", "b: &b {a: 1}\n<<: *b\na: 2\n"),
        ("{a: 1, b: 2}", "[1, {x: y}]", "{a: [1, {x: y}], b: 2}"),
        ("{a, b: 2}", "'x, y'", "{a: 'x, y', b: 2}"),
        ("{a: 1}", "x?", "{a: 'x?'}"),
        ("a: 1", "x?", "a: x?"),
        ("{a: , b: 2}", "x", "{a: x , b: 2}"),
        ("{\"a\":1}", "x", "{\"a\": x}"),
        ("\u{feff}a: 1\n", "2", "\u{feff}a: 2\n"),
        ("---\na: 1\n...\n", "2", "---\na: 2\n...\n"),
        ("%YAML 1.1\n---\na: 1\n", "2", "%YAML 1.1\n---\na: 2\n"),
        ("'a' : 1\n", "2", "'a' : 2\n"),
        ("a:\t1\t# c\n", "2", "a:\t2\t# c\n"),
        ("a: 1\n", "1", "a: 1\n"),
    ] {
        assert_eq!(set(before, "a", value), after, "{before:?}");
    }
}

#[test]
fn a_bracket_that_is_not_closed_is_not_taken_for_a_reference() {
    for (text, speaks) in [
        ("bad: [unclosed\na: 1\n", false),
        ("bad: {x: 1\na: 1\n", false),
        ("bad: [a, ${b}]\n", true),
        ("bad: [$[ exports:a ], b]\n", true),
        ("bad: {x: ${b}}\n", true),
    ] {
        let error = reclass_yaml::compose::compose(text.as_bytes()).expect_err("no YAML");
        let fault = error.first();
        let notes = fault.notes.iter().map(|note| note.text.clone());
        let said = notes.chain(fault.kind.help()).collect::<Vec<_>>().join("; ");
        assert_eq!(said.contains("reference"), speaks, "{text:?}: {said}");
    }
}

#[test]
fn a_new_key_is_the_last_of_its_mapping() {
    for (before, after) in [
        ("", "p:\n  q:\n    n: v\n"),
        ("# c\n", "# c\np:\n  q:\n    n: v\n"),
        ("# c", "# c\np:\n  q:\n    n: v"),
        ("---\n# c\n", "---\n# c\np:\n  q:\n    n: v\n"),
        ("---\n...\n", "---\np:\n  q:\n    n: v\n...\n"),
        ("\u{feff}", "\u{feff}p:\n  q:\n    n: v\n"),
        ("a: 1", "a: 1\np:\n  q:\n    n: v"),
        ("a: 1\n\n# end\n", "a: 1\np:\n  q:\n    n: v\n\n# end\n"),
        ("a:\n    b: 1\np:\n", "a:\n    b: 1\np:\n    q:\n        n: v\n"),
        ("p: # c\na: 1\n", "p: # c\n  q:\n    n: v\na: 1\n"),
        ("p: null # c\na: 1\n", "p: # c\n  q:\n    n: v\na: 1\n"),
        ("p: {}\na: 1\n", "p: {q: {n: v}}\na: 1\n"),
        ("p: { }\n", "p: {q: {n: v} }\n"),
        ("p: {q: {}}\n", "p: {q: {n: v}}\n"),
        ("p: {q: {a: 1}}\n", "p: {q: {a: 1, n: v}}\n"),
        ("p: {q: {a: 1,}}\n", "p: {q: {a: 1, n: v}}\n"),
        ("p: {q: {\n  a: 1, # c\n  b: 2  # d\n}}\n", "p: {q: {\n  a: 1, # c\n  b: 2, n: v  # d\n}}\n"),
        ("p: {q: {a}}\n", "p: {q: {a, n: v}}\n"),
        ("p:\n  q:\n    a: 1 # c\n  r: 2\n", "p:\n  q:\n    a: 1 # c\n    n: v\n  r: 2\n"),
        ("p:\n q:\n    a: 1\n\n    # late\n r: 2\n", "p:\n q:\n    a: 1\n    n: v\n\n    # late\n r: 2\n"),
        ("p:\n  q:\n    a: |\n      x\n\n  r: 2\n", "p:\n  q:\n    a: |\n      x\n    n: v\n\n  r: 2\n"),
        ("p:\n  q:\n    a: |+\n      x\n\n  r: 2\n", "p:\n  q:\n    a: |+\n      x\n\n    n: v\n  r: 2\n"),
        ("p:\n  q:\n    a:\n    - 1\n", "p:\n  q:\n    a:\n    - 1\n    n: v\n"),
        ("p:\n  q:\n    a:\n", "p:\n  q:\n    a:\n    n: v\n"),
        ("p:\n  q:\n    ? a\n", "p:\n  q:\n    ? a\n    n: v\n"),
        ("p:\n  q:\n    ? a\n    : b\n", "p:\n  q:\n    ? a\n    : b\n    n: v\n"),
        ("p:\r\n  q:\r\n    a: 1\r\n", "p:\r\n  q:\r\n    a: 1\r\n    n: v\r\n"),
        ("p:\n  q: &x\n    a: 1\n", "p:\n  q: &x\n    a: 1\n    n: v\n"),
        ("p:\n  q: !!map\n    a: 1\n", "p:\n  q: !!map\n    a: 1\n    n: v\n"),
    ] {
        assert_eq!(set(before, "p:q:n", "v"), after, "{before:?}");
        assert_eq!(set(after, "p:q:n", "v"), after, "twice");
    }
}

#[test]
fn an_entry_is_deleted_with_its_lines_alone() {
    for (before, after) in [
        ("a: 1\nn: 2\nb: 3\n", "a: 1\nb: 3\n"),
        ("n: 2\nb: 3\n", "b: 3\n"),
        ("a: 1\nn: 2", "a: 1"),
        ("n: 2\n", "{}\n"),
        ("# c\nn: 2 # d\n# e", "# c\n{} # d\n# e"),
        (
            "a: 1 # a\n# of n\nn: # c\n  x: 1\n  # in\n  y: 2\n\n# b\nb: 3\n",
            "a: 1 # a\n# of n\n\n# b\nb: 3\n",
        ),
        ("n: |\n  x\n  # y\n\nb: 3\n", "\nb: 3\n"),
        ("n: |+\n  x\n\nb: 3\n", "b: 3\n"),
        ("n: 1\na: 2\nn: 3\n", "a: 2\n"),
        ("{n: 1}", "{}"),
        ("{n: 1, a: 2}", "{a: 2}"),
        ("{a: 2, n: 1}", "{a: 2}"),
        ("{a: 2, n: 1, b: 3}", "{a: 2, b: 3}"),
        ("{\n  a: 2, # a\n  n: 1, # n\n  b: 3\n}", "{\n  a: 2, # a\n  # n\n  b: 3\n}"),
        ("{\n  a: 2,\n  n: 1,\n  b: 3\n}", "{\n  a: 2,\n  b: 3\n}"),
        ("a: 1\r\nn: 2\r\nb: 3\r\n", "a: 1\r\nb: 3\r\n"),
        ("\u{feff}n: 2\nb: 3\n", "\u{feff}b: 3\n"),
        ("a: 1\n", "a: 1\n"),
    ] {
        assert_eq!(delete(before, "n"), after, "{before:?}");
    }
    assert_eq!(delete("p: # c\n  n: 1\nb: 3\n", "p:n"), "p: {} # c\nb: 3\n");
    assert_eq!(delete("p: # c\n  # d\n  n:\n    x: 1\n  # e\n", "p:n"), "p: {} # c\n  # d\n  # e\n");
    assert_eq!(delete("p:\n  12: 1\n  b: 3\n", "p:12"), "p:\n  b: 3\n");
}

#[test]
fn items_come_last_in_their_list() {
    for (before, after) in [
        ("", "l:\n  - a\n  - b\n"),
        ("l:\n- a\n- c # c\n# d\nx: 1\n", "l:\n- a\n- c # c\n- b\n# d\nx: 1\n"),
        ("l:\n    - a", "l:\n    - a\n    - b"),
        ("l: [a]\n", "l: [a, b]\n"),
        ("l: [ ] # c\n", "l: [a, b ] # c\n"),
        ("l: [\n  a, # c\n  d, # e\n]\n", "l: [\n  a, # c\n  d, b # e\n]\n"),
        ("l:\nx: 1\n", "l:\n  - a\n  - b\nx: 1\n"),
        ("l: [b, a]\n", "l: [b, a]\n"),
    ] {
        // One that is asked for twice comes once.
        let items = || Action::Append(["a", "b", "a"].map(Value::text).to_vec());
        let found = edit(before, "l", items()).expect(before);
        assert_eq!(found.as_deref().unwrap_or(before), after, "{before:?}");
        assert_eq!(edit(after, "l", items()), Ok(None), "{after:?}: the second time");
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_its_place() {
    for (text, keys, value, message) in [
        (
            "p: &x\n  a: 1\nb: *x\n",
            "p:n",
            "1",
            "f.yml:1:4: cannot change 'p:n' in place: aliases refer to the anchor '&x'",
        ),
        ("b: &x\n  a: 1\np: *x\n", "p:n", "1", "f.yml:3:4: cannot change 'p:n' in place: it is in an alias"),
        (
            "a: &x 1\nb: *x\n",
            "a",
            "2",
            "f.yml:1:4: cannot change 'a' in place: aliases refer to its anchor '&x'",
        ),
        (
            "a: [&x 1]\nb: *x\n",
            "a",
            "2",
            "f.yml:1:5: cannot change 'a' in place: aliases refer to its anchor '&x'",
        ),
        (
            "p: [1]\n",
            "p:n",
            "2",
            "f.yml:1:4: cannot change 'p:n' in place: 'n' would stand in a list, not in a mapping",
        ),
        ("p: text\n", "p:n", "2", "'n' would stand in a string, not in a mapping"),
        (
            "# a\np:\n  q: 5\n",
            "p:q:n",
            "2",
            "f.yml:3:6: cannot change 'p:q:n' in place: 'n' would stand in an integer, not in a mapping",
        ),
        ("# a\n- 1\n", "p:n", "2", "f.yml:2:1: cannot change 'p:n' in place: 'p' would stand in a list"),
        ("? a\n: 1\n", "a", "2", "f.yml:1:3: cannot change 'a' in place: the entry is written with '?'"),
        ("b: &b {q: {a: 1}}\np: {<<: *b}\n", "p:q:n", "2", "the text around it would change its meaning"),
        ("b: &b {q: {a: 1}}\np:\n  <<: *b\n", "p:q:n", "2", "the text around it would change its meaning"),
        ("12: 1\n'12': 2\n", "12", "3", "two keys are read as '12'"),
        ("a: |\n  x", "n", "3", "the text around it would change its meaning"),
        ("a: [1\n", "a", "3", "f.yml:2:1: "),
        ("null\n", "a", "3", "it is not in a mapping"),
    ] {
        let error = edit(text, keys, Action::Set(yaml(value))).expect_err(text);
        assert!(error.contains(message), "{text:?}: {error}");
    }
    for (text, keys, message) in [
        (
            "b: &b {n: 1}\np:\n  <<: *b\n",
            "p:n",
            "f.yml:3:3: cannot change 'p:n' in place: the key comes from a merge key",
        ),
        ("b: &b {n: 1}\np:\n  <<: *b\n  n: 2\n", "p:n", "the text around it would change its meaning"),
        ("a: &x 1\nb: *x\n", "a", "aliases refer to its anchor '&x'"),
    ] {
        let error = edit(text, keys, Action::Delete).expect_err(text);
        assert!(error.contains(message), "{text:?}: {error}");
    }
    let error =
        edit("\u{fc}: 1\nclasses: a\n", "classes", Action::Append(vec![yaml("b")])).expect_err("a list");
    assert!(
        error.contains("f.yml:2:10: cannot change 'classes' in place: it is a string, not a list"),
        "{error}"
    );
}

#[test]
fn a_key_with_another_prefix_is_the_same_parameter() {
    for (text, keys, place) in [
        (
            "p:\n  b: 1\n  =a: 2\n",
            "p:a",
            "f.yml:3:3: cannot change 'p:a' in place: the mapping has 'a' as '=a'; use that name",
        ),
        (
            "p:\n  ~a: 2\n",
            "p:a",
            "f.yml:2:3: cannot change 'p:a' in place: the mapping has 'a' as '~a'; use that name",
        ),
        (
            "p:\n  ~a: 2\n",
            "p:=a",
            "f.yml:2:3: cannot change 'p:=a' in place: the mapping has '=a' as '~a'; use that name",
        ),
        (
            "p: {a: 2}\n",
            "p:~a",
            "f.yml:1:5: cannot change 'p:~a' in place: the mapping has '~a' as 'a'; use that name",
        ),
        ("p:\n  a: 1\n  =a: 2\n", "p:a", "f.yml:3:3: cannot change"),
        // Not `q:a` beside what `~q` says.
        (
            "p:\n  ~q:\n    a: 1\n",
            "p:q:a",
            "f.yml:2:3: cannot change 'p:q:a' in place: the mapping has 'q' as '~q'",
        ),
        // Brought in by a merge key: there is no line of its own.
        (
            "b: &b {=a: 1}\np:\n  <<: *b\n",
            "p:a",
            "f.yml: cannot change 'p:a' in place: the mapping has 'a' as '=a'",
        ),
    ] {
        let error = edit(text, keys, Action::Set(yaml("3"))).expect_err(text);
        assert!(error.contains(place), "{text:?}: {error}");
        let prefixed = keys.contains(['=', '~']);
        match edit(text, keys, Action::Delete) {
            Err(error) => assert!(error.contains(place) && !prefixed, "{text:?}: {error}"),
            // Which of the two is meant is said, and it is not there.
            Ok(same) => assert!(same.is_none() && prefixed, "{text:?}"),
        }
    }
    let both = "p:\n  a: 1\n  =a: 2\n";
    assert!(edit(both, "p:=a", Action::Set(yaml("3"))).is_err());
    assert_eq!(delete(both, "p:=a"), "p:\n  a: 1\n");
    assert_eq!(set("p:\n  =a: 2\n", "p:=a", "3"), "p:\n  =a: 3\n");
    // The names of the outermost mapping have no prefixes, and a prefix alone is a name (M6).
    assert_eq!(set("~p: 1\n", "p", "2"), "~p: 1\np: 2\n");
    assert_eq!(set("p:\n  '~': 1\n", "p:=", "2"), "p:\n  '~': 1\n  '=': 2\n");
}

#[test]
fn other_lines_end_as_they_did() {
    let mixed = "p:\n  a: 1\r\n  b: 2\n  c: 3\r\nq: 4";
    for (keys, value, after) in [
        ("p:n", "5", "p:\n  a: 1\r\n  b: 2\n  c: 3\r\n  n: 5\r\nq: 4"),
        ("p:a", "[5]", "p:\n  a:\r\n    - 5\r\n  b: 2\n  c: 3\r\nq: 4"),
        ("p:b", "[5]", "p:\n  a: 1\r\n  b:\n    - 5\n  c: 3\r\nq: 4"),
        ("n", "5", "p:\n  a: 1\r\n  b: 2\n  c: 3\r\nq: 4\r\nn: 5"),
    ] {
        assert_eq!(set(mixed, keys, value), after, "{keys}");
    }
    for (keys, after) in [
        ("p:a", "p:\n  b: 2\n  c: 3\r\nq: 4"),
        ("p:b", "p:\n  a: 1\r\n  c: 3\r\nq: 4"),
        ("p:c", "p:\n  a: 1\r\n  b: 2\nq: 4"),
        ("q", "p:\n  a: 1\r\n  b: 2\n  c: 3"),
    ] {
        assert_eq!(delete(mixed, keys), after, "{keys}");
    }
    assert_eq!(delete("{\r\n  a: 1,\n  n: 2,\r\n  b: 3\n}", "n"), "{\r\n  a: 1,\n  b: 3\n}");
}
