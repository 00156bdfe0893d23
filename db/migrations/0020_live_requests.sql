-- What followers of an execution ask the process that runs its program, and its answer: one row a follower, overwritten by
-- each next question. After a crash of the server it is empty, and followers ask again.
create unlogged table live_requests (
  id text primary key,
  -- Which question of the follower this is, so that an answer to an older one is not taken for it.
  turn integer not null,
  execution_id text not null,
  -- On which host `start`, in bytes, is a place in the log; null: nothing has been seen yet.
  host_id text,
  start bigint not null check (start >= 0),
  -- What the follower knows, as JSON text; null: nothing. Another state is worth an answer.
  known text,
  -- What is wanted: what is new, when it is there; what there is now; or the state alone, now.
  wants text not null check (wants in ('news', 'lines', 'state')),
  expires_at timestamptz not null,
  answered_by text,
  lines bytea check (octet_length(lines) <= 524288),
  state text,
  constraint answer_is_whole check ((answered_by is null) = (lines is null) and (answered_by is null) = (state is null))
);
