-- Why: the first schema of samples. What is acknowledged is in `append` (one row a report); sealing
-- moves it into chunks (one row a series and stretch of time). Written with synchronous=NORMAL and
-- one full sync a second.
--
-- Times are ms since the Unix epoch.

create table series (
    id integer primary key,
    metric text not null,
    namespace text not null,
    job_name text not null,
    operator text not null, -- empty: the job's
    state text not null, -- empty: the operator's
    labels text not null, -- further labels as name="value", comma separated, sorted by name
    unique (namespace, job_name, operator, state, metric, labels)
) strict;

-- Highest report of each run that is stored here; control.db has its own.
create table watermark (
    run text primary key,
    last_seq integer not null,
    stored_millis integer not null
) strict, without rowid;

create table append (
    id integer primary key,
    namespace text not null,
    job_name text not null,
    wall_millis integer not null,
    body blob not null
) strict;
create index append_by_job on append (namespace, job_name, id);

create table chunk (
    series_id integer not null,
    tier integer not null check (tier in (0, 1)), -- 0: as it came, 1: five-minute averages
    from_millis integer not null,
    to_millis integer not null,
    day integer not null, -- days since the Unix epoch; a chunk never crosses midnight UTC
    merged integer not null, -- whether this is the whole day
    body blob not null,
    primary key (series_id, tier, from_millis)
) strict, without rowid;
create index chunk_by_day on chunk (tier, day, series_id, merged);

-- Cumulative histograms of one state or job at the first report of each minute.
create table histogram (
    series_id integer not null,
    minute integer not null,
    body blob not null,
    primary key (series_id, minute)
) strict, without rowid;
create index histogram_by_minute on histogram (minute);
