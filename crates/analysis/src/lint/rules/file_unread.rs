use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::lint::prelude::*;
use reclass::parts::storage::fs;
use reclass_yaml::compose::{Data, DocumentLimits, compose_within};

pub const RULE: Rule = Rule {
    id: "file-unread",
    level: Level::Warning,
    about: "A file has the content of a node or a class, and nobody reads it: its name does not end in `.yml` or `.yaml`.",
    text: "A node in `nodes/web1.example.com` has no pillar. The rule looks at files that consist of sections, in folders with nodes and classes. It accepts hidden files, and names with another ending behind that of YAML, as `web1.yml.off`.

```yaml
# Bad: nodes/web1.example.com
parameters: {port: 80}
# nodes/web2.yml
parameters: {port: 80}
# Good: nodes/web1.example.com.yml
parameters: {port: 80}
```",
    checks: &[Check::Whole(check)],
};

fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let settings = linter.context.settings;
    let base = settings.inventory_base_uri.as_deref();
    let roots = [(&settings.nodes_uri, "nodes_uri"), (&settings.classes_uri, "classes_uri")];
    let roots = roots.iter().filter_map(|(uri, name)| fs::roots(base, uri, name).ok()).flatten();
    let parents = linter.survey.files.iter().filter_map(|file| Path::new(&*file.path).parent());
    let folders: BTreeSet<PathBuf> = roots.chain(parents.map(Path::to_path_buf)).collect();
    let mut paths: Vec<PathBuf> =
        folders.iter().filter_map(|folder| fs::entries(folder).ok()).flatten().collect();
    paths.sort_unstable();
    for path in paths.iter().filter(|path| is_other(path) && has_sections(linter, path)) {
        let message = "nobody reads this file, because its name does not end in .yml or .yaml".to_owned();
        found.push(lint_fault(RULE.id, message, None).at_site(Site::file(fs::display(path))));
    }
}

/// Whether a path is a file without the ending of YAML, which is not only put aside.
fn is_other(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(".");
    !name.starts_with('.')
        && !name.ends_with('~')
        && !name.contains(".yml")
        && !name.contains(".yaml")
        && path.is_file()
}

fn has_sections(linter: &Linter<'_>, path: &Path) -> bool {
    let settings = linter.context.settings;
    let Ok((bytes, _)) = fs::read(path, settings.max_file_bytes()) else { return false };
    let Ok(document) = compose_within(&bytes, DocumentLimits::of(settings)) else { return false };
    let Some(Data::Map(entries)) = document.root.map(|root| root.data) else { return false };
    let names = ["classes", "applications", "parameters", "environment", "exports"];
    !entries.is_empty()
        && entries.iter().all(|entry| entry.key.as_str().is_some_and(|key| names.contains(&key)))
}
