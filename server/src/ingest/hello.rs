//! An engine says who it is.

use std::sync::Arc;

use stateward_model::wire::{HelloReply, PROTOCOL};

use super::decode::decode_hello;
use crate::core::Core;
use crate::db::control::run;
use crate::error::ApiError;

/// Stores a hello; the run's reports are taken from now on.
pub(crate) async fn hello(core: &Arc<Core>, body: &[u8]) -> Result<HelloReply, ApiError> {
    let hello = Arc::new(decode_hello(body, core.config.body_bytes_max)?);
    let now_millis = core.clock.now_millis();
    check_other_run(core, &hello.run, hello.namespace.as_str(), hello.job_name.as_str())?;
    let stored = Arc::clone(&hello);
    let (run_id, last_seq) = core
        .control
        .writer
        .run(move |connection| {
            Box::pin(async move {
                let known = run::upsert(connection, &stored, now_millis).await?;
                let (namespace, job_name) = (&stored.namespace, &stored.job_name);
                run::prune(connection, namespace.as_str(), job_name.as_str()).await?;
                Ok(known)
            })
        })
        .await?;
    tracing::info!(run = %hello.run, job = %hello.job_name, "job {} said hello", hello.job_name);
    core.catalog.hear(run_id, hello);
    Ok(HelloReply { protocol: PROTOCOL, stored_seq: last_seq.map(|seq| seq as u64) })
}

/// A run belongs to one job for good.
fn check_other_run(
    core: &Core,
    run: &str,
    namespace: &str,
    job_name: &str,
) -> Result<(), ApiError> {
    match core.catalog.run(run) {
        Some(known) if known.job.0 != namespace || known.job.1 != job_name => {
            Err(ApiError::conflict(format!(
                "run {run} is of job {}/{}, not of {namespace}/{job_name}; make a new UUIDv7 for \
                 every start",
                known.job.0, known.job.1
            )))
        }
        _ => Ok(()),
    }
}
