//! Sentences with figures in them.

use super::Lang;
use crate::format;

impl Lang {
    /// The kind of an event of a job, as a word; one that is not known stays as it is.
    pub fn event(self, kind: &str) -> String {
        let chinese = match kind {
            "started" => "启动",
            "recovered" => "恢复",
            "stopped" => "停止",
            "failed" => "失败",
            "checkpoint" => "检查点",
            "checkpoint_failed" => "检查点失败",
            "rescaled" => "重新分片",
            "restored" => "已从快照恢复",
            "breaker" => "熔断器",
            "cleanup" => "清理",
            "clock_jump" => "时钟跳变",
            "loop" => "循环",
            "source_paused" => "源已暂停",
            "source_resumed" => "源已恢复",
            "command" => "命令",
            "alert" => "告警",
            _ => "",
        };
        match self {
            Self::Zh if !chinese.is_empty() => chinese.to_owned(),
            _ => kind.replace('_', " "),
        }
    }

    /// "2 min ago"; "in 2 min" for what is to come.
    pub fn ago(self, millis: i64) -> String {
        let long = format::duration(coarse(millis.abs()));
        match (self, millis < 0) {
            (Self::En, _) if millis.abs() < 1_000 => "now".into(),
            (Self::Zh, _) if millis.abs() < 1_000 => "刚刚".into(),
            (Self::En, false) => format!("{long} ago"),
            (Self::En, true) => format!("in {long}"),
            (Self::Zh, false) => format!("{long} 前"),
            (Self::Zh, true) => format!("{long}后"),
        }
    }

    /// "live, 3 s old".
    pub fn live_age(self, millis: i64) -> String {
        let age = format::duration(coarse(millis).max(1_000));
        match self {
            Self::En => format!("live, {age} old"),
            Self::Zh => format!("实时，{age} 前的数据"),
        }
    }

    /// "silent since 20:12:05 (2 min)".
    pub fn silent_since(self, time: &str, millis: i64) -> String {
        let age = format::duration(coarse(millis).max(1_000));
        match self {
            Self::En => format!("silent since {time} ({age})"),
            Self::Zh => format!("自 {time} 起无上报（{age}）"),
        }
    }

    /// "as of 20:12:05".
    pub fn as_of(self, time: &str) -> String {
        match self {
            Self::En => format!("as of {time}"),
            Self::Zh => format!("截至 {time}"),
        }
    }

    /// "3 changes, refresh".
    pub fn changes(self, n: usize) -> String {
        match (self, n) {
            (Self::En, 1) => "1 change, refresh".into(),
            (Self::En, n) => format!("{n} changes, refresh"),
            (Self::Zh, n) => format!("{n} 处变化，刷新"),
        }
    }

    /// "100 of 1000 states".
    pub fn shown_of(self, shown: usize, total: u64) -> String {
        let total = format::exact(total);
        match (self, shown) {
            (Self::En, shown) => format!("{shown} of {total} states"),
            (Self::Zh, shown) => format!("显示 {shown} / {total} 个状态"),
        }
    }

    /// The button that trips: says the act and the state.
    pub fn trip_on(self, state: &str) -> String {
        match self {
            Self::En => format!("Trip breaker on {state}"),
            Self::Zh => format!("熔断 {state}"),
        }
    }

    /// The button that resets.
    pub fn reset_on(self, state: &str) -> String {
        match self {
            Self::En => format!("Reset breaker on {state}"),
            Self::Zh => format!("复位 {state} 的熔断器"),
        }
    }

    /// The button that deletes a rule.
    pub fn delete_rule_named(self, rule: &str) -> String {
        match self {
            Self::En => format!("Delete rule {rule}"),
            Self::Zh => format!("删除规则 {rule}"),
        }
    }

    /// What deleting a rule means.
    pub fn delete_rule_means(self, rule: &str) -> String {
        match self {
            Self::En => format!(
                "{rule} is not evaluated any more, and what it fires ends. Its history stays."
            ),
            Self::Zh => format!("{rule} 将不再求值，其触发中的告警随之结束；历史保留。"),
        }
    }

    /// "tripped by hand since … until …" without the times.
    pub fn applied_on_shards(self, applied: u16, shards: u16) -> String {
        match self {
            Self::En => format!("applied on {applied} of {shards} shards"),
            Self::Zh => format!("已在 {applied} / {shards} 个分片上生效"),
        }
    }

    /// Growth's label: which clock's day, and how fast that runs.
    pub fn growth_label(self, replay_factor: f64) -> String {
        let replayed = (replay_factor - 1.0).abs() > 0.01;
        match (self, replayed) {
            (Self::En, false) => "per day".into(),
            (Self::Zh, false) => "每天".into(),
            (Self::En, true) => {
                format!("per day of event time, replayed {}", format::factor(replay_factor))
            }
            (Self::Zh, true) => format!("每个事件时间日，回放 {}", format::factor(replay_factor)),
        }
    }

    /// What a chart shows, for readers who do not see it.
    pub fn chart_summary(self, title: &str, least: &str, most: &str, latest: &str) -> String {
        match self {
            Self::En => format!("{title}: from {least} to {most}, last {latest}"),
            Self::Zh => format!("{title}：{least} 至 {most}，最新 {latest}"),
        }
    }

    /// A rule's condition in words.
    pub fn condition(self, subject: &str, above: &str, for_millis: i64) -> String {
        let hold = format::duration(for_millis);
        match (self, for_millis > 0) {
            (Self::En | Self::Zh, false) => format!("{subject} > {above}"),
            (Self::En, true) => format!("{subject} > {above} for {hold}"),
            (Self::Zh, true) => format!("{subject} > {above}，持续 {hold}"),
        }
    }

    /// What share of a whole a part is: "1.2 GiB of 4.7 GiB".
    pub fn of_whole(self, part: &str, whole: &str) -> String {
        match self {
            Self::En => format!("{part} of {whole}"),
            Self::Zh => format!("{part} / {whole}"),
        }
    }

    /// What a rule cannot be saved without.
    pub fn needs(self, field: &str) -> String {
        match self {
            Self::En => format!("{field}: please fill in."),
            Self::Zh => format!("{field}：请填写。"),
        }
    }

    /// What a number field did not take.
    pub fn not_a_number(self, field: &str) -> String {
        match self {
            Self::En => format!("{field}: a number of 0 or more is needed, as in 12.5."),
            Self::Zh => format!("{field}：需要不小于 0 的数字，例如 12.5。"),
        }
    }

    /// What the spill of an open breaker holds.
    pub fn waiting(self, pending: &str, bytes: &str) -> String {
        match self {
            Self::En => format!("{pending} events wait ({bytes})"),
            Self::Zh => format!("{pending} 个事件待回放（{bytes}）"),
        }
    }
}

/// An age as it is told: whole seconds up to a minute, then whole minutes, then hours, then days.
fn coarse(millis: i64) -> i64 {
    let unit = match millis {
        m if m < 60_000 => 1_000,
        m if m < 3_600_000 => 60_000,
        m if m < 48 * 3_600_000 => 3_600_000,
        _ => 86_400_000,
    };
    millis / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_coarsely() {
        let plain = |text: String| text.replace('\u{202f}', " ");
        assert_eq!(plain(Lang::En.ago(125_000)), "2 min ago");
        assert_eq!(plain(Lang::En.ago(-7_200_000)), "in 2 h");
        assert_eq!(plain(Lang::En.ago(400)), "now");
        assert_eq!(plain(Lang::Zh.ago(3_000)), "3 s 前");
        assert_eq!(plain(Lang::En.live_age(0)), "live, 1 s old");
    }
}
