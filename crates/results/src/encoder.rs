//! The encoding of values as input of a digest.

/// Feeds fields to the hash. Different sequences of fields of the same types give different bytes, except that all NaNs
/// are encoded alike, and minus zero is encoded like zero. Numbers are encoded as 8 bytes in little-endian order, texts
/// with their length, and options with a tag.
#[derive(Default)]
pub struct Encoder(blake3::Hasher);

impl Encoder {
    pub(crate) fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    pub(crate) fn float(&mut self, float: f64) {
        let stable = if float.is_nan() { f64::NAN } else { float + 0.0 };
        self.number(if stable.is_nan() { 0x7ff8_0000_0000_0000 } else { stable.to_bits() });
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    pub(crate) fn option(&mut self, number: Option<u64>) {
        self.number(u64::from(number.is_some()));
        self.number(number.unwrap_or(0));
    }

    pub(crate) fn finish(self) -> String {
        shorten(self.0.finalize())
    }
}

/// The first 16 bytes of a hash, as hexadecimal digits.
pub(crate) fn shorten(hash: blake3::Hash) -> String {
    hash.to_hex()[..32].to_owned()
}
