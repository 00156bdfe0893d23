-- Where no cgroup bounds the processor time of a program, it is measured, and billed when it is more than limits.cpu times its seconds.
alter table attempts add column processor_seconds numeric not null default 0 check (processor_seconds >= 0);
