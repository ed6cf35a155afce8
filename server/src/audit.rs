//! The audit log, a page at a time.

use stateward_model::view::AuditPage;

use crate::core::Core;
use crate::db::control::audit;
use crate::error::ApiError;

const LIMIT_MAX: u32 = 1_000;

/// Lists lines below `cursor`, newest first.
pub(crate) async fn page(
    core: &Core,
    cursor: Option<i64>,
    limit: u32,
) -> Result<AuditPage, ApiError> {
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(ApiError::bad_request(format!("limit={limit}: use 1 to {LIMIT_MAX}")));
    }
    let limit = limit as usize;
    let below = cursor.unwrap_or(i64::MAX);
    let mut rows = audit::page(&core.control.readers, below, limit as i64 + 1).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| row.id);
    Ok(AuditPage { rows, next })
}
