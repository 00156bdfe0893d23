-- The program of an attempt had ended well, and its outputs were lost with its host: its outcome is void, and it counts as a try.
alter table attempts add column outputs_lost boolean not null default false;
