-- How many executions of each workflow ended on each day (UTC), and what they cost: what lists and charts add up. It counts those that
-- ended before `until`; the few since then are counted when somebody asks. Kept when executions are not any more.
create table execution_days (
  workflow_id  text not null references workflows (id),
  day          date not null,
  executions   int not null,
  spent        bigint not null,
  primary key (workflow_id, day)
);
create table execution_days_counted (
  only_row  boolean primary key default true check (only_row),
  until     timestamptz not null
);
insert into execution_days_counted (until)
select coalesce((select min(finished_at) from executions), now());

-- Also those that cost nothing, which the one before left out.
drop index if exists executions_spent;
create index executions_finished on executions (account_id, finished_at) include (workflow_id, charge_total)
  where finished_at is not null;
