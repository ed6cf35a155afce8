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
    canaries: "Canaries" | "金丝雀";
    canary_note: "Synthetic rows that nobody sees or counts, followed through expiry, write-off and the removal of their bytes." | "无人可见、不计数的合成行，跟踪其过期、核销直到字节被删除。";
    canary_well: "all is well" | "正常";
    canary_overdue: "overdue" | "逾期";
    canary_now: "The present one" | "当前这只";
    canary_lives: "lives" | "存活";
    canary_expired: "has expired" | "已过期";
    canary_written_off: "is written off" | "已核销";
    canary_counts: "Written / expired / written off / bytes gone" | "写入 / 过期 / 核销 / 字节已删除";
    canary_write_off: "From expiry to write-off, state's clock" | "过期到核销（状态时钟）";
    canary_removal: "From write-off until its bytes were gone" | "核销到字节删除";
    canary_overdue_total: "Were overdue" | "曾逾期";
    business_checks: "Business checks" | "业务检查";
    must_hold: "Must hold" | "必须成立";
    checked: "Checked" | "已检查";
    violations: "Violations" | "违反";
    last_violation: "Last one, by the hash of its key" | "最近一次（键哈希）";
    hot_keys: "Hottest keys" | "最热的键";
    hot_note: "Writes, refreshing reads and removals, by the hash of the key." | "按键的哈希统计写入、续期读取和删除。";
    counted_for: "Counted over the last" | "统计时长";
    by_changes: "By changes" | "按变更次数";
    by_changelog_bytes: "By bytes to the changelog" | "按写入变更日志的字节";
    no_changes: "Nothing has changed yet." | "尚无变更。";
    no_hot_key: "No key stands out: none has more than" | "没有突出的键，每个键最多";
    at_least: "Amounts are at least that; they may be more by up to" | "数值为下限，最多可能再多";
    key: "Key" | "键";
    amount: "Amount" | "数量";
    share: "Share" | "占比";
    this_state: "This state" | "该状态";
    whole_job: "The whole job" | "整个作业";
    logical_size: "Logical: live keys and values" | "逻辑大小：存活的键和值";
    disk_size: "Disk: live SST files" | "磁盘：有效 SST 文件";
    in_memory_size: "In memory" | "内存中";
    heap_overhead: "row heads" | "行头";
    files_differ: "compression, shadowed rows, indexes, and what is not flushed yet" | "压缩、被覆盖的行、索引以及尚未刷盘的部分";
    of_it_cached: "Resident: of it in the write cache" | "常驻：写缓存中的部分";
    heap_note: "The state lies on the heap, whole. Each checkpoint writes it out." | "该状态全部位于堆内存，每次检查点完整写出。";
    disk_note: "Logical counts what is not written off; the disk follows with compactions, so the steps may be negative." | "逻辑大小只计未核销的条目；磁盘随压缩而变化，因此差值可能为负。";
    all_states_disk: "Live SST files of all states" | "所有状态的有效 SST 文件";
    being_replaced: "other files of running states" | "运行状态的其他文件";
    changelog: "changelog" | "变更日志";
    pinned: "held by checkpoints alone" | "仅由检查点持有";
    other_files: "spills, journals and the rest" | "溢写、日志及其他";
    folder_size: "Folder: all its files" | "目录：全部文件";
    last_full: "Checkpoint: the last full one" | "检查点：最近一次完整检查点";
    uploaded: "Uploaded: written for the last one" | "上传：最近一次新写入";
    folder_note: "A file that a checkpoint shares with the running job is counted once." | "检查点与运行作业共享的文件只计一次。";
    value_sizes: "Sizes of values" | "值的大小";
    value_note: "Once for each row and epoch that went to the changelog, this run." | "本次运行中每行每个纪元写入变更日志时计一次。";
    size: "Size" | "大小";
    writes: "Writes" | "写入";
    memory: "Memory of the job" | "作业内存";
    write_caches: "Write caches" | "写缓存";
    heap_states: "States on the heap" | "堆上的状态";
    memtables: "Memtables" | "MemTable";
    block_cache: "Block cache" | "块缓存";
    of_budget: "Of the budget (memory.total)" | "占预算（memory.total）";
    open_files: "Open files, beside the budget" | "打开的文件（预算外）";
    process: "Whole process" | "整个进程";
    memory_note: "Busy states get what others leave of the budget." | "繁忙的状态会使用其他状态未用的预算。";
    checkpoints: "Checkpoints of the job" | "作业检查点";
    no_checkpoints: "None since the job started. The next one comes by itself." | "作业启动以来尚无检查点，下一次会自动进行。";
    sources_wait: "The sources wait: the changelog has grown to its limit because checkpoints fail." | "数据源正在等待：检查点失败导致变更日志达到上限。";
    kept: "kept" | "保留";
    failed: "failed" | "失败";
    epoch: "Epoch" | "纪元";
    sort: "Kind" | "类型";
    full: "full" | "完整";
    incremental: "incremental" | "增量";
    took: "Took" | "耗时";
    stood_still: "Stood still" | "停顿";
    written_new: "Written" | "新写入";
    linked: "Shared" | "共享";
    left_out: "Expired, left out" | "已过期未写入";
    cleaning_took: "leaving them out took" | "过滤耗时";
    disk_full: "the disk was full" | "磁盘已满";
    damaged_file: "a file is damaged" | "文件损坏";
    io_error: "input or output failed" | "读写失败";
    overshoot: "Overshoot" | "超期";
    overshoot_note: "From expiry to removal, in the state's clock: by reads, by writes, and when the bytes went." | "从过期到删除的时间（状态时钟）：由读取、写入或字节回收触发。";
    after_expiry: "After expiry" | "过期后";
    before_expiry: "Before their expiry, by a TTL that was lengthened since" | "过期前删除（之后 TTL 被延长）";
    entries: "Entries" | "条目";
    none_removed: "No expired entry has been removed in this run." | "本次运行尚未删除过期条目。";
    median: "Median" | "中位数";
    distribution: "Distribution" | "分布";
    as_of_load: "As of when this was loaded" | "以加载时为准";
    refresh: "refresh" | "刷新";
}
