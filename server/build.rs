//! Embeds the browser's part of the pages where `cargo xtask web` has built it.
//!
//! Looks at `STATEWARD_WEB_PKG`, else at `target/web/pkg` of the workspace. Without a bundle the
//! server is built all the same, and its pages are not hydrated.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-env-changed=STATEWARD_WEB_PKG");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..");
    let folder = env::var_os("STATEWARD_WEB_PKG")
        .map_or_else(|| workspace.join("target/web/pkg"), PathBuf::from);
    let names = ["web.js", "web.js.br", "web_bg.wasm", "web_bg.wasm.br"];
    for name in names {
        println!("cargo:rerun-if-changed={}", folder.join(name).display());
    }
    let bundle = if folder.join("web.js").exists() && folder.join("web_bg.wasm").exists() {
        let [js, js_br, wasm, wasm_br] = names.map(|name| folder.join(name));
        format!(
            "Some(Bundle {{ js: {}, js_br: {}, wasm: {}, wasm_br: {} }})",
            embed(&out, &js)?,
            embed_if_there(&out, &js_br)?,
            embed(&out, &wasm)?,
            embed_if_there(&out, &wasm_br)?,
        )
    } else {
        "None".to_owned()
    };
    let code = format!("static BUNDLE: Option<Bundle> = {bundle};\n");
    fs::write(out.join("bundle.rs"), code)?;
    Ok(())
}

/// Copies a file beside the generated code, so that what is compiled cannot change underneath.
fn embed(out: &Path, file: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let name = file.file_name().ok_or("a bundle file has no name")?;
    let copy = out.join(name);
    fs::copy(file, &copy)?;
    Ok(format!("include_bytes!({:?})", copy.to_string_lossy()))
}

fn embed_if_there(out: &Path, file: &Path) -> Result<String, Box<dyn std::error::Error>> {
    if file.exists() { Ok(format!("Some({})", embed(out, file)?)) } else { Ok("None".to_owned()) }
}
