//! Values as `serde` writes them.

use reclass_yaml::parse_value;

#[test]
fn json_has_the_types_of_json() {
    let table = [
        ("{1: a, 1.5: b, no: c, ~: d, .nan: e}", r#"{"1":"a","1.5":"b","false":"c","null":"d","NaN":"e"}"#),
        (
            "[.nan, -.inf, 100000000000000000000000000000000000000000]",
            r#"["NaN","-Infinity",100000000000000000000000000000000000000000]"#,
        ),
        (
            "{2001-01-01: 2001-01-01 10:00:00, b: !!binary AQI=, s: !!set {a, b}, p: !!pairs [a: 1]}",
            r#"{"2001-01-01":"2001-01-01T10:00:00","b":"AQI=","s":["a","b"],"p":[["a",1]]}"#,
        ),
    ];
    for (yaml, expected) in table {
        let value = parse_value(yaml).expect(yaml);
        assert_eq!(serde_json::to_string(&value).expect(yaml), expected, "{yaml}");
    }
}
