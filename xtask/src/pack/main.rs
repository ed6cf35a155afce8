//! Makes the web bundle: `xtask-pack INPUT.wasm OUT`.
//!
//! Reads the compiled pages, writes `web.js` and `web_bg.wasm` for the browser, and a brotli copy
//! beside every file, because the server sends them as they are. Exit code 1 means that the wasm
//! has become larger than allowed.

#![expect(clippy::print_stderr, reason = "a command-line program prints")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

/// The largest compressed wasm that we hand to a browser.
const WASM_BROTLI_BYTES_MAX: usize = 350_000;

fn main() -> ExitCode {
    match pack() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask-pack: {error:#}");
            ExitCode::from(if error.is::<TooLarge>() { 1 } else { 3 })
        }
    }
}

#[derive(Debug)]
struct TooLarge(usize);

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(bytes) = self;
        write!(
            f,
            "web_bg.wasm.br has {bytes} bytes, {WASM_BROTLI_BYTES_MAX} are allowed: find what the pages took in"
        )
    }
}

impl std::error::Error for TooLarge {}

fn pack() -> Result<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(input), Some(out), None) = (args.next(), args.next(), args.next()) else {
        bail!("usage: xtask-pack INPUT.wasm OUT");
    };
    Bindgen::new()
        .input_path(&input)
        .web(true)?
        .typescript(false)
        // Function names are two thirds of the file, and only a debugger reads them.
        .remove_name_section(true)
        .remove_producers_section(true)
        .out_name("web")
        .generate(&out)
        .with_context(|| format!("wasm-bindgen on {}", input.display()))?;
    for file in files(&out)? {
        let content = fs::read(&file)?;
        let compressed = brotli_of(&content)?;
        let mut name = file.clone().into_os_string();
        name.push(".br");
        fs::write(name, &compressed)?;
        let shown = file.strip_prefix(&out).unwrap_or(&file).display();
        eprintln!("      {shown}: {} bytes, brotli {}", content.len(), compressed.len());
        if file.ends_with("web_bg.wasm") && compressed.len() > WASM_BROTLI_BYTES_MAX {
            return Err(TooLarge(compressed.len()).into());
        }
    }
    Ok(())
}

fn brotli_of(content: &[u8]) -> Result<Vec<u8>> {
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 1 << 16, 11, 24);
    writer.write_all(content)?;
    writer.flush()?;
    Ok(writer.into_inner())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brotli_gives_the_content_back() {
        let content = b"state is debt ".repeat(1000);
        let compressed = brotli_of(&content).unwrap();
        let mut back = Vec::new();
        brotli::BrotliDecompress(&mut compressed.as_slice(), &mut back).unwrap();
        assert_eq!(back, content);
        assert!(compressed.len() < 100);
    }
}
