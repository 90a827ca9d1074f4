//! Values as bytes of a digest.

/// Feeds fields to the hash so that no two sequences of fields give the same bytes: numbers are 8 bytes, little-endian;
/// texts carry their length; options and variants carry a tag.
#[derive(Default)]
pub struct Encoder(blake3::Hasher);

impl Encoder {
    pub(crate) fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    /// Minus zero is hashed as zero, and all NaNs alike.
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
