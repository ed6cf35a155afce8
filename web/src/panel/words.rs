//! The words of the panels: apart from the pages' own, which travel to the browser.

use crate::i18n::Lang;

macro_rules! words {
    ($($name:ident: $en:literal | $zh:literal;)*) => {
        /// Words without parameters.
        #[derive(Debug)]
        pub(super) struct PanelWords {
            $(#[doc = $en] pub(super) $name: &'static str,)*
        }

        static EN: PanelWords = PanelWords { $($name: $en,)* };
        static ZH: PanelWords = PanelWords { $($name: $zh,)* };
    };
}

/// The words of a language.
pub(super) fn of(lang: Lang) -> &'static PanelWords {
    match lang {
        Lang::En => &EN,
        Lang::Zh => &ZH,
    }
}

words! {
    ttl: "TTL" | "TTL";
    in_force: "In force" | "当前生效";
    source: "Because" | "来源";
    by_code: "code declares it" | "由代码声明";
    set_by: "set by" | "设置人";
    until_reverted: "until it is reverted" | "直到被恢复";
    ends_in: "ends in" | "剩余";
    declared: "Declared in code" | "代码声明";
    no_ttl: "none: entries never expire" | "无：条目永不过期";
    hidden: "Hidden, not gone" | "已隐藏，未删除";
    can_return_for: "can be brought back for" | "可恢复的剩余时间";
    ttl_by_families: "This state has no TTL of its own. What a table keeps is declared per column family, a timer goes when it has fired." | "该状态没有自己的 TTL。表按列族声明保留规则，定时器触发后即删除。";
    another_ttl: "What would another TTL do?" | "换一个 TTL 会怎样？";
    preview: "Preview" | "预览";
    no_duration: "That is no TTL. Write a number with ms, s, m, h or d, such as 30m or 36h, or none." | "这不是有效的 TTL。请写数字加 ms、s、m、h 或 d，例如 30m、36h，或 none。";
    would_be: "TTL would be" | "TTL 将为";
    would_hide: "Entries hidden at once" | "立即隐藏的条目";
    would_return: "Entries seen again" | "重新可见的条目";
    preview_note: "By the ages of what is there now. A shorter TTL only hides for an hour; then the bytes fall." | "按当前条目的年龄估计。缩短的 TTL 先隐藏一小时，之后才释放空间。";
    change_ttl: "Change the TTL" | "修改 TTL";
    change_note: "Takes the place of what code declares, also after a redeploy, until it ends or is reverted." | "将覆盖代码中的声明，重新部署后仍然有效，直到到期或被恢复。";
    new_ttl: "New TTL" | "新的 TTL";
    for_how_long: "For how long (empty: until it is taken back)" | "持续多久（留空：直到撤回）";
    revert: "Back to what code declares" | "恢复为代码声明";
    reclaim_now: "Reclaim now" | "立即回收";
    reclaim_note: "What is hidden goes for good; it cannot be brought back." | "已隐藏的条目将被永久删除，无法恢复。";
    reason: "Reason" | "原因";
    cleanup: "Cleanup" | "清理";
    created_removed: "Created / removed, this run" | "本次运行 创建 / 移除";
    not_written_off: "Expired, not written off" | "已过期，未核销";
    not_reclaimed: "Written off, not reclaimed" | "已核销，未回收";
    last_compaction: "Last compaction" | "最近一次压缩";
    not_yet: "none since the job started" | "作业启动以来尚无";
    ago: "ago" | "前";
    l0_files: "Files on level 0" | "L0 文件数";
    paused: "Paused" | "已暂停";
    until_resumed: "until it is resumed" | "直到恢复";
    strategy: "By" | "方式";
    by_compaction: "RocksDB's own compactions" | "RocksDB 自身压缩";
    by_scheduler: "the scheduler" | "调度器";
    by_demand: "demand" | "按需";
    in_memory: "memory" | "内存";
    runs: "Runs" | "次数";
    rows: "Rows" | "行数";
    got_back: "Got back" | "回收";
    read: "Read" | "读取";
    time: "Time" | "耗时";
    dry_run: "What would cleaning do?" | "清理会怎样？";
    clean_now: "Clean now" | "立即清理";
    pause: "Pause cleanup" | "暂停清理";
    resume: "Resume cleanup" | "恢复清理";
    expiry: "When entries expire" | "条目何时过期";
    expiry_note: "In the state's clock, exact to one bucket of its ledger; what is overdue is expired and not written off yet." | "按状态时钟计算，精确到账本的一个桶；逾期指已过期但尚未核销。";
    within: "Within" | "时限";
    later: "later" | "更晚";
    will_expire: "Will expire" | "将过期";
    overdue_since: "Overdue" | "已逾期";
    bytes: "Bytes" | "字节";
    orders: "Orders" | "命令";
    no_orders: "Nothing has been ordered about this state yet." | "尚无针对该状态的命令。";
    when: "When" | "时间";
    order: "Order" | "命令";
    who_and_why: "Who and why" | "人员与原因";
    phase: "How far" | "进度";
    result: "Result" | "结果";
    requested: "requested" | "已请求";
    delivered: "delivered" | "已送达";
    applied: "applied" | "已应用";
    done: "done" | "已完成";
    refused: "refused" | "被拒绝";
    timed_out: "timed out" | "超时";
    as_of_load: "As of when this was loaded" | "以加载时为准";
    refresh: "refresh" | "刷新";
}
