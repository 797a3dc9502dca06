//! Orders of values, of which each number chooses one.

use gpubench_stats::random;

/// Puts `values` in another order, each order as likely, which `seed` chooses (Fisher and Yates).
pub(super) fn shuffle(values: &mut [f64], seed: u64) {
    for last in (1..values.len()).rev() {
        let drawn = random(random(seed).wrapping_add(last as u64));
        // The high half of the product: a number from 0 to `last`.
        let other = ((u128::from(drawn) * (last as u128 + 1)) >> 64) as usize;
        values.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// 6,000 draws: each of six orders comes 1,000 times with a standard deviation of 29.
    #[test]
    fn each_order_is_as_likely() {
        let mut orders: HashMap<Vec<u8>, usize> = HashMap::new();
        for seed in 0..6_000 {
            let mut values = [1.0, 2.0, 3.0];
            shuffle(&mut values, seed);
            *orders.entry(values.map(|value| value as u8).to_vec()).or_default() += 1;
        }
        assert_eq!(orders.len(), 6, "{orders:?}");
        assert!(orders.values().all(|count| (850..1150).contains(count)), "{orders:?}");
    }
}
