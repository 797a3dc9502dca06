//! An input for tests: bytes in memory.

use super::Input;

/// The bytes of an array.
pub(super) struct ByteArray(pub(super) Vec<u8>);

impl ByteArray {
    /// The bytes of these elements.
    pub(super) fn of(values: &[f32]) -> Self {
        Self(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }
}

impl Input for ByteArray {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        out.copy_from_slice(&self.0[offset as usize..][..out.len()]);
    }

    fn all(&self) -> &[u8] {
        &self.0
    }
}
