-- Why: the first schema of what must never be lost: who runs, what was ordered and by whom, which
-- rules hold. Written with synchronous=FULL. Samples live in series.db.
--
-- Times are ms since the Unix epoch. `of` is {namespace}/{job_name}/{operator}/{state}.

-- One row a start of a job. The largest id of a job is its current run.
create table run (
    id integer primary key autoincrement,
    run text not null unique,
    namespace text not null,
    job_name text not null,
    hello text not null, -- JSON as the engine said it last
    heard_millis integer not null, -- server clock of the first hello
    last_seq integer, -- null: no report yet
    received_millis integer, -- server clock of the last report
    report blob, -- the last report, as it came: a zstd frame of JSON
    baseline text not null default '{}' -- JSON: where each state stood when it was first seen
) strict;
create index run_by_job on run (namespace, job_name, id);

-- Reports that an engine numbered and never delivered.
create table gap (
    run_id integer not null references run (id) on delete cascade,
    from_seq integer not null,
    to_seq integer not null,
    noticed_millis integer not null,
    primary key (run_id, from_seq)
) strict, without rowid;

-- What happened to jobs: the flags on the charts.
create table event (
    id integer primary key,
    namespace text not null,
    job_name text not null,
    operator text,
    state text,
    wall_millis integer not null,
    kind text not null,
    text text not null
) strict;
create index event_by_job on event (namespace, job_name, wall_millis);
create index event_by_time on event (wall_millis);

-- Orders to breakers. autoincrement: a version is never used twice, engines compare them.
create table command (
    version integer primary key autoincrement,
    namespace text not null,
    job_name text not null,
    operator text not null,
    state text not null,
    class text not null check (class in ('phase', 'policy')), -- the latest of each class holds
    kind text not null check (kind in ('trip', 'reset', 'policy')),
    body text not null, -- JSON of the order
    actor text not null,
    reason text not null check (trim(reason) <> ''),
    requested_millis integer not null,
    phase text not null,
    shards_applied integer not null default 0,
    shards integer not null default 0,
    detail text not null default '',
    wall_millis integer not null
) strict;
create index command_by_state on command (namespace, job_name, operator, state, class, version);
create index command_by_phase on command (phase);

-- Who did what: an intent before it takes effect, an outcome after.
create table audit (
    id integer primary key autoincrement,
    wall_millis integer not null,
    actor text not null,
    stage text not null check (stage in ('intent', 'outcome')),
    action text not null,
    of text not null,
    detail text not null
) strict;

create table rule (
    id integer primary key autoincrement,
    name text not null unique,
    job text not null,
    operator text not null,
    state text not null,
    subject text not null,
    above real not null,
    traffic_per_second_min real not null,
    for_millis integer not null,
    keep_firing_millis integer not null,
    severity text not null,
    enabled integer not null
) strict;

-- One row a rule and state that is not inactive, so that `for` goes on after a restart.
create table alert_instance (
    rule_id integer not null references rule (id) on delete cascade,
    of text not null,
    phase text not null,
    active_millis integer not null,
    fired_millis integer,
    false_millis integer,
    resolved_millis integer,
    value real not null,
    no_data integer not null,
    primary key (rule_id, of)
) strict, without rowid;

create table alert_transition (
    id integer primary key,
    wall_millis integer not null,
    rule text not null,
    of text not null,
    phase text not null,
    value real not null
) strict;

-- Browsers that opened the start URL.
create table session (
    id text primary key,
    created_millis integer not null
) strict, without rowid;
