//! Bytes of append rows, chunks and histogram rows. Each begins with its format's number.
//!
//! - report: zstd of `count, [id delta]…` as varints, then the values as little-endian f64. Ids are
//!   sorted, and the same from one report to the next, so they cost next to nothing.
//! - chunk: length of the times as u32, then times and values, each compressed by pco.
//! - histograms: per histogram `sum, buckets, [bucket delta, count]…` as varints.

use pco::ChunkConfig;
use pco::standalone::{simple_compress, simple_decompress};
use stateward_model::{HISTOGRAM_BUCKETS, Histogram};

use super::{Sample, SeriesId};
use crate::db::DbError;

const FORMAT: u8 = 1;
/// Samples compress as well at this level as at the highest, and three times as fast.
const ZSTD_LEVEL: i32 = 1;
/// Series of one report: bounds what a damaged row can make the reader allocate.
const REPORT_BYTES_MAX: usize = 64 << 20;

/// Encodes the samples of one report.
pub(super) fn encode_report(samples: &mut [(SeriesId, f64)]) -> Result<Vec<u8>, DbError> {
    samples.sort_by_key(|(id, _)| *id);
    let mut plain = Vec::with_capacity(samples.len() * 10);
    put(&mut plain, samples.len() as u64);
    let mut last = 0;
    for (id, _) in samples.iter() {
        put(&mut plain, (id - last) as u64);
        last = *id;
    }
    for (_, value) in samples.iter() {
        plain.extend_from_slice(&value.to_le_bytes());
    }
    let mut body = vec![FORMAT];
    let packed = zstd::bulk::compress(&plain, ZSTD_LEVEL)
        .map_err(|error| DbError::damaged("append.body", error))?;
    body.extend_from_slice(&packed);
    Ok(body)
}

/// Decodes the samples of one report.
pub(super) fn decode_report(body: &[u8]) -> Result<Vec<(SeriesId, f64)>, DbError> {
    let damaged = || DbError::damaged("append.body", "unknown format or cut short");
    let packed = strip(body).ok_or_else(damaged)?;
    let plain = zstd::bulk::decompress(packed, REPORT_BYTES_MAX)
        .map_err(|error| DbError::damaged("append.body", error))?;
    let mut rest = plain.as_slice();
    let count = take(&mut rest).ok_or_else(damaged)? as usize;
    if count > plain.len() {
        return Err(damaged());
    }
    let mut ids = Vec::with_capacity(count);
    let mut last = 0;
    for _ in 0..count {
        last += take(&mut rest).ok_or_else(damaged)? as i64;
        ids.push(last);
    }
    let values = rest.chunks_exact(8).map(|bytes| {
        let mut value = [0; 8];
        value.copy_from_slice(bytes);
        f64::from_le_bytes(value)
    });
    if values.len() != count {
        return Err(damaged());
    }
    Ok(ids.into_iter().zip(values).collect())
}

/// Encodes a stretch of one series.
pub(super) fn encode_chunk(samples: &[Sample]) -> Result<Vec<u8>, DbError> {
    let config = ChunkConfig::default();
    let failed = |error| DbError::damaged("chunk.body", error);
    let times: Vec<i64> = samples.iter().map(|s| s.millis).collect();
    let values: Vec<f64> = samples.iter().map(|s| s.value).collect();
    let times = simple_compress(&times, &config).map_err(failed)?;
    let values = simple_compress(&values, &config).map_err(failed)?;
    let mut body = vec![FORMAT];
    body.extend_from_slice(&(times.len() as u32).to_le_bytes());
    body.extend_from_slice(&times);
    body.extend_from_slice(&values);
    Ok(body)
}

/// Decodes a stretch of one series.
pub(super) fn decode_chunk(body: &[u8]) -> Result<Vec<Sample>, DbError> {
    let damaged = || DbError::damaged("chunk.body", "unknown format or cut short");
    let failed = |error| DbError::damaged("chunk.body", error);
    let rest = strip(body).ok_or_else(damaged)?;
    let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
    let (times, values) =
        rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(damaged)?;
    let times: Vec<i64> = simple_decompress(times).map_err(failed)?;
    let values: Vec<f64> = simple_decompress(values).map_err(failed)?;
    if times.len() != values.len() {
        return Err(damaged());
    }
    let samples = times.into_iter().zip(values);
    Ok(samples.map(|(millis, value)| Sample { millis, value }).collect())
}

/// Encodes the histograms of one owner.
pub(super) fn encode_histograms(histograms: &[Histogram]) -> Vec<u8> {
    let mut body = vec![FORMAT];
    for histogram in histograms {
        put(&mut body, histogram.sum);
        put(&mut body, histogram.buckets.len() as u64);
        let mut last = 0;
        for (bucket, count) in &histogram.buckets {
            put(&mut body, u64::from(bucket - last));
            put(&mut body, *count);
            last = *bucket;
        }
    }
    body
}

/// Decodes the histograms of one owner.
pub(super) fn decode_histograms(body: &[u8]) -> Result<Vec<Histogram>, DbError> {
    let damaged = || DbError::damaged("histogram.body", "unknown format or cut short");
    let mut rest = strip(body).ok_or_else(damaged)?;
    let mut histograms = Vec::new();
    while !rest.is_empty() {
        histograms.push(decode_histogram(&mut rest).ok_or_else(damaged)?);
    }
    Ok(histograms)
}

fn decode_histogram(rest: &mut &[u8]) -> Option<Histogram> {
    let sum = take(rest)?;
    let count = take(rest)? as usize;
    if count > HISTOGRAM_BUCKETS {
        return None;
    }
    let mut buckets = Vec::with_capacity(count);
    let mut bucket = 0_u64;
    for _ in 0..count {
        bucket += take(rest)?;
        buckets.push((u16::try_from(bucket).ok()?, take(rest)?));
    }
    Some(Histogram { buckets, sum })
}

fn strip(body: &[u8]) -> Option<&[u8]> {
    body.split_first().filter(|(format, _)| **format == FORMAT).map(|(_, rest)| rest)
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
