//! A verdict as one sentence that a tired person understands, and what to do about it.

use stateward_model::{Verdict, VerdictKind};

use super::{Lang, Words};
use crate::format::{bytes, duration, exact, growth, percent};

impl Words {
    /// The verdict in a word or two.
    pub fn verdict_name(&self, kind: VerdictKind) -> &'static str {
        match kind {
            VerdictKind::NoTtl => self.v_no_ttl,
            VerdictKind::RefreshedByReads => self.v_refreshed,
            VerdictKind::CleanupBehind => self.v_behind,
            VerdictKind::TooShort => self.v_short,
            VerdictKind::TooLong => self.v_long,
            VerdictKind::CannotTell => self.v_cannot,
            VerdictKind::Working => self.v_working,
        }
    }
}

/// The figures of a verdict as they are told.
struct Told {
    ttl: String,
    twice: String,
    watched: String,
    growth: Option<String>,
    writer: Option<(String, String)>,
    refresher: Option<(String, String)>,
    expired: String,
    created: String,
    debt: String,
    total: String,
    debt_share: String,
    miss: String,
    read_age: String,
    entries: String,
    read_share: String,
}

fn told(verdict: &Verdict, growth_per_day: Option<f64>) -> Told {
    let e = &verdict.evidence;
    let ratio = |part: u64, whole: u64| percent(part as f64 / whole.max(1) as f64);
    let line = |top: &Option<(String, f64)>| {
        top.as_ref().map(|(site, share)| (site.clone(), percent(*share)))
    };
    let ttl = e.ttl_millis.unwrap_or_default();
    Told {
        ttl: duration(ttl),
        twice: duration(ttl.saturating_mul(2)),
        watched: duration(e.watched_millis),
        growth: growth_per_day.map(growth),
        writer: line(&e.top_writer),
        refresher: line(&e.top_refresher),
        expired: exact(e.expired),
        created: exact(e.created),
        debt: bytes(e.debt_bytes as f64),
        total: bytes(e.total_bytes as f64),
        debt_share: ratio(e.debt_bytes, e.total_bytes),
        miss: ratio(e.misses, e.reads),
        read_age: e.read_age_p99_millis.map_or_else(String::new, |age| duration(age as i64)),
        entries: exact(e.entries),
        read_share: ratio(e.read_stamps, e.read_stamps + e.write_stamps),
    }
}

impl Lang {
    /// One sentence or two: what is the matter, and the evidence.
    pub fn verdict(self, verdict: &Verdict, growth_per_day: Option<f64>) -> String {
        let told = told(verdict, growth_per_day);
        match self {
            Self::En => english(verdict.kind, &told),
            Self::Zh => chinese(verdict.kind, &told),
        }
    }

    /// What to do about it; empty where nothing is to be done.
    pub fn remedy(self, kind: VerdictKind) -> &'static str {
        match (self, kind) {
            (Self::En, VerdictKind::NoTtl) => {
                "Set a TTL where it is declared; until then its breaker can stop the writes."
            }
            (Self::Zh, VerdictKind::NoTtl) => "在声明处设置 TTL；在此之前可用熔断器停止写入。",
            (Self::En, VerdictKind::RefreshedByReads) => {
                "Stamp by writes only, or move that read to another state."
            }
            (Self::Zh, VerdictKind::RefreshedByReads) => {
                "改为仅由写入打时间戳，或把该读取移到别的状态。"
            }
            (Self::En, VerdictKind::CleanupBehind) => {
                "Look at the cleanup timings; free disk bandwidth or lower the write rate."
            }
            (Self::Zh, VerdictKind::CleanupBehind) => "查看清理耗时；腾出磁盘带宽或降低写入速率。",
            (Self::En, VerdictKind::TooShort) => {
                "Lengthen the TTL: the ages at read show by how much."
            }
            (Self::Zh, VerdictKind::TooShort) => "延长 TTL：读取时的存活时长说明需要多少。",
            (Self::En, VerdictKind::TooLong) => {
                "Shorten the TTL: the ages at read show how far it can go down."
            }
            (Self::Zh, VerdictKind::TooLong) => "缩短 TTL：读取时的存活时长说明可以缩到多少。",
            (_, VerdictKind::CannotTell | VerdictKind::Working) => "",
        }
    }
}

fn english(kind: VerdictKind, t: &Told) -> String {
    match kind {
        VerdictKind::NoTtl => {
            let grows =
                t.growth.as_ref().map_or_else(String::new, |g| format!(" It changes by {g}."));
            let writer = t.writer.as_ref().map_or_else(String::new, |(site, share)| {
                format!(" {share} of its writes come from {site}.")
            });
            format!(
                "Nothing ever expires: there is no TTL, and {} entries stay.{grows}{writer}",
                t.entries
            )
        }
        VerdictKind::RefreshedByReads => {
            let who = t.refresher.as_ref().map_or_else(
                || format!("{} of its stamps are reads.", t.read_share),
                |(site, share)| format!("{share} of refreshes are reads from {site}."),
            );
            format!(
                "The TTL of {} does nothing: {who} Of {} entries created in {}, {} expired.",
                t.ttl, t.created, t.watched, t.expired
            )
        }
        VerdictKind::CleanupBehind => format!(
            "Expired entries stay on disk: {} of {} ({}) is debt.",
            t.debt, t.total, t.debt_share
        ),
        VerdictKind::TooShort => format!(
            "The TTL of {} is too short: {} of reads come after the entry expired.",
            t.ttl, t.miss
        ),
        VerdictKind::TooLong => format!(
            "The TTL of {} is longer than anyone needs: 99 % of reads find entries younger than {}.",
            t.ttl, t.read_age
        ),
        VerdictKind::CannotTell if t.created == "0" => {
            "Too early to tell: no entry has been created since it is watched.".to_owned()
        }
        VerdictKind::CannotTell => format!(
            "Too early to tell: watched for {} of its own clock, a verdict needs {} (twice the TTL).",
            t.watched, t.twice
        ),
        VerdictKind::Working => format!(
            "The TTL works: of {} entries created in {}, {} expired after {}.",
            t.created, t.watched, t.expired, t.ttl
        ),
    }
}

fn chinese(kind: VerdictKind, t: &Told) -> String {
    match kind {
        VerdictKind::NoTtl => {
            let grows = t.growth.as_ref().map_or_else(String::new, |g| format!("变化 {g}。"));
            let writer = t
                .writer
                .as_ref()
                .map_or_else(String::new, |(site, share)| format!("{share} 的写入来自 {site}。"));
            format!("永不过期：没有 TTL，{} 个条目一直保留。{grows}{writer}", t.entries)
        }
        VerdictKind::RefreshedByReads => {
            let who = t.refresher.as_ref().map_or_else(
                || format!("{} 的时间戳由读取更新。", t.read_share),
                |(site, share)| format!("{share} 的续命来自 {site} 的读取。"),
            );
            format!(
                "{} 的 TTL 不起作用：{who}{} 内创建 {} 个条目，仅 {} 个过期。",
                t.ttl, t.watched, t.created, t.expired
            )
        }
        VerdictKind::CleanupBehind => {
            format!("过期条目仍占磁盘：{} 中有 {}（{}）是债务。", t.total, t.debt, t.debt_share)
        }
        VerdictKind::TooShort => {
            format!("{} 的 TTL 过短：{} 的读取发生在条目过期之后。", t.ttl, t.miss)
        }
        VerdictKind::TooLong => {
            format!("{} 的 TTL 过长：99 % 的读取只涉及存活不足 {} 的条目。", t.ttl, t.read_age)
        }
        VerdictKind::CannotTell if t.created == "0" => {
            "尚早，无法判断：观察以来还没有创建条目。".to_owned()
        }
        VerdictKind::CannotTell => format!(
            "尚早，无法判断：按其自身时钟只观察了 {}，需要 {}（TTL 的两倍）。",
            t.watched, t.twice
        ),
        VerdictKind::Working => format!(
            "TTL 有效：{} 内创建 {} 个条目，其中 {} 个在 {} 后过期。",
            t.watched, t.created, t.expired, t.ttl
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stateward_model::Evidence;

    #[test]
    fn every_verdict_has_a_sentence_in_both_languages() {
        let evidence = Evidence {
            ttl_millis: Some(129_600_000),
            top_refresher: Some(("cart.rs:88".into(), 0.97)),
            created: 900,
            expired: 3,
            watched_millis: 777_600_000,
            ..Evidence::default()
        };
        for kind in [
            VerdictKind::NoTtl,
            VerdictKind::RefreshedByReads,
            VerdictKind::CleanupBehind,
            VerdictKind::TooShort,
            VerdictKind::TooLong,
            VerdictKind::CannotTell,
            VerdictKind::Working,
        ] {
            let verdict = Verdict { kind, evidence: evidence.clone() };
            for lang in [Lang::En, Lang::Zh] {
                assert!(lang.verdict(&verdict, Some(0.15)).chars().count() > 12);
                assert_eq!(lang.remedy(kind).is_empty(), !kind.needs_attention());
            }
        }
        let verdict = Verdict { kind: VerdictKind::RefreshedByReads, evidence };
        assert_eq!(
            Lang::En.verdict(&verdict, None).replace('\u{202f}', " "),
            "The TTL of 36 h does nothing: 97 % of refreshes are reads from cart.rs:88. Of 900 entries \
             created in 9 d, 3 expired."
        );
    }
}
