//! The pages. Each asks for its data, hands it to components, and knows its own URL.

mod shown;
mod act;
mod overview;
mod states;
mod state;
mod jobs;
mod lineage;
mod alerts;
mod breakers;
mod audit;
mod missing;

pub use alerts::AlertsView;
pub use audit::AuditView;
pub use breakers::BreakersView;
pub use jobs::JobsView;
pub use lineage::{LineageIndexView, LineageView};
pub use missing::MissingView;
pub use overview::OverviewView;
pub use state::StateView;
pub use states::{StatesView, states_csv};
