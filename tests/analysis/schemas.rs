//! The JSON Schemas of `docs/schemas` are those of the types that are printed.
//! `RECLASS_UPDATE_DOCS=1 cargo test --test schemas` writes them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic and touch files")]

use std::path::Path;

use reclass::compare::ProgramComparison;
use reclass::diff::Difference;
use reclass::explain::Explanation;
use reclass::report::Finding;
use reclass::test::TestReport;
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
        ("compare", schema::<ProgramComparison>("compare")),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schemas/{verb}.json"));
        if std::env::var_os("RECLASS_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), schema, "RECLASS_UPDATE_DOCS=1 writes it");
    }
}
