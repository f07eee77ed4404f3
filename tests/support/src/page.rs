//! Reads the data in the page of a graph.

use miniz_oxide::inflate::decompress_to_vec;
use reclass_base::base64;

/// A text with the data of a page in place of their compressed form. Another text stays.
pub fn unpacked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("<script type=\"application/octet-stream\"") {
        let (element, after) = behind.split_once("</script>").unwrap();
        let packed = element.split_once('>').unwrap().1;
        let bytes = decompress_to_vec(&base64::decode(packed).unwrap()).unwrap();
        out += before;
        out += std::str::from_utf8(&bytes).unwrap();
        rest = after;
    }
    out + rest
}
