//! The server as its own pages, API and jobs see it: one cheap handle.

use std::sync::Arc;

use stateward_model::alert::Rule;
use stateward_model::view::{
    AlertsPage, AuditPage, BreakerCard, CommandView, JobRow, LineageGraph, OrderRequest, Overview,
    SeriesAnswer, SeriesQuery, StateDetail, StateFacts, StatesPage, StatesQuery,
};
use tokio::runtime::Handle;
use tokio::sync::broadcast;

use crate::core::Core;
use crate::error::ApiError;
use crate::ingest::InProcess;
use crate::live::LiveEvent;
use crate::{alert, audit, breaker, control, query};

/// The running server. Cloning is cheap; every clone is the same server.
///
/// All answers are those of the HTTP API, without the HTTP. Errors are [`ApiError`]s whose
/// [`problem`](ApiError::problem) the API would have sent.
#[derive(Clone, Debug)]
pub struct App {
    core: Arc<Core>,
    runtime: Handle,
}

impl App {
    pub(crate) fn new(core: Arc<Core>, runtime: Handle) -> Self {
        Self { core, runtime }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Answers the overview page.
    ///
    /// # Errors
    /// Where the database refuses.
    pub async fn overview(&self) -> Result<Overview, ApiError> {
        query::overview(&self.core).await
    }

    /// Answers one page of the ranking.
    ///
    /// # Errors
    /// For an unknown column, a filter that cannot be parsed, a limit or cursor out of bounds.
    #[expect(clippy::unused_async, reason = "all answers are asked for alike")]
    pub async fn states(&self, query: StatesQuery) -> Result<StatesPage, ApiError> {
        query::states(&self.core, &query)
    }

    /// Answers the page of one state.
    ///
    /// # Errors
    /// Not found where the job has not reported such a state.
    pub async fn state(
        &self,
        namespace: &str,
        job: &str,
        operator: &str,
        state: &str,
    ) -> Result<StateDetail, ApiError> {
        query::detail(&self.core, [namespace, job, operator, state]).await
    }

    /// Answers what the tab of a state's TTL and cleanup shows.
    ///
    /// # Errors
    /// For an unknown job or state.
    pub async fn facts(&self, of: &[String; 4]) -> Result<StateFacts, ApiError> {
        query::facts(&self.core, of.each_ref().map(String::as_str)).await
    }

    /// Answers the lines of a chart.
    ///
    /// # Errors
    /// For an unknown figure, or a range or number of points out of bounds.
    pub async fn series(&self, query: SeriesQuery) -> Result<SeriesAnswer, ApiError> {
        query::series(&self.core, &query).await
    }

    /// Answers the lineage graph of a job.
    ///
    /// # Errors
    /// Not found where there is no such job.
    #[expect(clippy::unused_async, reason = "all answers are asked for alike")]
    pub async fn lineage(&self, namespace: &str, job: &str) -> Result<LineageGraph, ApiError> {
        query::lineage(&self.core, namespace, job)
    }

    /// Lists the jobs.
    ///
    /// # Errors
    /// None today.
    #[expect(clippy::unused_async, reason = "all answers are asked for alike")]
    pub async fn jobs(&self) -> Result<Vec<JobRow>, ApiError> {
        Ok(query::jobs(&self.core))
    }

    /// Answers the alerts page.
    ///
    /// # Errors
    /// Where the database refuses.
    pub async fn alerts(&self) -> Result<AlertsPage, ApiError> {
        alert::page(&self.core).await
    }

    /// Stores a new rule; its id is chosen here.
    ///
    /// # Errors
    /// For a rule that cannot be used, or a name that exists.
    pub async fn create_rule(&self, rule: Rule, actor: &str) -> Result<Rule, ApiError> {
        alert::create(&self.core, rule, actor).await
    }

    /// Replaces a rule.
    ///
    /// # Errors
    /// For an unknown id, a rule that cannot be used, or a name that exists.
    pub async fn update_rule(&self, id: i64, rule: Rule, actor: &str) -> Result<Rule, ApiError> {
        alert::update(&self.core, id, rule, actor).await
    }

    /// Deletes a rule and its instances.
    ///
    /// # Errors
    /// For an unknown id.
    pub async fn delete_rule(&self, id: i64, actor: &str) -> Result<(), ApiError> {
        alert::delete(&self.core, id, actor).await
    }

    /// Lists rules that a person may want; their id is 0.
    ///
    /// # Errors
    /// None today.
    #[expect(clippy::unused_async, reason = "all answers are asked for alike")]
    pub async fn presets(&self) -> Result<Vec<Rule>, ApiError> {
        Ok(alert::presets())
    }

    /// Lists the breakers that are not closed, or that a command is on its way to.
    ///
    /// # Errors
    /// Where the database refuses.
    pub async fn breakers(&self) -> Result<Vec<BreakerCard>, ApiError> {
        breaker::breakers(&self.core).await
    }

    /// Orders something about a state: its breaker, its TTL; the engine takes it when it asks.
    ///
    /// # Errors
    /// For an unknown job or state, a missing reason, or an order that cannot be carried out.
    pub async fn order(
        &self,
        namespace: &str,
        job: &str,
        operator: &str,
        state: &str,
        request: OrderRequest,
        actor: &str,
    ) -> Result<CommandView, ApiError> {
        control::order(&self.core, [namespace, job, operator, state], request, actor).await
    }

    /// Lists the audit log, newest first, from below `cursor`; `limit` is 1 to 1000.
    ///
    /// # Errors
    /// For a limit out of bounds.
    pub async fn audit(&self, cursor: Option<i64>, limit: u32) -> Result<AuditPage, ApiError> {
        audit::page(&self.core, cursor, limit).await
    }

    /// Subscribes to what changes from now on.
    pub fn live(&self) -> broadcast::Receiver<LiveEvent> {
        self.core.live.subscribe()
    }

    /// Returns the way in for an engine in this process.
    pub fn ingest(&self) -> InProcess {
        InProcess::new(Arc::clone(&self.core), self.runtime.clone())
    }
}
