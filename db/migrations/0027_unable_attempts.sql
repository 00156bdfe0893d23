-- What the host of an attempt lacked for its program: no isolation, network, interpreter or environment. Its message says what.
alter table attempts add column unable boolean not null default false;
