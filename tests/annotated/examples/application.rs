//! Uses the library, and measures nothing.

fn main() {
    let mut values = [1.5, 2.0];
    annotated::double_values(&mut values);
    println!("{values:?}");
}
