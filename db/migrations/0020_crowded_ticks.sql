-- Over how long Temporal spreads its firing of a schedule. Where many are due at one minute, firing them costs it as much as
-- executing them; whoever looks after ticks begins those, and Temporal's firing, later, finds their records.
alter table schedules add column spread_seconds double precision not null default 0 check (spread_seconds >= 0);
