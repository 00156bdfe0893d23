-- Executions of which Temporal may not know yet. The process that accepts an execution begins it at once and tells Temporal
-- later. The row is written with the acceptance and deleted when Temporal has the Workflow Execution, so that none is ever
-- left out, whichever process dies.
create table workflow_starts (
  execution_id  text primary key references executions (id) on delete cascade,
  -- The process that began the execution. The others leave the row to it for a time.
  begun_by      text not null,
  created_at    timestamptz not null default now()
);
