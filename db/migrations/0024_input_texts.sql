-- Inputs of kind `json` as JSON texts by name. jsonb, and JavaScript's numbers, change digits, `1.0` and the order of keys; a text
-- within jsonb is not changed. An execution from before has none: its inputs are as they were kept then.
alter table executions add column input_texts jsonb not null default '{}' check (jsonb_typeof(input_texts) = 'object');

-- As before, with the texts, which a process of the version before does not give.
do $$
declare
  signature regprocedure := 'accept_execution(text, text, text, text, text, numeric, numeric, int, bigint, text, jsonb, bytea, jsonb, text,
    bytea, text, double precision, int, text, double precision, int, int, int, boolean, boolean)';
  definition text := pg_get_functiondef(signature);
begin
  execute 'drop function ' || signature;
  definition := replace(definition, 'backfill boolean)', 'backfill boolean, texts jsonb default ''{}'')');
  definition := replace(definition, 'trigger, inputs, secret_inputs', 'trigger, inputs, input_texts, secret_inputs');
  execute replace(definition, 'started_by, given, secrets', 'started_by, given, texts, secrets');
end $$;
