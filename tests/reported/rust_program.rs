// SPDX-License-Identifier: BSL-1.0
// Report: rust-lang/rust 89917, async-profiler/async-profiler 1070
// Situation: a Rust program, mangled by the newer of the two schemes: generic methods, threads, maps.
// Holds: its own functions own their allocations, and not those of Rust's library.
// Build: rustc -O -g -C symbol-mangling-version=v0 -o program $SOURCE
// Owner: rust_program::shop::Book<_>
mod shop {
    pub struct Book<T> {
        pub rows: Vec<T>,
        pub names: std::collections::HashMap<String, usize>,
    }
    impl<T: Clone> Book<T> {
        #[inline(never)]
        pub fn add(&mut self, row: T, name: &str) {
            self.names.insert(name.to_string(), self.rows.len());
            self.rows.push(row);
        }
    }
}
fn main() {
    let mut book = shop::Book::<String> { rows: vec![], names: Default::default() };
    for i in 0..3000 {
        book.add(format!("a row of the book with number {}", i), &format!("name {}", i));
    }
    let texts = |i: i32| (0..500).map(|k| format!("{}-{}", i, k)).collect::<Vec<String>>().len();
    let threads: Vec<_> = (0..4).map(|i| std::thread::spawn(move || texts(i))).collect();
    let sum: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
    println!("{} {}", book.names.len(), sum);
}
