//! Errors in the settings of a storage are reported before anything is fetched.

use reclass::Inventory;

use super::site::Site;

#[track_caller]
fn refused(yaml: &str, expected: &str) {
    let site = Site::new();
    let error = Inventory::open(&site.options(yaml)).unwrap_err().to_string();
    assert_eq!(error.replace(&site.path("").display().to_string(), "SITE/"), expected);
}

#[test]
fn options_that_are_missing_or_wrong() {
    refused(
        "{storage_type: yaml_git, nodes_uri: SITE/x}",
        "setting 'nodes_uri' must be a mapping for storage_type 'yaml_git', not string (setting-type); \
         write 'nodes_uri: {repo: ADDRESS}', or 'storage_type: yaml_fs' for folders",
    );
    refused(
        "{storage_type: yaml_git, nodes_uri: {branch: x}, classes_uri: {}}",
        "setting 'nodes_uri': 'repo' is missing (storage-option)",
    );
    refused(
        "{storage_type: yaml_git, nodes_uri: {repo: 'rsync://x/y', CACHE}, classes_uri: {}}",
        "setting 'nodes_uri': 'repo': it must be a path, or an address of file, https, http, ssh or git \
         (storage-option)",
    );
    refused(
        "{storage_type: yaml_git, nodes_uri: {repo: SITE/x, branch: [a], CACHE}, classes_uri: {}}",
        "setting 'nodes_uri': 'branch' must be a string that is not empty (storage-option)",
    );
    refused(
        "{storage_type: yaml_git, nodes_uri: {repo: SITE/x, CACHE}, \
         classes_uri: {repo: SITE/y, CACHE, env_overrides: {dev: {branch: x}}}}",
        "setting 'classes_uri': 'env_overrides' must be a list of mappings from an environment to options \
         (storage-option)",
    );
    refused(
        "{storage_type: mixed, nodes_uri: {uri: SITE/x}, classes_uri: {}}",
        "setting 'nodes_uri': 'storage_type' is missing (storage-option)",
    );
    refused(
        "{storage_type: mixed, nodes_uri: {storage_type: mixed}, classes_uri: {}}",
        "setting 'nodes_uri': 'storage_type' must be yaml_fs or yaml_git (storage-option)",
    );
    refused(
        "{storage_type: yaml_git, git_fetch_timeout: 0, nodes_uri: {repo: SITE/x, CACHE}, classes_uri: {}}",
        "setting 'git_fetch_timeout' must be one of the whole numbers from 1 on (setting-value)",
    );
}

#[test]
fn trees_that_overlap_are_an_error_with_both_names() {
    refused(
        "{storage_type: yaml_git, nodes_uri: {repo: SITE/x, CACHE}, \
         classes_uri: {repo: SITE/x, branch: master, root: classes, CACHE}}",
        "nodes_uri 'SITE/x master' and classes_uri 'SITE/x master classes' must not be the same folder nor one \
         inside the other (uri-overlap)",
    );
    refused(
        "{storage_type: yaml_git, nodes_uri: {repo: SITE/x, CACHE}, \
         classes_uri: {repo: 'file://SITE/x/../x', branch: master, CACHE}}",
        "nodes_uri 'SITE/x master' and classes_uri 'file://SITE/x/../x master' must not be the same folder nor one \
         inside the other (uri-overlap)",
    );
    refused(
        "{storage_type: mixed, nodes_uri: {storage_type: yaml_fs, uri: SITE/a}, classes_uri: {storage_type: yaml_fs, \
         uri: SITE/b, env_overrides: [{dev: {uri: SITE/a/b}}]}}",
        "nodes_uri 'SITE/a' and classes_uri 'SITE/a/b' must not be the same folder nor one inside the other \
         (uri-overlap)",
    );
    let site = Site::new();
    site.open(
        "{storage_type: yaml_git, nodes_uri: {repo: SITE/x, root: nodes, CACHE}, \
         classes_uri: {repo: SITE/x, branch: master, root: nodes-old, CACHE}}",
    );
}

#[test]
fn an_unknown_option_is_a_warning() {
    let site = Site::new();
    let inventory = site.open(
        "{storage_type: yaml_git, nodes_uri: {repo: SITE/x, brnach: y, CACHE}, classes_uri: {repo: SITE/y, CACHE}}",
    );
    let warnings: Vec<String> =
        inventory.settings_warnings().iter().map(|warning| warning.kind.to_string()).collect();
    assert_eq!(warnings, ["unknown setting 'nodes_uri: brnach'"]);
}

#[test]
fn edits_of_repositories_are_refused_and_files_are_not_shown() {
    let site = Site::with_environments();
    let output = site.program(super::site::ENVIRONMENTS, &["lint", "--help"]);
    assert!(output.status.success());
    let (settings, _) =
        reclass::settings::Settings::from_options(&site.options(super::site::ENVIRONMENTS)).unwrap();
    let error = reclass_edit::source::list(&settings, None).unwrap_err();
    let said = "files of storage_type 'yaml_git' cannot be shown as they are written (storage-unsupported)";
    assert_eq!(error.to_string(), said);
    let error = reclass_edit::node::delete(&settings, "n", reclass_edit::tree::EditOptions::default());
    let said = "files of storage_type 'yaml_git' cannot be edited (storage-unsupported)";
    assert_eq!(error.unwrap_err().to_string(), said);
}
