-- What a scheduled run knows of its tick: the time that it stands for, the one before, and the zone of its schedule. They are in the
-- row that is read when an attempt begins, and stay when the record of the tick goes.
alter table executions
  add column scheduled_for           timestamptz,
  add column previous_scheduled_for  timestamptz check (previous_scheduled_for < scheduled_for),
  add column scheduled_zone          text,
  add constraint tick_has_zone check ((scheduled_for is null) = (scheduled_zone is null)),
  add constraint tick_by_schedule check (scheduled_for is null or trigger = 'schedule');
