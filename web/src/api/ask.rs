//! What pages ask and do, and the path of the API that stands for it.

use stateward_model::alert::Rule;
use stateward_model::view::{OrderRequest, SeriesQuery, StatesQuery};

use crate::route::{Range, encode, with_query};

/// Something to read.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// `GET /api/v1/overview`.
    Overview,
    /// `GET /api/v1/states`.
    States(StatesQuery),
    /// `GET /api/v1/states/{ns}/{job}/{operator}/{state}`.
    State([String; 4]),
    /// HTML that the server makes: `GET /ui/panels/{ns}/{job}/{operator}/{state}`, with the query of
    /// the page.
    Panel([String; 4], String),
    /// `GET /api/v1/series`.
    Series(SeriesQuery),
    /// The same over a range that may move with the clock: becomes a `Series` when it is asked.
    Over(SeriesQuery, Range),
    /// `GET /api/v1/lineage/{ns}/{job}`.
    Lineage(String, String),
    /// `GET /api/v1/jobs`.
    Jobs,
    /// `GET /api/v1/alerts`.
    Alerts,
    /// `GET /api/v1/alerts/presets`.
    Presets,
    /// `GET /api/v1/breakers`.
    Breakers,
    /// `GET /api/v1/audit`.
    Audit,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// `POST /api/v1/alerts/rules`, or `PUT` where the rule has an id.
    SaveRule(Rule),
    /// `DELETE /api/v1/alerts/rules/{id}`.
    DeleteRule(i64),
    /// `POST /api/v1/states/{ns}/{job}/{operator}/{state}/orders`.
    Breaker([String; 4], OrderRequest),
}

fn segments(of: &[String; 4]) -> String {
    of.each_ref().map(|part| encode(part)).join("/")
}

impl Ask {
    /// Fixes a moving range to a time.
    #[must_use]
    pub fn at(self, now_millis: i64) -> Self {
        match self {
            Self::Over(query, range) => {
                let (from, to) = range.bounds(now_millis);
                Self::Series(SeriesQuery { from: Some(from), to: Some(to), ..query })
            }
            ask => ask,
        }
    }

    /// What tells one question from another: the path, and the range as the page's URL has it.
    pub fn name(&self) -> String {
        match self {
            Self::Over(_, range) => {
                let (from, to) = range.query();
                format!("{} {from} {to}", self.path())
            }
            _ => self.path(),
        }
    }

    /// The path of the API.
    pub fn path(&self) -> String {
        match self {
            Self::Overview => "/api/v1/overview".into(),
            Self::States(query) => states(query),
            Self::State(of) => format!("/api/v1/states/{}", segments(of)),
            Self::Panel(of, query) => format!("/ui/panels/{}?{query}", segments(of)),
            Self::Series(query) | Self::Over(query, _) => series(query),
            Self::Lineage(namespace, job) => {
                format!("/api/v1/lineage/{}/{}", encode(namespace), encode(job))
            }
            Self::Jobs => "/api/v1/jobs".into(),
            Self::Alerts => "/api/v1/alerts".into(),
            Self::Presets => "/api/v1/alerts/presets".into(),
            Self::Breakers => "/api/v1/breakers".into(),
            Self::Audit => "/api/v1/audit".into(),
        }
    }
}

impl Act {
    /// Method, path and body of the request.
    pub fn request(&self) -> (&'static str, String, String) {
        let rules = "/api/v1/alerts/rules";
        // these types always serialize
        match self {
            Self::SaveRule(rule) => {
                let body = serde_json::to_string(rule).unwrap_or_default();
                match rule.id {
                    0 => ("POST", rules.into(), body),
                    id => ("PUT", format!("{rules}/{id}"), body),
                }
            }
            Self::DeleteRule(id) => ("DELETE", format!("{rules}/{id}"), String::new()),
            Self::Breaker(of, request) => {
                let path = format!("/api/v1/states/{}/orders", segments(of));
                ("POST", path, serde_json::to_string(request).unwrap_or_default())
            }
        }
    }
}

fn states(query: &StatesQuery) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let limit = query.limit.map(|limit| limit.to_string()).unwrap_or_default();
    with_query(
        "/api/v1/states",
        &[
            ("sort", &text(&query.sort)),
            ("order", &text(&query.order)),
            ("cursor", &text(&query.cursor)),
            ("limit", &limit),
            ("filter", &text(&query.filter)),
        ],
    )
}

fn series(query: &SeriesQuery) -> String {
    let number = |field: Option<i64>| field.map(|n| n.to_string()).unwrap_or_default();
    with_query(
        "/api/v1/series",
        &[
            ("of", &query.of),
            ("figure", &query.figure),
            ("from", &number(query.from)),
            ("to", &number(query.to)),
            ("points", &number(query.points.map(i64::from))),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moving_range_is_one_question_and_many_requests() {
        let query =
            SeriesQuery { of: "a/b".into(), figure: "entries".into(), ..SeriesQuery::default() };
        let ask = Ask::Over(query, Range::default());
        assert_eq!(ask.name(), ask.clone().name());
        assert_eq!(
            ask.at(3_600_000).path(),
            "/api/v1/series?of=a%2Fb&figure=entries&from=0&to=3600000"
        );
    }
}
