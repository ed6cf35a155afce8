//! Layers and bounds of the configuration.

use super::*;

fn layered(file: Option<&str>, env: &[(&str, &str)], flags: &Overrides) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stateward.toml");
    if let Some(text) = file {
        std::fs::write(&path, text).unwrap();
    }
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::layered(file.map(|_| path.as_path()), env, flags).map_err(|error| error.to_string())
}

#[test]
fn the_documented_defaults_are_valid() {
    let config = layered(None, &[], &Overrides::default()).unwrap();
    assert_eq!(config.listen, "127.0.0.1:7077".parse().unwrap());
    assert_eq!(config.body_bytes_max, 16 << 20);
    assert_eq!(config.retention, Retention { raw_days: 7, downsampled_days: 40 });
}

/// DESIGN, Commands: flag > environment > file > default.
#[test]
fn later_layers_win() {
    let file = "[server]\nport = 1\n[retention]\nraw_days = 3\n";
    let env = [("STATEWARD__SERVER__PORT", "2"), ("STATEWARD__DATA__DIR", "/x/y"), ("HOME", "/")];
    let config = layered(Some(file), &env, &Overrides::default()).unwrap();
    assert_eq!((config.listen.port(), config.retention.raw_days), (2, 3));
    assert_eq!(config.data_dir, PathBuf::from("/x/y"));
    let flags = Overrides { port: Some(3), ..Overrides::default() };
    assert_eq!(layered(Some(file), &env, &flags).unwrap().listen.port(), 3);
    let flags = Overrides { listen: Some("[::1]:4".into()), ..Overrides::default() };
    assert_eq!(layered(Some(file), &env, &flags).unwrap().listen, "[::1]:4".parse().unwrap());
}

#[test]
fn mistakes_are_named_with_their_place() {
    type Case<'a> = (Option<&'a str>, &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 6] = [
        (Some("[server]\nprot = 1\n"), &[], "unknown key server.prot"),
        (Some("[serve]\nport = 1\n"), &[], "unknown section [serve]"),
        (None, &[("STATEWARD__SERVER__PROT", "1")], "environment: unknown key server.prot"),
        (None, &[("STATEWARD__PORT", "1")], "expected STATEWARD__SECTION__KEY"),
        (Some("[retention]\nraw_days = 7\ndownsampled_days = 7\n"), &[], "at least 35 days"),
        (Some("[server]\nlisten = \"0.0.0.0\"\n"), &[], "authentication does not exist yet"),
    ];
    for (file, env, expected) in cases {
        let error = layered(file, env, &Overrides::default()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
