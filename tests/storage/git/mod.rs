//! Inventories in repositories on disk: what is read, what a push changes, and what happens when
//! remotes, caches and processes break. Servers are in `tests/python/test_git.py`.

mod breaks;
mod deciding;
mod files;
mod kills;
mod oracle;
mod pushes;
mod serving;
mod settings;
mod site;
