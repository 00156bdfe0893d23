-- Starts may lag in a burst, and the oldest are made first.
create index workflow_starts_oldest on workflow_starts (created_at);
