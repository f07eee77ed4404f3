//! The age of data from elsewhere: whether the last fetch of a repository or an etcd failed, and since when
//! its data are served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use reclass_base::error::Warning;
use reclass_base::value::Text;

/// A repository or an etcd, as it was for the last question.
#[derive(Clone, Debug)]
pub struct FetchState {
    /// The repository, or the servers, without a password.
    pub source: String,
    /// The branches in use with their commits; none of an etcd.
    pub commits: BTreeMap<Text, Arc<str>>,
    /// Start of the last successful fetch.
    pub fetched: Option<SystemTime>,
    /// Start of the fetch that brought the commits in use; unknown for an etcd.
    pub since: Option<SystemTime>,
    /// Start of the last fetch that failed.
    pub failed: Option<SystemTime>,
    /// `git-stale` or `etcd-stale`, if a later fetch failed.
    pub stale: Option<Warning>,
}
