//! The table of words: one line each, both languages side by side, so that neither can miss one.

macro_rules! words {
    ($($name:ident: $en:literal | $zh:literal;)*) => {
        /// Words without parameters.
        #[derive(Debug)]
        pub struct Words {
            $(#[doc = $en] pub $name: &'static str,)*
        }

        pub(super) static EN: Words = Words { $($name: $en,)* };
        pub(super) static ZH: Words = Words { $($name: $zh,)* };

        #[cfg(test)]
        pub(super) const PAIRS: &[(&str, &str, &str)] = &[$((stringify!($name), $en, $zh),)*];
    };
}

words! {
    // navigation
    skip: "Skip to content" | "跳到正文";
    see: "See" | "观察";
    act: "Act" | "处置";
    govern: "Govern" | "治理";
    overview: "Overview" | "概览";
    states: "States" | "状态";
    jobs: "Jobs" | "作业";
    lineage: "Lineage" | "血缘";
    alerts: "Alerts" | "告警";
    breakers: "Breakers" | "熔断器";
    audit: "Audit" | "审计";
    search: "Search" | "搜索";
    other_language: "中文" | "English";
    theme: "Theme" | "主题";
    theme_auto: "auto" | "自动";
    theme_light: "light" | "浅色";
    theme_dark: "dark" | "深色";
    navigation: "Pages" | "页面";
    time_range: "Time range" | "时间范围";
    range_15m: "15 min" | "15 分钟";
    range_1h: "1 h" | "1 小时";
    range_6h: "6 h" | "6 小时";
    range_24h: "24 h" | "24 小时";
    range_7d: "7 d" | "7 天";
    live: "live" | "实时";
    not_live: "no live updates" | "无实时更新";
    keys: "Keys" | "快捷键";
    key_move: "j / k — next, previous row" | "j / k —— 下一行、上一行";
    key_open: "Enter — open the row" | "Enter —— 打开该行";
    key_search: "/ — search" | "/ —— 搜索";
    key_list: "? — this list" | "? —— 本列表";
    close: "Close" | "关闭";
    cancel: "Cancel" | "取消";
    loading: "Loading" | "加载中";
    refresh: "refresh" | "刷新";
    copy_detail: "Detail to copy" | "可复制的详情";

    // figures
    size: "Size" | "大小";
    logical_size: "Logical size" | "逻辑大小";
    disk_size: "On disk" | "磁盘占用";
    growth: "Growth" | "增长";
    debt: "Debt" | "债务";
    debt_expired: "Expired, not written off" | "过期未销账";
    debt_unreclaimed: "Written off, not reclaimed" | "已销账未回收";
    needs_attention: "Needs attention" | "需要关注";
    entries: "Entries" | "条目数";
    bytes_per_entry: "Bytes/entry" | "字节/条目";
    miss_ratio: "TTL-miss ratio" | "TTL 未命中率";
    oldest_age: "Oldest age" | "最长存活";
    writes: "Writes" | "写入";
    reads: "Reads" | "读取";
    writes_per_second: "Writes/s" | "写入/秒";
    ttl: "TTL" | "TTL";
    no_ttl: "none" | "无";
    breaker: "Breaker" | "熔断器";
    operator: "Operator" | "算子";
    job: "Job" | "作业";
    state: "State" | "状态";
    verdict: "Verdict" | "结论";
    last_hour: "Last hour" | "近一小时";
    share: "Share" | "占比";
    line: "Source line" | "源码行";
    count: "Count" | "次数";
    bytes: "Bytes" | "字节";
    kind: "Kind" | "种类";
    time: "Time" | "时间";
    what: "What" | "内容";
    value: "Value" | "值";
    median: "median" | "中位数";
    p99: "p99" | "p99";
    unknown: "not known" | "未知";
    unknown_growth: "too little history" | "历史数据不足";
    unknown_misses: "no reads in five minutes" | "五分钟内没有读取";
    unknown_rate: "no rate yet" | "尚无速率";
    unknown_entry: "no entries" | "没有条目";
    estimate: "estimate" | "估计值";
    approximate: "in part an estimate" | "部分为估计值";

    // overview
    why: "Why" | "原因";
    what_to_do: "What to do" | "怎么办";
    firing_alerts: "Firing alerts" | "正在触发的告警";
    breakers_not_closed: "Breakers not closed" | "未闭合的熔断器";
    what_changed: "What changed in 24 h" | "24 小时内的变化";
    all_of_them: "all" | "全部";
    no_attention: "Every state that can be judged is fine." | "凡能判断的状态都正常。";
    no_firing: "No alert is firing." | "没有告警在触发。";
    all_closed: "Every breaker is closed." | "所有熔断器均已闭合。";
    no_changes: "Nothing changed." | "没有变化。";
    no_job: "No job has reported yet." | "还没有作业上报。";
    no_job_do: "Start one:" | "启动一个：";
    commit_p99: "Commit p99" | "提交 p99";
    checkpoint: "Last checkpoint" | "最近检查点";
    changelog: "Changelog" | "变更日志";
    folder: "Folder" | "目录";
    watermark: "Watermark" | "水位线";
    lag: "Source" | "数据源";
    started: "Started" | "启动于";
    shards: "Shards" | "分片";
    epoch: "Epoch" | "纪元";
    ended: "ended" | "已结束";
    run: "Run" | "运行";
    build: "Build" | "构建";
    replay_factor: "Replay" | "回放倍速";
    running: "running" | "运行中";
    silent: "silent" | "无上报";
    idle: "idle" | "空闲";
    finished: "finished" | "已读完";
    position: "Position" | "读取位置";
    records: "Records" | "记录数";
    rejected: "Rejected" | "被拒绝";
    clock_offset: "Clock offset" | "时钟偏差";

    // ranking
    filter_hint: "words, or job: operator: verdict: breaker:" | "关键词，或 job: operator: verdict: breaker:";
    columns: "Columns" | "列";
    columns_attention: "attention" | "关注";
    columns_size: "size" | "大小";
    columns_ttl: "TTL" | "TTL";
    columns_writes: "writes" | "写入";
    columns_restore: "restore" | "恢复";
    csv: "CSV" | "CSV";
    next_page: "Next page" | "下一页";
    first_page: "First page" | "第一页";
    no_match: "No state matches." | "没有匹配的状态。";
    clear_filter: "Clear the filter" | "清除筛选";
    chip_attention: "needs attention" | "需要关注";
    chip_no_ttl: "no TTL" | "无 TTL";
    chip_open: "breaker not closed" | "熔断器未闭合";

    // verdicts
    v_no_ttl: "No TTL" | "没有 TTL";
    v_refreshed: "Kept alive by reads" | "被读取续命";
    v_behind: "Cleanup behind" | "清理落后";
    v_short: "TTL too short" | "TTL 过短";
    v_long: "TTL too long" | "TTL 过长";
    v_cannot: "Cannot tell yet" | "暂无法判断";
    v_working: "Working" | "有效";

    // state page
    tabs: "Parts" | "分栏";
    tab_life: "Life" | "生命周期";
    tab_sites: "Writers & readers" | "写入方与读取方";
    tab_storage: "Storage" | "存储";
    tab_breaker: "Breaker" | "熔断器";
    tab_alerts: "Alerts" | "告警";
    tab_ttl: "TTL and cleanup" | "TTL 与清理";
    tab_history: "History" | "历史";
    event_time: "event time" | "事件时间";
    processing_time: "processing time" | "处理时间";
    kind_value: "value" | "值";
    kind_reducing: "reducing" | "归约";
    kind_aggregating: "aggregating" | "聚合";
    kind_list: "list" | "列表";
    kind_map: "map" | "映射";
    kind_table: "table" | "表";
    kind_timer: "timers" | "定时器";
    update_write: "stamped by writes" | "由写入打时间戳";
    update_read: "stamped by writes and reads" | "由写入和读取打时间戳";
    update_create: "stamped once, when created" | "仅创建时打时间戳";
    ttl_per_family: "each column family has its own TTL" | "每个列族有各自的 TTL";
    update_disabled: "never expires" | "永不过期";
    hides_expired: "expired entries are never returned" | "过期条目绝不返回";
    returns_expired: "an expired entry is returned once" | "过期条目返回一次";
    declared: "declared at" | "声明于";
    set_in_code: "set in code" | "在代码中设定";
    copy_promql: "Copy as PromQL" | "复制为 PromQL";
    nav_narrow: "Hide the side bar" | "收起侧栏";
    nav_wide: "Show the side bar" | "展开侧栏";
    alert_on_this: "Alert on this" | "设置告警";
    show_lineage: "Lineage" | "血缘";
    age_resident: "Age of what is there now" | "现存条目的存活时长";
    age_read: "Age when read" | "读取时的存活时长";
    age_drop: "Age when dropped" | "移除时的存活时长";
    no_ages: "Nothing to show yet: no entry has been seen here." | "暂无数据：还没有见到条目。";
    no_reads_yet: "No entry has been read yet." | "还没有条目被读取。";
    no_drops_yet: "Nothing has been dropped yet." | "还没有移除。";
    cleanup: "Cleanup" | "清理";
    sweep: "Sweep (write-off)" | "清扫（销账）";
    reclaim: "Reclaim (compaction)" | "回收（压实）";
    runs: "Runs" | "次数";
    total: "Total" | "合计";
    not_run_yet: "has not run yet" | "尚未运行";
    removed: "Removed" | "已移除";
    removed_delete: "by delete" | "因删除";
    removed_read: "by a read, expired" | "读取时发现过期";
    removed_overwrite: "by an overwrite, expired" | "覆盖时发现过期";
    removed_sweep: "by the sweep, expired" | "由清扫移除";
    created: "Created" | "已创建";
    refreshes: "Refreshes" | "续期";
    late_writes: "Late writes" | "迟到写入";
    stale_returned: "Expired entries returned" | "返回的过期条目";
    this_run: "this run" | "本次运行";
    access_write: "write" | "写入";
    access_refresh: "refresh" | "续期";
    access_read: "read" | "读取";
    no_sites: "No access has been seen in this run." | "本次运行还没有访问。";
    writers: "Writers" | "写入方";
    readers: "Readers" | "读取方";
    lines_of_build: "Lines are those of build" | "行号对应构建";
    revision: "revision" | "版本";
    reclaimed: "Reclaimed by compactions" | "压实已回收";
    overhead: "Disk / logical" | "磁盘 / 逻辑";
    backend: "Backend" | "后端";
    resolution: "Resolution of ages" | "时长分辨率";
    no_events: "Nothing has happened to this state yet." | "此状态还没有发生过事件。";
    no_rules_here: "No rule watches this state." | "没有规则监视此状态。";
    new_rule: "New rule" | "新建规则";
    no_points: "No data in this time range." | "此时间范围内没有数据。";
    drag_to_zoom: "drag to zoom, double click to go back" | "拖动放大，双击还原";
    zoomed_out: "Whole range" | "恢复范围";

    // breaker
    phase: "Phase" | "阶段";
    p_closed: "closed" | "闭合";
    p_open: "open" | "断开";
    p_half_open: "half-open" | "半开";
    p_forced_open: "tripped by hand" | "人工熔断";
    would_trip: "would trip" | "本应熔断";
    a_limit: "limit" | "限流";
    a_divert: "divert" | "旁路";
    a_limit_help: "let events through at the threshold, the rest waits" | "按阈值放行，其余等待";
    a_divert_help: "every event that would write waits in the spill" | "所有要写入的事件进入暂存";
    policy: "Policy" | "策略";
    e_enforced: "enforced" | "执行";
    e_metrics_only: "metrics only" | "仅度量";
    e_disabled: "disabled" | "停用";
    trips_above: "Trips above" | "熔断阈值";
    never: "never" | "从不";
    window: "Window" | "窗口";
    open_min: "Open at least" | "最短断开";
    resets_below: "Resets below" | "复位低于";
    replay_budget: "Replay budget" | "回放预算";
    unlimited: "as fast as it goes" | "不限速";
    offered: "Offered" | "到达速率";
    equation: "Nothing is lost" | "守恒";
    holds: "holds" | "成立";
    holds_not: "does not hold" | "不成立";
    c_in: "in" | "流入";
    c_applied: "applied" | "已应用";
    c_spilled: "spilled" | "已暂存";
    c_late: "late" | "迟到";
    c_dead: "dead-lettered" | "死信";
    c_replayed: "replayed" | "已回放";
    c_discarded: "discarded" | "已丢弃";
    c_pending: "pending" | "待回放";
    backlog: "Backlog" | "积压";
    oldest_pending: "Oldest pending" | "最早待回放";
    diverted_keys: "Keys that divert" | "旁路中的键";
    trip: "Trip breaker" | "熔断";
    reset: "Reset" | "复位";
    what_stops: "What else stops" | "还会停下什么";
    stops_states: "Other states of the operator" | "该算子的其他状态";
    stops_outputs: "Outputs downstream" | "下游输出";
    stops_nothing: "nothing else" | "没有其他";
    reason: "Reason" | "原因";
    reason_hint: "kept in the audit log" | "记入审计日志";
    expiry: "Ends by itself after" | "自动结束于";
    expiry_never: "never, until someone resets it" | "不自动结束，直到有人复位";
    action: "Action" | "动作";
    commands: "Commands" | "命令";
    requested: "requested" | "已请求";
    delivered: "delivered" | "已送达";
    applied_on: "applied" | "已生效";
    done: "done" | "完成";
    refused: "refused" | "被拒绝";
    timed_out: "timed out" | "超时";
    order_trip: "trip" | "熔断";
    order_reset: "reset" | "复位";
    order_policy: "policy" | "策略";
    actor: "Who" | "操作者";
    trip_from_ranking: "To stop the writes of a state, open it and choose Trip breaker:" | "要停止某个状态的写入，打开它并选择“熔断”：";
    states_by_writes: "states by writes/s" | "按写入速率排列的状态";
    reset_replays: "What waits is replayed in order per key, then the breaker closes." | "待回放的事件按键依次回放，随后熔断器闭合。";
    since: "Since" | "自";
    until: "Until" | "至";
    needs_scripts: "Acting needs scripts; reading does not." | "操作需要启用脚本；阅读则不需要。";

    // alerts
    active: "Active" | "活动";
    rules: "Rules" | "规则";
    history: "History" | "历史";
    rule: "Rule" | "规则";
    scope: "Where" | "范围";
    condition: "Condition" | "条件";
    severity: "Severity" | "级别";
    s_info: "info" | "提示";
    s_warning: "warning" | "警告";
    s_critical: "critical" | "严重";
    on_of: "On" | "对象";
    ph_inactive: "inactive" | "未激活";
    ph_pending: "pending" | "待定";
    ph_firing: "firing" | "触发中";
    ph_resolved: "resolved" | "已恢复";
    no_data: "no data, phase held" | "无数据，阶段保持";
    everywhere: "every state" | "所有状态";
    edit: "Edit" | "编辑";
    delete: "Delete" | "删除";
    save_rule: "Save rule" | "保存规则";
    create_rule: "Create rule" | "创建规则";
    delete_rule: "Delete rule" | "删除规则";
    edit_rule: "Edit rule" | "编辑规则";
    name: "Name" | "名称";
    subject: "Watches" | "监视";
    above: "Fires above" | "高于此值触发";
    traffic_min: "Ignored below" | "低于此流量忽略";
    hold_for: "Must hold for" | "须持续";
    keep_firing: "Keeps firing for" | "继续触发";
    enabled: "Enabled" | "启用";
    disabled: "disabled" | "已停用";
    empty_is_all: "empty: all" | "留空：全部";
    job_hint: "namespace/job" | "命名空间/作业";
    seconds: "s" | "秒";
    per_second: "/s" | "/秒";
    start_from: "Start from" | "起点";
    no_rules: "There is no rule yet. Create one here, or on a state's page." | "还没有规则。在此或在状态页上新建。";
    no_active: "Nothing is pending or firing." | "没有待定或触发中的告警。";
    no_history: "No alert has changed its phase yet." | "还没有告警变更过阶段。";
    sub_miss_ratio: "TTL-miss ratio" | "TTL 未命中率";
    sub_disk_bytes: "size on disk" | "磁盘占用";
    sub_logical_bytes: "logical size" | "逻辑大小";
    sub_growth_per_day: "growth per day" | "日增长";
    sub_writes_per_second: "writes per second" | "每秒写入";

    // lineage
    source: "source" | "数据源";
    sink: "sink" | "输出";
    pick_job: "Job" | "作业";
    exchange: "by key" | "按键";
    lineage_hint: "Edges are as wide as their rate; a dashed edge exchanges by key. A cylinder is a state." | "连线宽度表示速率；虚线表示按键交换。圆柱表示状态。";
    as_table: "The same as a table" | "同样内容的表格";
    from: "From" | "来自";
    to: "To" | "去往";
    rate: "Rate" | "速率";

    // audit
    no_audit: "Nobody has acted yet." | "还没有人操作过。";
    intent: "intent" | "意图";
    outcome: "outcome" | "结果";

    // errors
    not_found: "There is no such page." | "没有这个页面。";
    not_found_do: "The link may be old: start again from" | "链接可能已过期，请重新从这里开始：";
    failed: "This could not be shown." | "无法显示。";
    failed_do: "Reload the page; if it stays, look at the server's log." | "请刷新页面；若仍如此，请查看服务器日志。";
    network: "The server did not answer. Is it running?" | "服务器没有响应。它在运行吗？";
    unreadable: "The server's answer could not be read. Reload the page: it may be of another version." | "无法解析服务器的响应。请刷新页面：版本可能不同。";
}

#[cfg(test)]
mod tests {
    use super::PAIRS;

    #[test]
    fn every_word_is_there_and_calm() {
        for (name, en, zh) in PAIRS {
            assert!(!en.trim().is_empty() && !zh.trim().is_empty(), "{name}");
            for text in [en, zh] {
                assert!(!text.contains('!') && !text.contains('！'), "{name}: {text}");
            }
        }
    }
}
