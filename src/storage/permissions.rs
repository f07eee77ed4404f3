//! Copies owner, group, mode and extended attributes to the file that replaces another one, or fails.
//!
//! A rename would lose them silently, and they decide who may read the file.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::buffer::spare_capacity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use super::access_error::user;
use super::fs::reason;

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

/// Gives a lock file the owner and group of its folder. Exactly the users who may write in the folder may
/// open the lock; a right of all others is not copied.
///
/// An editor without root rights cannot change the owner. Then an access list contains the owner and group
/// of the folder. Only the lock's owner and root can change it; for others it stays as it is. A file with
/// a second name, a hard link, may belong to another user, so it stays as it is too.
pub(super) fn set_lock_permissions(folder: &File, file: &File) -> io::Result<()> {
    let parent = folder.metadata()?;
    if file.metadata()?.nlink() > 1 {
        return Ok(());
    }
    let _ = set_owner(file, &parent);
    let metadata = file.metadata()?;
    let mut rights = LockRights { user: 0, group: 0, named: Vec::new() };
    let list = attribute(folder, ACCESS_LIST).unwrap_or_default();
    let entries = access_entries(&list);
    let mask = entries.iter().find(|entry| entry.tag == MASK).map_or(WRITE, |entry| entry.rights);
    let right = |rights: u16| if rights & WRITE == 0 { 0 } else { READ | WRITE };
    let of_mode = |shift: u32| right(u16::try_from(parent.mode() >> shift & 7).unwrap_or(0));
    // With an access list, the group bits of the mode are its mask.
    let group = entries.iter().find(|entry| entry.tag == GROUP);
    let group = group.map_or_else(|| of_mode(3), |entry| right(entry.rights & mask));
    if metadata.uid() == parent.uid() {
        rights.user = of_mode(6);
    } else {
        rights.user = READ | WRITE;
        rights.named.push(AccessEntry { tag: NAMED_USER, rights: of_mode(6), id: parent.uid() });
    }
    if metadata.gid() == parent.gid() {
        rights.group = group;
    } else {
        rights.named.push(AccessEntry { tag: NAMED_GROUP, rights: group, id: parent.gid() });
    }
    for entry in entries.iter().filter(|entry| matches!(entry.tag, NAMED_USER | NAMED_GROUP)) {
        if !rights.named.iter().any(|named| (named.tag, named.id) == (entry.tag, entry.id)) {
            rights.named.push(AccessEntry { rights: right(entry.rights & mask), ..*entry });
        }
    }
    // An entry without rights stays: without it, the entry of a group would count for that user.
    rights.give(file, &metadata);
    Ok(())
}

/// The rights to a lock file.
struct LockRights {
    user: u16,
    group: u16,
    named: Vec<AccessEntry>,
}

impl LockRights {
    fn give(mut self, file: &File, metadata: &Metadata) {
        let mode = u32::from(self.user << 6 | self.group << 3);
        if self.named.is_empty() {
            if attribute(file, ACCESS_LIST).is_ok() {
                let _ = fremovexattr(file, ACCESS_LIST);
            }
            if metadata.mode() & 0o7777 != mode {
                let _ = file.set_permissions(Permissions::from_mode(mode));
            }
            return;
        }
        self.named.sort_by_key(|entry| (entry.tag, entry.id));
        let plain = |tag, rights| AccessEntry { tag, rights, id: u32::MAX };
        let mut entries = vec![plain(OWNER, self.user), plain(GROUP, self.group)];
        entries.extend([plain(MASK, READ | WRITE), plain(OTHERS, 0)]);
        entries.extend(self.named);
        // The kernel requires this order.
        entries.sort_by_key(|entry| entry.tag);
        let list = access_list(&entries);
        if attribute(file, ACCESS_LIST).is_ok_and(|old| old == list) {
            return;
        }
        if fsetxattr(file, ACCESS_LIST, &list, XattrFlags::empty()).is_err() {
            // A file system without access lists, or a file of another user.
            let _ = file.set_permissions(Permissions::from_mode(mode));
        }
    }
}

/// The bits of an access list's rights, and its tags (Linux, `posix_acl_xattr.h`).
const READ: u16 = 4;
const WRITE: u16 = 2;
const OWNER: u16 = 1;
const NAMED_USER: u16 = 2;
const GROUP: u16 = 4;
const NAMED_GROUP: u16 = 8;
const MASK: u16 = 16;
const OTHERS: u16 = 32;
/// The version at the beginning of each list.
const VERSION: [u8; 4] = [2, 0, 0, 0];

/// An entry of an access list.
#[derive(Clone, Copy)]
struct AccessEntry {
    tag: u16,
    rights: u16,
    id: u32,
}

/// The entries of an access list in the system's format; none for another version.
fn access_entries(list: &[u8]) -> Vec<AccessEntry> {
    let entries = list.strip_prefix(&VERSION).unwrap_or_default().chunks_exact(8);
    let entry = |bytes: &[u8]| {
        let (tag, rest) = bytes.split_first_chunk()?;
        let (rights, id) = rest.split_first_chunk()?;
        Some(AccessEntry {
            tag: u16::from_le_bytes(*tag),
            rights: u16::from_le_bytes(*rights),
            id: u32::from_le_bytes(id.try_into().ok()?),
        })
    };
    entries.filter_map(entry).collect()
}

fn access_list(entries: &[AccessEntry]) -> Vec<u8> {
    let mut list = VERSION.to_vec();
    for entry in entries {
        list.extend(entry.tag.to_le_bytes());
        list.extend(entry.rights.to_le_bytes());
        list.extend(entry.id.to_le_bytes());
    }
    list
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
