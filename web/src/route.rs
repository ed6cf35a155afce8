//! Where every view lives: a view is a link that carries what it shows.

use std::fmt::Write as _;

/// Escapes a path segment or a query value.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // writing to a String cannot fail
            let _written = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Appends `?a=b&c=d`, leaving empty values out.
pub fn with_query(path: &str, pairs: &[(&str, &str)]) -> String {
    let mut out = path.to_owned();
    let mut separator = '?';
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(separator);
        out.push_str(name);
        out.push('=');
        out.push_str(&encode(value));
        separator = '&';
    }
    out
}

/// Identity of a state as it stands in paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateRef {
    /// Namespace of the job.
    pub namespace: String,
    /// Name of the job.
    pub job_name: String,
    /// Operator that owns the state.
    pub operator: String,
    /// The state.
    pub state: String,
}

impl StateRef {
    /// `{namespace}/{job_name}/{operator}/{state}`, as the API names it.
    pub fn of(&self) -> String {
        [&*self.namespace, &*self.job_name, &*self.operator, &*self.state].join("/")
    }

    /// The same, escaped, to be appended to a path that ends in a slash.
    pub fn segments(&self) -> String {
        let parts = [&*self.namespace, &*self.job_name, &*self.operator, &*self.state];
        parts.map(encode).join("/")
    }

    /// Path of the state's page.
    pub fn path(&self) -> String {
        format!("/states/{}", self.segments())
    }

    /// Reads `{namespace}/{job_name}/{operator}/{state}`.
    pub fn parse(of: &str) -> Option<Self> {
        let mut parts = of.splitn(4, '/').map(str::to_owned);
        Some(Self {
            namespace: parts.next()?,
            job_name: parts.next()?,
            operator: parts.next()?,
            state: parts.next()?,
        })
    }
}

impl From<&StateRef> for [String; 4] {
    fn from(state: &StateRef) -> Self {
        [&state.namespace, &state.job_name, &state.operator, &state.state].map(Clone::clone)
    }
}

/// Path of a job's lineage.
pub fn lineage(namespace: &str, job_name: &str) -> String {
    format!("/lineage/{}/{}", encode(namespace), encode(job_name))
}

/// The time that the charts of a page show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// The last so many ms, until now.
    Last(i64),
    /// From and to, ms.
    Between(i64, i64),
}

/// The ranges one click away, as they stand in the URL.
pub const RANGES: [(&str, i64); 5] = [
    ("-15m", 900_000),
    ("-1h", 3_600_000),
    ("-6h", 21_600_000),
    ("-24h", 86_400_000),
    ("-7d", 604_800_000),
];

/// Shortest range that a drag on a chart selects, ms.
pub const RANGE_MILLIS_MIN: i64 = 5_000;

impl Default for Range {
    fn default() -> Self {
        Self::Last(3_600_000)
    }
}

impl Range {
    /// Reads `from` and `to` of a URL; what cannot be read is the default.
    pub fn parse(from: Option<&str>, to: Option<&str>) -> Self {
        let absolute = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
        if let (Some(from), Some(to)) = (absolute(from), absolute(to))
            && from >= 0
            && to - from >= RANGE_MILLIS_MIN
        {
            return Self::Between(from, to);
        }
        let ago = from.and_then(|from| from.strip_prefix('-')).and_then(|text| {
            let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
            let unit = match unit {
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return None,
            };
            number.parse::<i64>().ok()?.checked_mul(unit)
        });
        match ago {
            Some(ago) if ago >= RANGE_MILLIS_MIN => Self::Last(ago),
            _ => Self::default(),
        }
    }

    /// Start and end at a given now, ms.
    pub fn bounds(self, now_millis: i64) -> (i64, i64) {
        match self {
            Self::Last(ago) => (now_millis - ago, now_millis),
            Self::Between(from, to) => (from, to),
        }
    }

    /// The values of `from` and `to` in a URL.
    pub fn query(self) -> (String, String) {
        match self {
            Self::Last(ago) => {
                let from = RANGES
                    .iter()
                    .find(|(_, millis)| *millis == ago)
                    .map_or_else(|| format!("-{}s", ago / 1_000), |(name, _)| (*name).to_owned());
                (from, String::new())
            }
            Self::Between(from, to) => (from.to_string(), to.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_paths() {
        let state = StateRef::parse("default/a b/<script>/x/y").unwrap();
        assert_eq!(state.path(), "/states/default/a%20b/%3Cscript%3E/x%2Fy");
        assert_eq!(state.of(), "default/a b/<script>/x/y");
        assert_eq!(
            with_query("/states", &[("sort", ""), ("filter", "a&b")]),
            "/states?filter=a%26b"
        );
    }

    #[test]
    fn ranges_survive_the_url() {
        for (name, millis) in RANGES {
            let range = Range::parse(Some(name), None);
            assert_eq!(range, Range::Last(millis));
            assert_eq!(range.query().0, name);
        }
        assert_eq!(Range::parse(Some("1000"), Some("9000")), Range::Between(1_000, 9_000));
        for nonsense in ["", "-", "-1", "-xh", "-99999999999999999d", "5", "é"] {
            assert_eq!(Range::parse(Some(nonsense), None), Range::default());
        }
        assert_eq!(Range::parse(Some("9000"), Some("1000")), Range::default());
    }
}
