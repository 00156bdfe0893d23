-- Which master keys each process can open, that which it seals with first: a rotation waits until every process has the new one.
-- Null: it says nothing of keys.
alter table hosts add column key_ids text[];
