//! Contents whose elements are sums of many terms: products of matrices, and gravity. In: the views that they are made of;
//! out: f32, worked out where somebody reads them, each sum term by term as the kernels add, with products rounded (fused
//! ones take a CPU without such an instruction long).

use std::sync::OnceLock;

use crate::content::View;

/// The product of two square matrices, row by row.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) a: View,
    pub(crate) b: View,
    /// The rows and columns of each.
    pub(crate) n: usize,
    /// Whether they hold bf16.
    pub(crate) half: bool,
    /// How many terms of each sum are added: n, unless the kernel is a broken one.
    pub(crate) terms: usize,
    /// The elements of `b`, once they have been worked out.
    pub(crate) operand: OnceLock<Vec<f32>>,
}

impl Product {
    /// Writes elements from number `first` on.
    pub(crate) fn read(&self, first: u64, out: &mut [u8]) {
        let n = self.n;
        let b = self.operand.get_or_init(|| self.elements(&self.b, 0, n * n));
        let (places, _) = out.as_chunks_mut::<4>();
        let (mut index, mut sums) = (first as usize, Vec::new());
        let mut left = places;
        while !left.is_empty() {
            let (row, column) = (index / n, index % n);
            let count = left.len().min(n - column);
            let a = self.elements(&self.a, row * n, n);
            sums.clear();
            sums.resize(count, 0.0_f32);
            for (factor, row) in a.iter().zip(b.chunks_exact(n)).take(self.terms) {
                sums.iter_mut().zip(&row[column..]).for_each(|(sum, b)| *sum += factor * b);
            }
            let (now, rest) = left.split_at_mut(count);
            now.iter_mut().zip(&sums).for_each(|(place, sum)| *place = sum.to_le_bytes());
            (index, left) = (index + count, rest);
        }
    }

    fn elements(&self, of: &View, first: usize, count: usize) -> Vec<f32> {
        let size = if self.half { 2 } else { 4 };
        let mut bytes = vec![0; size * count];
        of.read((size * first) as u64, &mut bytes);
        if self.half {
            let bits = bytes.as_chunks().0.iter().map(|bits| u32::from(u16::from_le_bytes(*bits)) << 16);
            bits.map(f32::from_bits).collect()
        } else {
            bytes.as_chunks().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect()
        }
    }
}

/// What bodies do to each other: for each, an acceleration in three parts and a zero.
#[derive(Debug)]
pub(crate) struct Gravity {
    pub(crate) bodies: View,
    pub(crate) softening: f32,
    /// How many bodies pull: all, unless the kernel is a broken one.
    pub(crate) terms: usize,
    /// The bodies' numbers, once they have been worked out.
    pub(crate) numbers: OnceLock<Vec<f32>>,
}

impl Gravity {
    /// Writes accelerations from that of body `first` on.
    pub(crate) fn read(&self, first: u64, out: &mut [u8]) {
        let numbers = self.numbers.get_or_init(|| {
            let bytes = self.bodies.to_bytes();
            bytes.as_chunks().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect()
        });
        let bodies = numbers.as_chunks::<4>().0;
        for (index, place) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let body = bodies[first as usize + index];
            let mut sums = [0.0_f32; 4];
            for other in &bodies[..self.terms] {
                let away = [0, 1, 2].map(|axis| other[axis] - body[axis]);
                let square = away.iter().fold(self.softening, |square, part| square + part * part);
                let inverse = square.sqrt().recip();
                let pull = other[3] * (inverse * inverse * inverse);
                sums.iter_mut().zip(away).for_each(|(sum, away)| *sum += away * pull);
            }
            let parts = sums.iter().flat_map(|sum| sum.to_le_bytes());
            place.iter_mut().zip(parts).for_each(|(place, part)| *place = part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Content;

    fn view(values: &[f32]) -> View {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let length = bytes.len() as u64;
        View::of(Content::Bytes(bytes), length)
    }

    fn f32s(content: Content, count: usize) -> Vec<f32> {
        let bytes = View::of(content, 4 * count as u64).to_bytes();
        bytes.as_chunks().0.iter().map(|bits| f32::from_le_bytes(*bits)).collect()
    }

    fn product(a: View, b: View, n: usize, half: bool, terms: usize) -> Content {
        Content::Product(Product { a, b, n, half, terms, operand: OnceLock::new() })
    }

    #[test]
    fn products_are_those_of_matrices() {
        let [a, b] = [view(&[1.0, 2.0, 3.0, 4.0]), view(&[5.0, 6.0, 7.0, 8.0])];
        assert_eq!(f32s(product(a.clone(), b.clone(), 2, false, 2), 4), [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(f32s(product(a, b, 2, false, 1), 4), [5.0, 6.0, 15.0, 18.0]);
        // 1.5 and 2 in bf16, in one word.
        let [a, b] = [1.5_f32, 2.0]
            .map(|value| View::of(Content::Bytes((value.to_bits() >> 16).to_le_bytes()[..2].to_vec()), 2));
        assert_eq!(f32s(product(a, b, 1, true, 1), 1), [3.0]);
    }

    #[test]
    fn bodies_pull_each_other() {
        let bodies = view(&[0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 5.4]);
        let found = f32s(
            Content::Gravity(Gravity { bodies, softening: 1e-9, terms: 2, numbers: OnceLock::new() }),
            8,
        );
        assert!((found[0] - 0.6).abs() < 1e-6 && (found[4] + 2.0 / 9.0).abs() < 1e-6, "{found:?}");
    }
}
