//! Soft metadata in a real etcd: the layers of its keys, when it is asked, and what happens when it breaks.
//!
//! Debian has the programs in the packages `etcd-server` and `etcd-client`. Without them the tests say that
//! they fail, unless `RECLASS_WITHOUT` names etcd.

mod access;
mod cache;
mod failures;
mod layers;
mod server;
mod writing;
