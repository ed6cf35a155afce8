//! Answering: from memory and series to the view types of the model. Nothing here writes.

mod range;
mod row;
mod filter;
mod states;
mod figure;
mod series;
mod detail;
mod overview;
mod jobs;
mod lineage;
mod federate;
#[cfg(test)]
mod tests;

pub(crate) use detail::{detail, facts};
pub(crate) use federate::federate;
pub(crate) use filter::identity;
pub(crate) use jobs::jobs;
pub(crate) use lineage::lineage;
pub(crate) use overview::overview;
pub(crate) use row::{Firing, rows};
pub(crate) use series::series;
pub(crate) use states::states;
