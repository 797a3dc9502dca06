//! Writes an ELF shared object with symbols and no code: a file that the loader accepts, from its own name, the
//! library that it needs and the names of its symbols. The addresses are set once it is loaded.

/// The ELF number of this processor's architecture; `None` for an architecture on which [`shared_object`] was
/// not tested.
pub(super) const ELF_MACHINE: Option<u16> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else {
    None
};

/// The name of the symbol whose address is that of the object's symbol table. In that table, entry 0 is
/// unused, and entry 1 is the first of the symbols that [`shared_object`] gets.
pub(super) const TABLE_SYMBOL: &str = "gpubench_symbols";

/// The alignment of the loaded segment, in bytes: the largest page size of these processors.
const SEGMENT_ALIGNMENT: u64 = 64 << 10;
/// The size of the ELF header, in bytes.
const HEADER_SIZE: usize = 64;
/// The size of an entry of the program header table, in bytes.
const SEGMENT_ENTRY_SIZE: usize = 56;
/// The size of an entry of the dynamic section, in bytes.
const DYNAMIC_ENTRY_SIZE: usize = 16;
/// The size of an entry of the symbol table, in bytes.
const SYMBOL_ENTRY_SIZE: usize = size_of::<ElfSymbol>();
/// The number of entries of the program header table.
const SEGMENT_COUNT: usize = 3;
/// The number of entries of the dynamic section.
const DYNAMIC_COUNT: usize = 8;

/// The kind of a symbol: `STB_GLOBAL` and `STT_FUNC`.
const GLOBAL_FUNCTION: u8 = 1 << 4 | 2;
/// The section number of a symbol without an address.
const UNDEFINED_SECTION: u16 = 0;
/// The section number of a symbol whose address is relative to the object. Any number will do, since the
/// object has no sections.
const ANY_SECTION: u16 = 1;
/// The section number of a symbol with an absolute address (`SHN_ABS`), which glibc supports since 2.28.
const ABSOLUTE_SECTION: u16 = 0xfff1;

/// An entry of the ELF symbol table.
#[repr(C)]
pub(super) struct ElfSymbol {
    name: u32,
    kind: u8,
    visibility: u8,
    section: u16,
    value: u64,
    size: u64,
}

impl ElfSymbol {
    /// Sets the symbol's absolute address in this process. With `None` the symbol becomes undefined, so that
    /// the loader searches for the name in the library that the object needs.
    pub(super) fn set_address(&mut self, address: Option<usize>) {
        self.section = if address.is_some() { ABSOLUTE_SECTION } else { UNDEFINED_SECTION };
        self.value = address.unwrap_or_default() as u64;
    }
}

/// Returns the bytes of an ELF shared object without code. `machine` is its architecture ([`ELF_MACHINE`]),
/// `name` its `DT_SONAME`, and `needed` the library that it depends on (`DT_NEEDED`). Its symbol table has an
/// undefined function for each name in `symbols`, and [`TABLE_SYMBOL`] at the end.
pub(super) fn shared_object(machine: u16, name: &str, needed: &[u8], symbols: &[&str]) -> Vec<u8> {
    let mut strings = vec![0];
    let mut string = |bytes: &[u8]| {
        let at = strings.len();
        strings.extend_from_slice(bytes);
        strings.push(0);
        at
    };
    let (name, needed) = (string(name.as_bytes()), string(needed));
    let names: Vec<&[u8]> = symbols.iter().chain([&TABLE_SYMBOL]).map(|name| name.as_bytes()).collect();
    let places: Vec<usize> = names.iter().map(|name| string(name)).collect();

    // The parts of the file, in this order.
    let dynamic = HEADER_SIZE + SEGMENT_COUNT * SEGMENT_ENTRY_SIZE;
    let table = dynamic + DYNAMIC_COUNT * DYNAMIC_ENTRY_SIZE;
    let hash = table + SYMBOL_ENTRY_SIZE * (1 + names.len());
    let text = hash + 4 * (3 + 2 * names.len());
    let end = text + strings.len();

    let mut file = ElfFile(Vec::with_capacity(end));
    file.push_header(machine);
    // One segment, for the loader to read and write: it moves the addresses in the dynamic section.
    file.push_segment(1, 0, end, SEGMENT_ALIGNMENT);
    file.push_segment(2, dynamic, DYNAMIC_COUNT * DYNAMIC_ENTRY_SIZE, 8);
    // `PT_GNU_STACK`: without it the loader makes the stack executable.
    file.push_segment(0x6474_e551, 0, 0, 16);
    // SONAME, NEEDED, HASH, STRTAB, STRSZ, SYMTAB, SYMENT, and the end.
    let tags = [14, 1, 4, 5, 10, 6, 11, 0];
    for (tag, value) in
        tags.into_iter().zip([name, needed, hash, text, strings.len(), table, SYMBOL_ENTRY_SIZE, 0])
    {
        file.push_u64s([tag, value as u64]);
    }
    file.push_symbol(0, 0, UNDEFINED_SECTION, 0);
    let (last, others) = places.split_last().expect("the table's own name");
    others.iter().for_each(|place| file.push_symbol(*place, GLOBAL_FUNCTION, UNDEFINED_SECTION, 0));
    file.push_symbol(*last, GLOBAL_FUNCTION, ANY_SECTION, table);
    file.push_hash_table(&names);
    file.0.extend(strings);
    file.0
}

/// The bytes of an ELF file, written so far.
struct ElfFile(Vec<u8>);

impl ElfFile {
    /// Appends 16-bit values, little endian.
    fn push_u16s<const N: usize>(&mut self, values: [u16; N]) {
        self.0.extend(values.map(u16::to_le_bytes).as_flattened());
    }

    /// Appends 32-bit values, little endian.
    fn push_u32s<const N: usize>(&mut self, values: [u32; N]) {
        self.0.extend(values.map(u32::to_le_bytes).as_flattened());
    }

    /// Appends 64-bit values, little endian.
    fn push_u64s<const N: usize>(&mut self, values: [u64; N]) {
        self.0.extend(values.map(u64::to_le_bytes).as_flattened());
    }

    /// Appends the ELF header of a 64-bit, little-endian shared object without sections, whose program header
    /// table comes right after the header.
    fn push_header(&mut self, machine: u16) {
        self.0.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        self.push_u16s([3, machine]);
        self.push_u32s([1]);
        self.push_u64s([0, HEADER_SIZE as u64, 0]);
        self.push_u32s([0]);
        self.push_u16s([HEADER_SIZE as u16, SEGMENT_ENTRY_SIZE as u16, SEGMENT_COUNT as u16, 64, 0, 0]);
    }

    /// Appends an entry of the program header table: a readable and writable segment of this `kind`
    /// (`p_type`), which is the `bytes` of the file after offset `from`.
    fn push_segment(&mut self, kind: u32, from: usize, bytes: usize, alignment: u64) {
        self.push_u32s([kind, 4 | 2]);
        let (from, bytes) = (from as u64, bytes as u64);
        self.push_u64s([from, from, from, bytes, bytes, alignment]);
    }

    /// Appends an entry of the symbol table. `name` is the offset of the name in the string table, and
    /// `value` the address.
    fn push_symbol(&mut self, name: usize, kind: u8, section: u16, value: usize) {
        self.push_u32s([name as u32]);
        self.0.extend([kind, 0]);
        self.push_u16s([section]);
        self.push_u64s([value as u64, 0]);
    }

    /// Appends the hash table in which the loader looks up `names`: for each bucket the first symbol, and for
    /// each symbol the next one in the same bucket.
    fn push_hash_table(&mut self, names: &[&[u8]]) {
        let count = names.len();
        let (mut first, mut next) = (vec![0; count], vec![0; count + 1]);
        for (index, name) in names.iter().enumerate() {
            let bucket = hash_name(name) as usize % count;
            next[index + 1] = std::mem::replace(&mut first[bucket], index as u32 + 1);
        }
        self.push_u32s([count as u32, count as u32 + 1]);
        first.into_iter().chain(next).for_each(|word| self.push_u32s([word]));
    }
}

/// Returns the hash of a symbol name, as the System V ABI defines it.
fn hash_name(name: &[u8]) -> u32 {
    name.iter().fold(0_u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        let top = hash & 0xf000_0000;
        (hash ^ top >> 24) & !top
    })
}

#[cfg(test)]
#[expect(unsafe_code, reason = "writes a table of symbols, as `interpose` does")]
mod tests {
    use super::*;
    use crate::interpose::{LoadedObject, is_loaded};

    /// Loads an object that needs the C library, which every program has.
    fn load(name: &str, symbols: &[&str]) -> LoadedObject {
        let machine = ELF_MACHINE.expect("tests run where objects can be loaded");
        LoadedObject::new(name, &shared_object(machine, name, b"libc.so.6", symbols))
            .expect("it is well made")
    }

    fn set(object: &LoadedObject, index: usize, address: Option<usize>) {
        let table = object.symbol(TABLE_SYMBOL).expect("every object has it").cast::<ElfSymbol>();
        // SAFETY: the object has this symbol behind the unused one, and only this thread looks names of it up.
        unsafe { (*table.add(1 + index)).set_address(address) };
    }

    #[test]
    fn an_object_is_found_by_its_name() {
        assert!(!is_loaded("libgpubench-first.so.1"));
        load("libgpubench-first.so.1", &[]);
        assert!(is_loaded("libgpubench-first.so.1"));
    }

    #[test]
    fn a_symbol_has_its_address_or_that_of_the_needed_library() {
        let object = load("libgpubench-second.so.1", &["getpid", "gpubench_nowhere"]);
        let getpid = object.symbol("getpid").expect("the C library has it");
        let address = |name| object.symbol(name).map(|address| address as usize);
        assert_eq!(address("gpubench_nowhere"), None);
        set(&object, 0, Some(0x1234));
        set(&object, 1, Some(0x5678));
        assert_eq!((address("getpid"), address("gpubench_nowhere")), (Some(0x1234), Some(0x5678)));
        assert!(address("getppid").is_some(), "what the object does not name");
        set(&object, 0, None);
        set(&object, 1, None);
        assert_eq!((address("getpid"), address("gpubench_nowhere")), (Some(getpid as usize), None));
    }

    #[test]
    fn every_one_of_many_symbols_is_found() {
        let names: Vec<String> = (0..1000).map(|number| format!("gpubench_{number}")).collect();
        let object = load("libgpubench-third.so.1", &names.iter().map(String::as_str).collect::<Vec<_>>());
        (0..names.len()).for_each(|index| set(&object, index, Some(0x1000 + index)));
        for (index, name) in names.iter().enumerate() {
            assert_eq!(object.symbol(name).map(|address| address as usize), Some(0x1000 + index), "{name}");
        }
    }

    /// Compares with the results of the function that the System V ABI prints.
    #[test]
    fn names_are_hashed_as_the_loader_does() {
        assert_eq!((hash_name(b""), hash_name(b"printf"), hash_name(b"exit")), (0, 0x0779_05a6, 0x0006_cf04));
        assert_eq!(hash_name(b"a_long_name_of_a_function"), 0x0eea_e67e);
    }
}
