//! The fenced blocks of a page. A test takes each of them; one that no test takes fails its test.

use std::fs;
use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A page whose blocks are taken one by one.
pub(crate) struct Page {
    path: &'static str,
    blocks: Vec<Block>,
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    language: String,
    pub(crate) text: String,
    /// The file that the block is: a comment in its first line names it, or the paragraph before it.
    pub(crate) file: Option<String>,
}

impl Page {
    /// Reads the page at `path`, relative to the workspace.
    pub(crate) fn read(path: &'static str) -> Self {
        let text = fs::read_to_string(workspace().join(path)).expect("a page");
        Self { path, blocks: blocks(&text) }
    }

    /// Takes the first block of `language` that contains `part`.
    #[track_caller]
    pub(crate) fn take(&mut self, language: &str, part: &str) -> Block {
        let wanted = |block: &Block| block.language == language && block.text.contains(part);
        let Some(place) = self.blocks.iter().position(wanted) else {
            panic!("{} has no {language} block with `{part}`", self.path)
        };
        self.blocks.remove(place)
    }

    /// Takes all blocks that are files.
    pub(crate) fn take_files(&mut self) -> Vec<Block> {
        self.blocks.extract_if(.., |block| block.file.is_some()).collect()
    }

    /// # Panics
    /// If a block was not taken.
    #[track_caller]
    pub(crate) fn is_used_up(&self) {
        assert!(self.blocks.is_empty(), "no test uses these blocks of {}: {:#?}", self.path, self.blocks);
    }
}

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut within, mut named) = (false, Vec::new());
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                within = true;
                blocks.push(Block { language: language.into_string(), text: String::new(), file: None });
            }
            Event::Text(text) if within => blocks.last_mut().expect("it has begun").text += &text,
            Event::End(TagEnd::CodeBlock) => {
                within = false;
                let block = blocks.last_mut().expect("it has begun");
                block.file = file(block, &named);
                named.clear();
            }
            Event::Code(code) => named.push(code.into_string()),
            Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::List(_) | Tag::Table(_)) => {
                named.clear();
            }
            _ => {}
        }
    }
    blocks
}

/// Returns the file that a block is, if the paragraph before it has these words in code.
fn file(block: &Block, named: &[String]) -> Option<String> {
    let extension = match &*block.language {
        "cpp" => ".cu",
        "python" => ".py",
        "rust" => ".rs",
        "toml" => ".toml",
        _ => return None,
    };
    let first = block.text.lines().next().unwrap_or_default();
    let comment = first.strip_prefix("// ").or_else(|| first.strip_prefix("# "));
    let comment = comment.and_then(|words| words.split([':', ' ']).next()).map(str::to_owned);
    comment.into_iter().chain(named.iter().rev().cloned()).find(|name| name.ends_with(extension))
}
