//! PTX as far as the fake reads it.

use crate::code::{Code, INVALID_PTX, UNSUPPORTED_PTX_VERSION};

/// The newest ISA that this driver compiles.
const NEWEST_ISA: (u32, u32) = (9, 0);

/// A kernel as its module declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The size of each parameter in bytes.
    pub(crate) parameters: Vec<usize>,
    /// The shared memory that a block declares, in bytes.
    pub(crate) shared: usize,
    /// The local memory that a thread declares, in bytes. What its compiler would spill is not known.
    pub(crate) local: usize,
    /// The registers that `.maxnreg` allows; usually [`REGISTERS`].
    pub(crate) registers: usize,
}

/// The registers of a thread, whatever it does.
const REGISTERS: usize = 32;

/// Why a text is not compiled: what the call returns, and the compiler's words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) log: String,
}

/// The entries of a module, for a GPU of this compute capability, times 10.
pub(crate) fn entries(text: &str, capability: u32) -> Result<Vec<Entry>, Refusal> {
    let text: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .fold(String::new(), |text, line| text + line + "\n");
    let refuse = |code, why: String| Refusal {
        code,
        log: format!("ptxas application ptx input, line 1; fatal   : {why}"),
    };
    let directive = |name: &str| text.split_once(name)?.1.split_whitespace().next();
    let version = directive(".version").and_then(|version| {
        let (major, minor) = version.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    let version = version
        .ok_or_else(|| refuse(INVALID_PTX, "Missing .version directive at start of file".to_owned()))?;
    if version > NEWEST_ISA {
        let ((major, minor), newest) = (version, NEWEST_ISA);
        let why =
            format!("Unsupported .version {major}.{minor}; current version is '{}.{}'", newest.0, newest.1);
        return Err(refuse(UNSUPPORTED_PTX_VERSION, why));
    }
    let target = directive(".target").unwrap_or("").trim_end_matches(',');
    let digits = target.trim_start_matches("sm_").trim_end_matches(char::is_alphabetic);
    let Ok(number) = digits.parse::<u32>() else {
        return Err(refuse(INVALID_PTX, format!("Unsupported .target '{target}'")));
    };
    if number > capability {
        let log = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";
        return Err(Refusal { code: INVALID_PTX, log: log.to_owned() });
    }
    Ok(text.split(".entry").skip(1).filter_map(entry).collect())
}

/// Reads the text behind `.entry`.
fn entry(text: &str) -> Option<Entry> {
    let (head, body) = text.split_once('{').unwrap_or((text, ""));
    let name = head.split(|c: char| c.is_whitespace() || c == '(').find(|word| !word.is_empty())?;
    let parameters =
        head.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inside, _)| inside);
    let parameters = parameters.split(".param").skip(1).map(size).collect();
    let declared = |space: &str| {
        // The rest are instructions, such as `ld.shared.u32`.
        let lines = body.lines().filter_map(|line| line.trim().strip_prefix(space));
        lines.filter(|rest| rest.starts_with(' ')).map(size).sum()
    };
    let most = head.split_once(".maxnreg").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    let (shared, local, registers) = (declared(".shared"), declared(".local"), most.unwrap_or(REGISTERS));
    Some(Entry { name: name.to_owned(), parameters, shared, local, registers })
}

/// The size of what stands behind `.param`, such as `.align 8 .b8 name[16]`.
fn size(parameter: &str) -> usize {
    let kind = parameter.split_whitespace().find_map(|word| {
        let bits = word.strip_prefix('.')?.trim_start_matches(['u', 's', 'f', 'b']);
        bits.parse::<usize>().ok()
    });
    let length =
        parameter.split_once('[').and_then(|(_, rest)| rest.split_once(']')?.0.trim().parse::<usize>().ok());
    kind.unwrap_or(64) / 8 * length.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_their_parameters_are_found() {
        let text = "// .entry none\n.version 7.7\n.target sm_70\n.visible .entry a(\n.param .u64 x, // .param\n.param .f32 y\n)\n{ ret; }\n\
                    .entry b() {}\n.entry c(.param .align 8 .b8 p[24]) {}";
        let entry = |name: &str, parameters: &[usize]| Entry {
            name: name.to_owned(),
            parameters: parameters.to_vec(),
            shared: 0,
            local: 0,
            registers: REGISTERS,
        };
        assert_eq!(entries(text, 90), Ok(vec![entry("a", &[8, 4]), entry("b", &[]), entry("c", &[24])]));
    }

    #[test]
    fn what_a_kernel_takes_of_a_multiprocessor_is_what_it_declares() {
        let text = ".version 7.7\n.target sm_70\n.entry a() .maxnreg 128\n{\n.shared .align 4 .b8 s[4096];\n\
                    .local .align 16 .b8 depot[64];\nld.shared.u32 %r1, [s];\n.shared .f32 one;\nret; }\n.entry b() {}";
        let found = entries(text, 90).expect("it is compiled");
        let found: Vec<_> = found.iter().map(|it| (it.shared, it.local, it.registers)).collect();
        assert_eq!(found, [(4100, 64, 128), (0, 0, REGISTERS)]);
    }

    #[test]
    fn what_a_driver_refuses_is_refused() {
        let code = |text| entries(text, 90).expect_err("it is refused").code;
        assert_eq!(code(".version 99.0\n.target sm_70"), UNSUPPORTED_PTX_VERSION);
        assert_eq!(code(".version 7.0\n.target sm_120"), INVALID_PTX);
        assert_eq!(code("nonsense"), INVALID_PTX);
    }
}
