//! The JSON Schemas of `docs/schemas` are those of the types that are printed.
//! `RECLASS_UPDATE_DOCS=1 cargo test --test analysis schemas::` writes them.

use std::path::Path;

use reclass::report::Finding;
use reclass_analysis::compare::ProgramComparison;
use reclass_analysis::diff::Difference;
use reclass_analysis::docs::Documentation;
use reclass_analysis::explain::Explanation;
use reclass_analysis::file_schemas::{FILE_SCHEMAS, file_schema};
use reclass_analysis::impact::Impact;
use reclass_analysis::test::TestReport;
use reclass_serve::status::Status;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

/// The schema of what a verb prints as JSON.
fn schema<T: JsonSchema>(verb: &str) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".into(), format!("What `reclass {verb} -o json` prints").into());
    format!("{}\n", serde_json::to_string_pretty(&schema).unwrap())
}

#[test]
fn schemas_are_those_of_the_types() {
    for (verb, schema) in [
        ("explain", schema::<Explanation>("explain")),
        ("lint", schema::<Vec<Finding>>("lint")),
        ("test", schema::<TestReport>("test")),
        ("diff", schema::<Difference>("diff")),
        ("impact", schema::<Impact>("impact")),
        ("status", schema::<Status>("status")),
        ("compare", schema::<ProgramComparison>("compare")),
        ("docs", schema::<Documentation>("docs")),
    ] {
        check(verb, &schema);
    }
}

#[test]
fn schemas_of_files_are_those_that_the_program_prints() {
    for name in FILE_SCHEMAS {
        check(name, &format!("{}\n", reclass::json::dumps(&file_schema(name).unwrap(), true).trim_end()));
    }
}

/// Compares a file of `docs/schemas` with a text, or writes it.
fn check(name: &str, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schemas/{name}.json"));
    if std::env::var_os("RECLASS_UPDATE_DOCS").is_some() {
        std::fs::write(&path, schema).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), schema, "RECLASS_UPDATE_DOCS=1 writes it");
}
