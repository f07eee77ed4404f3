//! Values as Python's `str` and `repr` write them.

use reclass_base::pystr::{repr, str};
use reclass_yaml::parse_value;

#[test]
fn repr_of_values() {
    let table = [
        ("~", "None"),
        (
            "[yes, 1, 1.0, 1.0e+16, 1.0e-5, 123456789012345680.0, -.inf, .nan]",
            "[True, 1, 1.0, 1e+16, 1e-05, 1.2345678901234568e+17, -inf, nan]",
        ),
        (
            r#"["it's", 'say "it''s"', "\e\xa0\u2028\U0001F600\u200b"]"#,
            r#"["it's", 'say "it\'s"', '\x1b\xa0\u2028😀\u200b']"#,
        ),
        (
            "[147324682993806.625, 5e-324, 0.1, -0.0, 100.0]",
            "[147324682993806.62, '5e-324', 0.1, -0.0, 100.0]",
        ),
        ("{a: {1: []}}", "{'a': {1: []}}"),
        ("!!set {}", "set()"),
        ("!!pairs [a: 1]", "[('a', 1)]"),
        ("!!binary AAEnIg==", r#"b'\x00\x01\'"'"#),
        ("[2001-12-14]", "[datetime.date(2001, 12, 14)]"),
        ("[2001-12-14 01:00:00Z]", "[datetime.datetime(2001, 12, 14, 1, 0, tzinfo=datetime.timezone.utc)]"),
        (
            "[2001-12-14T21:59:43.10-05:00]",
            "[datetime.datetime(2001, 12, 14, 21, 59, 43, 100000, \
             tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=68400)))]",
        ),
    ];
    for (yaml, expected) in table {
        assert_eq!(repr(&parse_value(yaml).expect(yaml)), expected, "{yaml}");
    }
}

#[test]
fn str_of_values() {
    for (yaml, expected) in [
        ("it's", "it's"),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14T1:02:03.5+1", "2001-12-14 01:02:03.500000+01:00"),
    ] {
        assert_eq!(str(&parse_value(yaml).expect(yaml)), expected);
    }
}
