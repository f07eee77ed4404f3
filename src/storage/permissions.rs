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

use super::access_error::user;
use super::fs::reason;

/// The most bytes that Linux has for an attribute, and for the attribute_names of all.
const MAX_ATTRIBUTE: usize = 65_536;

/// The access list of a file. A new one gets the default list of its folder.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// What the kernel makes of the bytes of a file, or whoever signs them: that of the old ones is wrong.
const CONTENT_ATTRIBUTES: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Gives a new file owner, group, mode and attributes of another.
///
/// An error says what cannot be kept. Attributes that the system does not show to this user, as those
/// of `trusted.*` to all but the administrator, are not known here.
pub(super) fn copy_permissions(from: &File, to: &File) -> io::Result<()> {
    let old = from.metadata()?;
    set_owner(to, &old)?;
    let mut attribute_names = attribute_names(from)?;
    if !attribute_names.iter().any(|name| name == ACCESS_LIST) && attribute(to, ACCESS_LIST).is_ok() {
        fremovexattr(to, ACCESS_LIST).map_err(|error| attribute_error(ACCESS_LIST, error))?;
    }
    // List and mode come last: until then the file is for its owner alone, whose right to write may end
    // with them. Without the list, the mode would let in others.
    attribute_names.sort_by_key(|name| name == ACCESS_LIST);
    let kept = attribute_names.iter().filter(|name| !CONTENT_ATTRIBUTES.contains(&name.as_slice()));
    kept.map(Vec::as_slice).try_for_each(|name| copy_attribute(name, from, to))?;
    to.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

/// Gives a new file what it has from its folder: owner and group where that is allowed, and the rights
/// to read and write.
pub(super) fn inherit_permissions(folder: &Metadata, file: &File) -> io::Result<()> {
    // Without the right to give a file away, it is metadata.
    let _ = set_owner(file, folder);
    file.set_permissions(Permissions::from_mode(folder.mode() & 0o666))
}

/// Gives a lock file the owner and the group of its folder. Whoever may write in the folder may open the
/// lock, and nobody else; others of a folder that is open to all are left out.
///
/// An editor who is not root cannot give the file away. Then an access list attribute_names the owner and the group
/// of the folder. Only the owner of the lock and root can change it; for others it stays as it is.
pub(super) fn set_lock_permissions(folder: &File, file: &File) -> io::Result<()> {
    let parent = folder.metadata()?;
    let _ = set_owner(file, &parent);
    let metadata = file.metadata()?;
    let mut rights = LockRights { user: 0, group: 0, named: Vec::new() };
    let list = attribute(folder, ACCESS_LIST).unwrap_or_default();
    let entries = access_entries(&list);
    let mask = entries.iter().find(|entry| entry.tag == MASK).map_or(WRITE, |entry| entry.rights);
    let right = |rights: u16| if rights & WRITE == 0 { 0 } else { READ | WRITE };
    let of_mode = |shift: u32| right(u16::try_from(parent.mode() >> shift & 7).unwrap_or(0));
    // With an access list, the bits of the group in the mode are its mask.
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
    rights.named.retain(|entry| entry.rights != 0);
    rights.give(file, &metadata);
    Ok(())
}

/// The rights of a lock file.
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
        // The kernel wants them by tag.
        entries.sort_by_key(|entry| entry.tag);
        let list = access_list(&entries);
        if attribute(file, ACCESS_LIST).is_ok_and(|old| old == list) {
            return;
        }
        if fsetxattr(file, ACCESS_LIST, &list, XattrFlags::empty()).is_err() {
            // A file system without access lists, or the file of somebody else.
            let _ = file.set_permissions(Permissions::from_mode(mode));
        }
    }
}

/// Bits of an access list's rights, and its tags (Linux, `posix_acl_xattr.h`).
const READ: u16 = 4;
const WRITE: u16 = 2;
const OWNER: u16 = 1;
const NAMED_USER: u16 = 2;
const GROUP: u16 = 4;
const NAMED_GROUP: u16 = 8;
const MASK: u16 = 16;
const OTHERS: u16 = 32;
/// The version that begins each list.
const VERSION: [u8; 4] = [2, 0, 0, 0];

/// An entry of an access list: who, and what they may do.
#[derive(Clone, Copy)]
struct AccessEntry {
    tag: u16,
    rights: u16,
    id: u32,
}

/// The entries of an access list as the system keeps it; none of a list in another version.
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

/// Gives a file the owner and group of another.
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

/// The attribute_names of the attributes that this user is shown.
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

/// Gives a file an attribute of another. It is well where the kernel has given it the same, as it does
/// with labels, though this user may not.
fn copy_attribute(name: &[u8], from: &File, to: &File) -> io::Result<()> {
    let mut old = Vec::with_capacity(MAX_ATTRIBUTE);
    match fgetxattr(from, name, spare_capacity(&mut old)) {
        // It was taken away meanwhile.
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

/// An attribute of a new file.
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
