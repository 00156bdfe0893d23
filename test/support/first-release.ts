import { readdirSync } from "node:fs";

/** How many of today's migrations stand for those of before the first release. */
export const FIRST_MIGRATIONS = 9;

/** Takes back what later migrations make, so that a database is as of before the first release. */
export const UNDO_LATER_MIGRATIONS = `
  alter table api_keys drop column last_used_at;
  drop table known_destinations, workflow_starts, small_objects, refused_calls, live_requests, environment_archives, device_codes;
  drop function note_destinations, finish_executions, begin_execution, raise_reservation;
  alter table hosts drop column role, drop column version, drop column slots, drop column running, drop column waiting,
    drop column draining, drop column offers, drop column said_at, drop column key_ids;
  alter table executions drop column scheduled_for, drop column previous_scheduled_for, drop column scheduled_zone;
  drop table notices, failing_workflows, notice_places, call_receivers;
  drop function listen_to_end, send_result, write_notices, failing_line;
  drop function note_end, note_missed_tick cascade;
  alter table executions drop column notifies;
  drop table data_keys, stored_values;
  drop function drop_values_of_workflow cascade;
  drop table destinations;
  drop function announce_destination_end, forbid_destination_change;
  create or replace view kept_by_record as select account_id, sum(log_bytes) as bytes from executions group by account_id;
  drop table file_uploads;
  drop function begin_file_upload, count_kept_uploads, note_tick;
  alter table ticks drop column schedule_name, add primary key (workflow_id, nominal_at);
  alter table schedules drop column name;
  alter table executions drop column schedule_name;
  alter table attempts drop column values_used, drop column retry_at, drop column peak_memory_bytes,
    drop column used_processor_seconds, drop column connections;
`;

/** Names of those migrations, in their order, without their ending. */
export const LATER_MIGRATIONS: readonly string[] = readdirSync("db/migrations")
  .map((name) => name.replace(/\.sql$/, ""))
  .sort()
  .slice(FIRST_MIGRATIONS);
