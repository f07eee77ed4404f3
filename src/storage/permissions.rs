//! Copies owner, group, mode and extended attributes to the file that replaces another one, or fails.
//!
//! A rename would lose them silently, and they decide who may read the file.

use std::fs::{File, Metadata, Permissions};
use std::io;

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use super::access_error::user;
use super::fs::reason;
use crate::storage::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// The largest size of an attribute on Linux, and of the list of attribute names.
const MAX_ATTRIBUTE: usize = 65_536;

/// The access list of a file. A new file gets the default list of its folder.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Attributes computed from the content. Those of the old file do not fit the new one.
const CONTENT_ATTRIBUTES: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Copies owner, group, mode and attributes to a new file.
///
/// The error says what cannot be kept. Attributes that the system hides from this user, such as
/// `trusted.*`, are not copied.
pub(super) fn copy_permissions(from: &File, to: &File) -> io::Result<()> {
    let old = from.metadata()?;
    set_owner(to, &old)?;
    let mut attribute_names = attribute_names(from)?;
    if !attribute_names.iter().any(|name| name == ACCESS_LIST) && attribute(to, ACCESS_LIST).is_ok() {
        fremovexattr(to, ACCESS_LIST).map_err(|error| attribute_error(ACCESS_LIST, error))?;
    }
    // The access list and the mode come last. Until then only the owner has access, and they may end the
    // owner's right to write. The mode without the list would admit others.
    attribute_names.sort_by_key(|name| name == ACCESS_LIST);
    let kept = attribute_names.iter().filter(|name| !CONTENT_ATTRIBUTES.contains(&name.as_slice()));
    kept.map(Vec::as_slice).try_for_each(|name| copy_attribute(name, from, to))?;
    to.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

/// Gives a new file the permissions of its folder: owner and group if allowed, and the rights to read and
/// write.
pub(super) fn inherit_permissions(folder: &Metadata, file: &File) -> io::Result<()> {
    // Without the right to change it, this user stays the owner.
    let _ = set_owner(file, folder);
    file.set_permissions(Permissions::from_mode(folder.mode() & 0o666))
}

/// Gives a new lock file the owner and group of its folder if allowed. Whoever may write in the folder may
/// open the lock. Readers may not: they could hold it.
pub(super) fn set_lock_permissions(folder: &Metadata, file: &File) -> io::Result<()> {
    let _ = set_owner(file, folder);
    let writers = folder.mode() & 0o222;
    file.set_permissions(Permissions::from_mode(writers << 1 | writers))
}

/// Copies owner and group.
fn set_owner(file: &File, other: &Metadata) -> io::Result<()> {
    let metadata = file.metadata()?;
    let uid = (metadata.uid() != other.uid()).then(|| other.uid());
    let gid = (metadata.gid() != other.gid()).then(|| other.gid());
    let give = |what: &str, uid, gid, reason: &str| {
        let user = user(rustix::process::geteuid().as_raw());
        fchown(file, uid, gid).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                io::Error::other(format!("its {what} cannot be kept: user {user} {reason}"))
            }
            _ => error,
        })
    };
    if let Some(id) = gid {
        give(&format!("group {id}"), None, gid, "is not in that group")?;
    }
    if let Some(id) = uid {
        give(&format!("owner {}", self::user(id)), uid, None, "has no right to give files away")?;
    }
    Ok(())
}

/// The attributes that the system shows to this user.
fn attribute_names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let mut listed = Vec::with_capacity(MAX_ATTRIBUTE);
    match flistxattr(file, spare_capacity(&mut listed)) {
        Ok(_) => {}
        // A file system without attributes.
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let attribute_names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(attribute_names.map(<[u8]>::to_vec).collect())
}

/// Copies an attribute. It is fine if this user may not set it but the kernel already has the same value,
/// as with labels.
fn copy_attribute(name: &[u8], from: &File, to: &File) -> io::Result<()> {
    let mut old = Vec::with_capacity(MAX_ATTRIBUTE);
    match fgetxattr(from, name, spare_capacity(&mut old)) {
        // It was removed meanwhile.
        Err(Errno::NODATA) => return Ok(()),
        read => read.map_err(|error| attribute_error(name, error))?,
    };
    let set = fsetxattr(to, name, &old, XattrFlags::empty());
    match (attribute(to, name), set) {
        (Ok(new), _) if new == old => Ok(()),
        (_, Err(error)) | (Err(error), Ok(())) => Err(attribute_error(name, error)),
        (Ok(_), Ok(())) => Err(io::Error::other(format!("{}: the system changes it", cannot_keep(name)))),
    }
}

/// The value of an attribute.
fn attribute(file: &File, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let mut attribute = Vec::with_capacity(MAX_ATTRIBUTE);
    fgetxattr(file, name, spare_capacity(&mut attribute)).map(|_| attribute)
}

fn attribute_error(name: &[u8], error: Errno) -> io::Error {
    io::Error::other(format!("{}: {}", cannot_keep(name), reason(&error.into())))
}

fn cannot_keep(name: &[u8]) -> String {
    format!("its attribute '{}' cannot be kept", String::from_utf8_lossy(name))
}
