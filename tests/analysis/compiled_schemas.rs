//! The schemas of an inventory are compiled once for each state of their files, in each thread.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use reclass::Inventory;
use reclass_analysis::schema::Schemas;
use support::folders;

fn schemas(inventory: &Inventory) -> Arc<Schemas> {
    inventory.inspect(Schemas::of_computation).unwrap().unwrap().unwrap()
}

/// Writes a file, and waits until its state proves that it stays as it is: until then it is read again.
fn write(base: &Path, name: &str, text: &str) {
    folders::write(&base.join(name), text);
    folders::until_old(base);
}

#[test]
fn schemas_are_compiled_again_if_their_files_change_and_not_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let options = folders::inventory(base);
    write(base, "nodes/n.yml", "parameters: {port: 80}\n");
    write(base, "schemas/port.yml", "type: integer\n");
    let (one, other) = (Inventory::open(&options).unwrap(), Inventory::open(&options).unwrap());
    let first = schemas(&one);
    assert!(Arc::ptr_eq(&first, &schemas(&one)));
    // A second state of the same files has its own, and takes nothing from the first one.
    let second = schemas(&other);
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(Arc::ptr_eq(&first, &schemas(&one)));

    // Other files say nothing about schemas.
    write(base, "nodes/n.yml", "parameters: {port: 81}\n");
    assert!(Arc::ptr_eq(&first, &schemas(&one)));

    write(base, "schemas/port.yml", "type: integer\nminimum: 1024\n");
    let changed = schemas(&one);
    assert!(!Arc::ptr_eq(&first, &changed));
    assert!(Arc::ptr_eq(&changed, &schemas(&one)));

    // Those of files that nobody has any more are gone.
    let old = Arc::downgrade(&first);
    drop(first);
    assert_eq!(old.strong_count(), 0);

    fs::remove_file(base.join("schemas/port.yml")).unwrap();
    assert!(one.inspect(Schemas::of_computation).unwrap().unwrap().is_none());
}
