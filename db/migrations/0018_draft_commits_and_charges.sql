-- Commits that only executions of drafts are of: they go when no execution is of them any more.
create index commits_of_drafts on commits (created_at) where draft;

-- What executions were charged that `execution_days` has not: those that were removed before there was such a table. With it the days
-- can be compared with the ledger. Written here, and never again.
create table uncounted_charges (
  account_id  text primary key references accounts (id),
  amount      bigint not null
);
insert into uncounted_charges (account_id, amount)
select charged.account_id, charged.total - coalesce(counted.total, 0)
  from (select l.account_id, sum(-l.amount) as total
          from ledger_entries l left join executions e on e.id = l.execution_id
         where l.kind = 'settlement' and (e.finished_at is null or e.finished_at < (select until from execution_days_counted))
         group by l.account_id) charged
  left join (select w.account_id, sum(d.spent) as total
               from execution_days d join workflows w on w.id = d.workflow_id group by w.account_id) counted using (account_id)
 where charged.total <> coalesce(counted.total, 0);
