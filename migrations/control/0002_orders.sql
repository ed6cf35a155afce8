-- People order more than breakers: TTLs too, and later other things. Which classes and kinds there
-- are is the model's business (`Order`), so this table no longer lists them.
create table command_new (
    version integer primary key autoincrement,
    namespace text not null,
    job_name text not null,
    operator text not null,
    state text not null,
    class text not null, -- the latest of each class holds
    kind text not null,
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
insert into command_new select * from command;
-- a version is never given twice, whatever has been deleted
delete from sqlite_sequence where name = 'command_new';
insert into sqlite_sequence (name, seq)
select 'command_new', seq from sqlite_sequence where name = 'command';
drop table command;
alter table command_new rename to command;
create index command_by_state on command (namespace, job_name, operator, state, class, version);
create index command_by_phase on command (phase);
