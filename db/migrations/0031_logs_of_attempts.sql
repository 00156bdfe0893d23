-- The attempt whose last lines the kept log of an open execution has: the next attempt goes on with their ids. Null: it has none,
-- or nobody knows of which.
alter table executions add column log_attempt int;
