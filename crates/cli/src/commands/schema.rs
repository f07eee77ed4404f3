//! `reclass schema` writes schemas: of a parameter from its values, and of the files of an inventory.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use reclass::error::{Fault, Kind, Result};
use reclass::formats::{EmitOptions, emit};
use reclass::json;
use reclass::value::{Key, Value};
use reclass_analysis::file_schemas::{FILE_SCHEMAS, file_schema};
use reclass_analysis::infer::infer;
use reclass_analysis::list::{What, unmatched};

use crate::commands::list::left_out;
use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, usage};
use crate::manual_page::Manual;

/// The `schema` verb.
pub const VERB: Verb = Verb {
    name: "schema",
    about: "Write a first schema of a parameter, or print those of the files",
    manual: Manual {
        page: "inferred-schemas",
        description: "Writes JSON Schema. 'infer PATH' makes a first schema of a parameter from its values in all nodes, for the folder of schemas; the values of secrets do not count. 'files' prints the schemas of node files, class files and reclass-config.yml, for editors with a YAML server.",
        examples: &[
            ("A first schema of a parameter:", "reclass schema infer nginx > schemas/nginx.yaml"),
            ("The schema of class files, for an editor:", "reclass schema files class -o json"),
        ],
        exits: &[],
    },
    outputs: &["yaml", "json"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    let what = Arg::new("what").value_name("WHAT").required(true);
    command
        .arg(what.value_parser(PossibleValuesParser::new(["infer", "files"])).help(
            "A schema of a parameter from its values, or the schemas of the files",
        ))
        .arg(Arg::new("path").value_name("PATH").help(
            "infer: the path of the parameter, as ntp:server. files: one of node, class and config [default: all three by name]",
        ))
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let path = question.matches.get_one::<String>("path");
    let what = question.matches.get_one::<String>("what").map_or("", String::as_str);
    let schema = match (what, path) {
        ("files", None) => {
            let entry = |name: &str| Some((Key::from(name), file_schema(name)?));
            Value::map(FILE_SCHEMAS.into_iter().filter_map(entry).collect())
        }
        ("files", Some(name)) => file_schema(name)
            .ok_or_else(|| usage(format!("no schema '{name}': {}", FILE_SCHEMAS.join(", "))))?,
        (_, None) => return Err(usage("infer takes the path of a parameter, as ntp:server")),
        (_, Some(path)) => {
            let inferred = infer(&question.inventory, path)?;
            let hints = left_out(inferred.left_out).into_iter().collect();
            let (missing, text) = if let Some(schema) = inferred.schema {
                (Vec::new(), printed(&schema, question.output))
            } else {
                let paths = [path.clone()];
                let mut missing = unmatched(&question.inventory, [(What::Parameter, &paths[..])])?;
                if missing.is_empty() {
                    let message = format!(
                        "no node that renders has a parameter with the path '{path}'; the path is that of one parameter, without patterns"
                    );
                    missing.push(Fault::new(Kind::Usage { message }));
                }
                (missing, String::new())
            };
            return Ok(Printout { text, missing, hints, ..Printout::default() });
        }
    };
    Ok(Printout::plain(printed(&schema, question.output)))
}

fn printed(schema: &Value, output: &str) -> String {
    let text = match output {
        "json" => json::dumps(schema, true),
        _ => emit(schema, &EmitOptions { pretty: true, no_refs: true }),
    };
    text.trim_end().to_owned()
}
