//! Base64 as Python writes and reads it.

/// Base64 in one line.
pub fn encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .enumerate()
            .fold(0u32, |group, (place, byte)| group | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let sextet = (group >> (18 - 6 * place)) & 63;
            let letter = ALPHABET.get(sextet as usize).copied().unwrap_or(b'=');
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The bytes that [`encode`] makes exactly this text of.
pub fn decode_exact(text: &str) -> Option<Vec<u8>> {
    decode(text).filter(|bytes| encode(bytes) == text)
}

/// Python's `base64.decodebytes`: what is no base64 character is left out, and
/// a complete padding ends the data; nothing for data that end amid a group.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut position, mut left, mut pads) = (0, 0u8, 0);
    for byte in text.bytes() {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                if position >= 2 {
                    pads += 1;
                    if position + pads >= 4 {
                        return Some(bytes);
                    }
                }
                continue;
            }
            _ => continue,
        };
        pads = 0;
        match position {
            1 => bytes.push(left << 2 | sextet >> 4),
            2 => bytes.push(left << 4 | sextet >> 2),
            3 => bytes.push(left << 6 | sextet),
            _ => {}
        }
        left = sextet;
        position = (position + 1) % 4;
    }
    (position == 0).then_some(bytes)
}
