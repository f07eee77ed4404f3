//! The library and `PyYAML` read the same events, values and errors, and print the same texts.

use support::yaml;

use yaml::generate::{Random, document, mutate};
use yaml::oracle::{Difference, compare, corpus, python};
use yaml::{events, oracle};

fn check(texts: &[Vec<u8>]) {
    let Some(python) = python() else { return };
    let scripts: [(&str, Difference); 2] =
        [("pyyaml_events.py", events::difference), ("pyyaml_oracle.py", oracle::difference)];
    let differences: Vec<String> = scripts
        .into_iter()
        .flat_map(|(script, difference)| compare(&python, script, texts, difference))
        .collect();
    println!("{} texts compared with PyYAML", texts.len());
    let shown: Vec<&str> = differences.iter().take(20).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} of {} differ:\n{}", differences.len(), texts.len(), shown.join("\n"));
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn real_files_read_as_pyyaml_reads_them() {
    let texts: Vec<Vec<u8>> = corpus().into_iter().map(|(_, text)| text).collect();
    check(&texts);
}

#[test]
fn generated_documents_read_as_pyyaml_reads_them() {
    let real: Vec<Vec<u8>> =
        corpus().into_iter().map(|(_, text)| text).filter(|text| text.len() < 3000).collect();
    let mut random = Random(number("RECLASS_YAML_SEED", 1));
    let texts: Vec<Vec<u8>> = (0..number("RECLASS_YAML_DOCS", 3000))
        .map(|_| match random.below(8) {
            0 => {
                let text = document(&mut random);
                mutate(&mut random, &text)
            }
            1 => {
                let place = random.below(real.len());
                mutate(&mut random, &real[place])
            }
            _ => document(&mut random),
        })
        .collect();
    check(&texts);
}

#[test]
fn keys_of_numbers_meet_as_in_python() {
    let numbers = [
        "0",
        "-0.0",
        "false",
        "1",
        "1.0",
        "true",
        "1.5",
        "9007199254740992",
        "9007199254740993",
        "9007199254740992.0",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775808.0",
        "-9223372036854775808",
        "-9223372036854775808.0",
        "100000000000000000000",
        "1.0e+20",
        "100000000000000000001",
        "0x56bc75e2d63100000",
        "1.7976931348623157e+308",
        ".inf",
        "-.inf",
        "1.0e+999",
        ".nan",
        ".NaN",
        "5.0e-324",
        "null",
        "'1'",
    ];
    let pairs = numbers.iter().flat_map(|one| numbers.map(|other| format!("{{{one}: a, {other}: b}}\n")));
    check(&pairs.map(String::into_bytes).collect::<Vec<_>>());
}
