//! The attribute on launch functions of every form. Each module sees the benchmarks of its own alone.

mod arguments;
mod found;
mod full_form;
mod generics;
mod groups;
mod parameters;
mod reset;
mod restore;
mod setup_and_check;
mod setup_errors;
mod smallest_form;
mod support;
mod surroundings;
