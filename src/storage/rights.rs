//! Rights turn a new file into one that may take the place of another: owner, group, mode and
//! extended attributes are those of the other, or there is an error.
//!
//! A rename would lose them without a word, and with them who may read the file.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use super::denied::user;
use super::fs::reason;

/// The most bytes that Linux has for an attribute, and for the names of all.
const MOST: usize = 65_536;

/// The access list of a file. A new one gets the default list of its folder.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// What the kernel makes of the bytes of a file, or whoever signs them: that of the old ones is wrong.
const OF_THE_BYTES: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Gives a new file owner, group, mode and attributes of another.
///
/// An error says what cannot be kept. Attributes that the system does not show to this user, as those
/// of `trusted.*` to all but the administrator, are not known here.
pub(super) fn take_over(from: &File, to: &File) -> io::Result<()> {
    let old = from.metadata()?;
    own(to, &old)?;
    let mut names = names(from)?;
    if !names.iter().any(|name| name == ACCESS_LIST) && value(to, ACCESS_LIST).is_ok() {
        fremovexattr(to, ACCESS_LIST).map_err(|error| lost(ACCESS_LIST, error))?;
    }
    // List and mode come last: until then the file is for its owner alone, whose right to write may end
    // with them. Without the list, the mode would let in others.
    names.sort_by_key(|name| name == ACCESS_LIST);
    let kept = names.iter().filter(|name| !OF_THE_BYTES.contains(&name.as_slice()));
    kept.map(Vec::as_slice).try_for_each(|name| keep(name, from, to))?;
    to.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

/// Gives a new file what it has from its folder: owner and group where that is allowed, and the rights
/// to read and write.
pub(super) fn belong_to(folder: &Metadata, file: &File) -> io::Result<()> {
    // Without the right to give a file away, it is ours.
    let _ = own(file, folder);
    file.set_permissions(Permissions::from_mode(folder.mode() & 0o666))
}

/// Gives a lock file the owner and the group of its folder, and the right to open it to those of them
/// who may write in the folder, access lists included. Only its owner and the administrator can change
/// it; for others it stays what it is.
pub(super) fn follow(folder: &File, file: &File) -> io::Result<()> {
    let (around, ours) = (folder.metadata()?, file.metadata()?);
    let writers = around.mode() & 0o220;
    let mode = writers | writers << 1;
    if (ours.uid(), ours.gid(), ours.mode() & 0o7777) == (around.uid(), around.gid(), mode) {
        return Ok(());
    }
    let _ = own(file, &around);
    let _ = match value(folder, ACCESS_LIST) {
        Ok(list) => fsetxattr(file, ACCESS_LIST, &list, XattrFlags::empty()),
        Err(_) => fremovexattr(file, ACCESS_LIST),
    };
    let _ = file.set_permissions(Permissions::from_mode(mode));
    Ok(())
}

/// Gives a file the owner and group of another.
fn own(file: &File, other: &Metadata) -> io::Result<()> {
    let ours = file.metadata()?;
    let uid = (ours.uid() != other.uid()).then(|| other.uid());
    let gid = (ours.gid() != other.gid()).then(|| other.gid());
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

/// The names of the attributes that this user is shown.
fn names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let mut listed = Vec::with_capacity(MOST);
    match flistxattr(file, spare_capacity(&mut listed)) {
        Ok(_) => {}
        // A file system without attributes.
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(<[u8]>::to_vec).collect())
}

/// Gives a file an attribute of another. It is well where the kernel has given it the same, as it does
/// with labels, though this user may not.
fn keep(name: &[u8], from: &File, to: &File) -> io::Result<()> {
    let mut old = Vec::with_capacity(MOST);
    match fgetxattr(from, name, spare_capacity(&mut old)) {
        // It was taken away meanwhile.
        Err(Errno::NODATA) => return Ok(()),
        read => read.map_err(|error| lost(name, error))?,
    };
    let set = fsetxattr(to, name, &old, XattrFlags::empty());
    match (value(to, name), set) {
        (Ok(new), _) if new == old => Ok(()),
        (_, Err(error)) | (Err(error), Ok(())) => Err(lost(name, error)),
        (Ok(_), Ok(())) => Err(io::Error::other(format!("{}: the system changes it", unkept(name)))),
    }
}

/// An attribute of a new file.
fn value(file: &File, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let mut value = Vec::with_capacity(MOST);
    fgetxattr(file, name, spare_capacity(&mut value)).map(|_| value)
}

fn lost(name: &[u8], error: Errno) -> io::Error {
    io::Error::other(format!("{}: {}", unkept(name), reason(&error.into())))
}

fn unkept(name: &[u8]) -> String {
    format!("its attribute '{}' cannot be kept", String::from_utf8_lossy(name))
}
