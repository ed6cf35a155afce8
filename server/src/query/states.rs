//! The ranking: filter, sort, page.
//!
//! Rows have a total order: the sorted column, unknown values last whichever way, then the identity.
//! A cursor holds where a page ended in that order, so a page never repeats a row that did not move.

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use stateward_model::view::{STATE_SORTS, StateRow, StatesPage, StatesQuery};

use super::filter::{Filter, identity};
use super::row::{attention, rows};
use crate::core::Core;
use crate::db::control::as_word;
use crate::error::ApiError;

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1_000;

/// Value of the sorted column.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
enum Value {
    Number(f64),
    Text(String),
}

/// A value as a cursor holds it: a number by its bits, because decimal digits may round it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Bits(u64),
    Text(String),
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        match value {
            Value::Number(number) => Self::Bits(number.to_bits()),
            Value::Text(text) => Self::Text(text),
        }
    }
}

impl From<Written> for Value {
    fn from(written: Written) -> Self {
        match written {
            Written::Bits(bits) => Self::Number(f64::from_bits(bits)),
            Written::Text(text) => Self::Text(text),
        }
    }
}

/// Where a row stands: the order of fields is the order of comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    value: Option<Value>,
    of: String,
}

/// Where a page ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Cursor {
    sort: String,
    descending: bool,
    place: Place,
}

/// Answers one page.
pub(crate) fn states(core: &Core, query: &StatesQuery) -> Result<StatesPage, ApiError> {
    let now_millis = core.clock.now_millis();
    let firing = core.alerts.firing();
    let all = rows(&core.catalog.jobs(), &firing, now_millis);
    page(all, query, now_millis)
}

/// Filters, sorts and cuts; pure.
pub(crate) fn page(
    rows: Vec<StateRow>,
    query: &StatesQuery,
    at_millis: i64,
) -> Result<StatesPage, ApiError> {
    let sort = check_sort(query)?;
    let descending = check_order(query)?;
    let limit = check_limit(query)?;
    let filter = Filter::parse(query.filter.as_deref().unwrap_or_default())?;
    let mut rows: Vec<(Place, StateRow)> = rows
        .into_iter()
        .filter(|row| filter.matches(row))
        .map(|row| (Place { value: value(&row, sort), of: identity(&row) }, row))
        .collect();
    let total = rows.len() as u64;
    rows.sort_by(|(a, _), (b, _)| compare(a, b, descending));
    if let Some(cursor) = &query.cursor {
        let from = parse_cursor(cursor, sort, descending)?;
        rows.retain(|(place, _)| compare(place, &from, descending) == Ordering::Greater);
    }
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more).map(|(place, _)| place.clone());
    let next = last.map(|place| format_cursor(sort, descending, place)).transpose()?;
    let states = rows.into_iter().map(|(_, row)| row).collect();
    Ok(StatesPage { states, total, next, at_millis })
}

fn check_sort(query: &StatesQuery) -> Result<&'static str, ApiError> {
    let wanted = query.sort.as_deref().filter(|sort| !sort.is_empty()).unwrap_or("attention");
    STATE_SORTS.into_iter().find(|sort| *sort == wanted).ok_or_else(|| {
        let all = STATE_SORTS.join(", ");
        ApiError::bad_request(format!("sort={wanted:?}: sort by one of {all}"))
    })
}

fn check_order(query: &StatesQuery) -> Result<bool, ApiError> {
    match query.order.as_deref() {
        None | Some("" | "desc") => Ok(true),
        Some("asc") => Ok(false),
        Some(other) => Err(ApiError::bad_request(format!("order={other:?}: use asc or desc"))),
    }
}

fn check_limit(query: &StatesQuery) -> Result<usize, ApiError> {
    match query.limit.unwrap_or(LIMIT_DEFAULT) {
        limit @ 1..=LIMIT_MAX => Ok(limit as usize),
        other => Err(ApiError::bad_request(format!("limit={other}: use 1 to {LIMIT_MAX}"))),
    }
}

fn value(row: &StateRow, sort: &str) -> Option<Value> {
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    let number = |number: f64| Some(Value::Number(number));
    match sort {
        "state" => text(&row.state),
        "job" => text(&format!("{}/{}", row.namespace, row.job_name)),
        "operator" => text(&row.operator),
        "breaker" => text(&as_word(&row.breaker.phase)),
        "logical_bytes" => number(row.logical_bytes as f64),
        "disk_bytes" => number(row.disk_bytes as f64),
        "entries" => number(row.entries as f64),
        "bytes_per_entry" => row.bytes_per_entry.and_then(number),
        "growth_per_day" => row.growth_per_day.and_then(number),
        "miss_ratio" => row.miss_ratio.and_then(number),
        "oldest_age" => row.oldest_age_millis.and_then(|age| number(age as f64)),
        "writes_per_second" => row.writes_per_second.and_then(number),
        "ttl" => row.ttl_millis.and_then(|ttl| number(ttl as f64)),
        _ => number(attention(row)),
    }
}

fn compare(a: &Place, b: &Place, descending: bool) -> Ordering {
    let by_value = match (&a.value, &b.value) {
        (Some(a), Some(b)) => {
            let order = a.partial_cmp(b).unwrap_or(Ordering::Equal);
            if descending { order.reverse() } else { order }
        }
        (a, b) => a.is_none().cmp(&b.is_none()),
    };
    by_value.then_with(|| a.of.cmp(&b.of))
}

fn format_cursor(sort: &str, descending: bool, place: Place) -> Result<String, ApiError> {
    let cursor = Cursor { sort: sort.to_owned(), descending, place };
    let json = serde_json::to_vec(&cursor).map_err(|error| {
        ApiError::new(
            stateward_model::ProblemKind::Internal,
            format!("the cursor cannot be written: {error}"),
        )
    })?;
    Ok(URL_SAFE_NO_PAD.encode(json))
}

fn parse_cursor(text: &str, sort: &str, descending: bool) -> Result<Place, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let cursor = bytes.and_then(|bytes| serde_json::from_slice::<Cursor>(&bytes).ok());
    let cursor = cursor.filter(|cursor| cursor.sort == sort && cursor.descending == descending);
    cursor.map(|cursor| cursor.place).ok_or_else(|| {
        ApiError::bad_request("the cursor is not of this sort and order; start at the first page")
    })
}
