//! The flights themselves, inside the program.

use std::fs;
use std::path::{Path, PathBuf};

use stateward_engine::Error;

const FLIGHTS: &[u8] = include_bytes!("../../data/nyc-flights/flights.csv.zst");

/// Writes the flights to `input/flights.csv.zst` of the data folder, unless they are there.
pub(super) fn unpack(data_dir: &Path) -> Result<PathBuf, Error> {
    let folder = data_dir.join("input");
    let path = folder.join("flights.csv.zst");
    if fs::read(&path).is_ok_and(|found| found == FLIGHTS) {
        return Ok(path);
    }
    fs::create_dir_all(&folder).map_err(Error::io("cannot make the folder", &folder))?;
    let half = folder.join(".flights.csv.zst.part");
    fs::write(&half, FLIGHTS)
        .and_then(|()| fs::rename(&half, &path))
        .map_err(Error::io("cannot write the flights to", &path))?;
    Ok(path)
}
