//! What the engine's threads share, in many orders of these threads: the models are the crate `tests/schedules`.

use schedules::{layers, processes, sequences};

#[test]
fn tables_that_threads_merge_have_the_keys_of_all() {
    layers::tables_that_threads_merge_have_the_keys_of_all();
}

#[test]
fn layers_that_threads_merge_are_those_of_the_sequence() {
    layers::layers_that_threads_merge_are_those_of_the_sequence();
}

#[test]
fn sequences_that_threads_take_are_those_of_their_files() {
    sequences::sequences_that_threads_take_are_those_of_their_files();
}

#[test]
fn threads_of_a_process_get_the_same_inventory() {
    processes::threads_of_a_process_get_the_same_inventory();
}

#[test]
fn two_registries_in_one_process_are_found() {
    processes::two_registries_in_one_process_are_found();
}

#[test]
fn a_child_waits_for_no_thread_of_its_parent() {
    processes::a_child_waits_for_no_thread_of_its_parent();
}

#[test]
fn a_child_with_the_number_of_its_grandparent_waits_for_nobody() {
    processes::a_child_with_the_number_of_its_grandparent_waits_for_nobody();
}
