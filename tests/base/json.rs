//! Values as Python's `json` writes them.

use reclass_base::json::dumps;
use reclass_base::value::Value;
use reclass_yaml::parse_value;

#[test]
fn as_json_dumps() {
    let table = [
        ("{a: [1, 1.5, ~, yes], b: {}, c: []}", r#"{"a":[1,1.5,null,true],"b":{},"c":[]}"#),
        ("{1: a, 1.5: b, no: c, ~: d}", r#"{"1":"a","1.5":"b","false":"c","null":"d"}"#),
        (r#"["\x7f\b\u00e9\U0001F600\"\\"]"#, r#"["\u007f\b\u00e9\ud83d\ude00\"\\"]"#),
        ("[.nan, -.inf, 1.0e+22]", "[NaN,-Infinity,1e+22]"),
        (
            "{2001-01-01: 2001-01-01 10:00:00, b: !!binary AQI=, s: !!set {a, b}}",
            r#"{"2001-01-01":"2001-01-01T10:00:00","b":"AQI=","s":["a","b"]}"#,
        ),
    ];
    for (yaml, expected) in table {
        assert_eq!(dumps(&parse_value(yaml).expect(yaml), false), expected, "{yaml}");
    }
    let value = parse_value("{.nan: [.nan, -.inf], b: 1.5}").expect("yaml");
    assert_eq!(dumps(&value, false), r#"{"NaN":[NaN,-Infinity],"b":1.5}"#);
    let value = parse_value("{a: [1], b: {c: d}}").expect("yaml");
    assert_eq!(dumps(&value, true), "{\n  \"a\": [\n    1\n  ],\n  \"b\": {\n    \"c\": \"d\"\n  }\n}");
}

#[test]
fn an_escape_is_found_wherever_it_is() {
    let escapes = [
        ('\u{1f}', "\\u001f"),
        ('\0', "\\u0000"),
        ('"', "\\\""),
        ('\\', "\\\\"),
        ('\u{7f}', "\\u007f"),
        ('\u{80}', "\\u0080"),
        ('é', "\\u00e9"),
        ('😀', "\\ud83d\\ude00"),
    ];
    for filler in [" ", "~", "!", "#", "[", "]", "z"] {
        for length in 0..20 {
            let plain = filler.repeat(length);
            assert_eq!(dumps(&Value::text(&*plain), false), format!("\"{plain}\""));
            for at in 0..=length {
                let (before, after) = plain.split_at(at);
                for (character, escape) in escapes {
                    let text = format!("{before}{character}{after}");
                    assert_eq!(dumps(&Value::text(&*text), false), format!("\"{before}{escape}{after}\""));
                }
            }
        }
    }
}
