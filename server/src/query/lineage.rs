//! The lineage graph of one job.

use stateward_model::view::LineageGraph;

use super::row::row;
use crate::core::Core;
use crate::error::ApiError;

/// Answers the graph.
pub(crate) fn lineage(
    core: &Core,
    namespace: &str,
    job_name: &str,
) -> Result<LineageGraph, ApiError> {
    let now_millis = core.clock.now_millis();
    let firing = core.alerts.firing();
    let jobs = core.catalog.jobs();
    let job = jobs.get(&(namespace.to_owned(), job_name.to_owned())).ok_or_else(|| {
        ApiError::not_found(format!("no job {namespace}/{job_name} has said hello here"))
    })?;
    Ok(LineageGraph {
        namespace: namespace.to_owned(),
        job_name: job_name.to_owned(),
        nodes: job.run.hello.nodes.clone(),
        edges: job.run.hello.edges.clone(),
        edge_rates: job.edge_rates(),
        states: job.states().map(|state| row(job, state, &firing, now_millis)).collect(),
    })
}
