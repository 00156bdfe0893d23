-- What keeps an installation in order: which process does it, and how often something had to be put right.

-- Who of several processes does what one is enough for. A holder that died, or sleeps, loses it when its time is over.
create table leases (
  name        text primary key,
  holder      text not null,
  held_until  timestamptz not null
);

-- How often each kind of repair was made, by all processes together, since there is this installation.
create table repairs (
  repair   text primary key,
  count    bigint not null check (count > 0),
  last_at  timestamptz not null default now()
);
