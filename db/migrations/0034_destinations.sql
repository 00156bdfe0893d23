-- Where programs of an account may connect to beyond the public internet: what the operator grants, by a name that manifests have
-- for it. A row never changes. It is removed, and another one made: so what was granted once is known by its id.
create table destinations (
  id          text primary key default create_id('dst_'),
  account_id  text not null references accounts (id),
  name        text not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$'),
  -- A name in small letters, an IPv4 address, or a range of at most a /16.
  host        text not null,
  -- TCP ports and ranges of ports: 5432,8000-8010.
  ports       text not null check (ports ~ '^[0-9]{1,5}(-[0-9]{1,5}){0,1}(,[0-9]{1,5}(-[0-9]{1,5}){0,1}){0,15}$'),
  created_at  timestamptz not null default clock_timestamp(),
  unique (account_id, name),
  constraint host_is_name_or_address check (
    host ~ '^[0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9]{1,2}){0,1}$'
    or (length(host) <= 253 and host ~ '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9]){0,1}\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9]){0,1}$' and host ~ '[a-z]')
  ),
  -- The same ranges as in domain/destinations.ts: loopback, link-local, metadata, multicast, and the router's own.
  constraint address_can_be_granted check (
    case when host ~ '^[0-9]{1,3}(\.[0-9]{1,3}){3}(/[0-9]{1,2}){0,1}$' then
      masklen(cast(host as inet)) >= 16 and network(cast(host as inet)) = cast(host as inet)
      and not cast(host as inet) && any (array[
        inet '0.0.0.0/8', '10.0.2.0/24', '100.100.100.200', '127.0.0.0/8', '168.63.129.16', '169.254.0.0/16',
        '192.0.0.0/24', '224.0.0.0/4', '240.0.0.0/4'])
    else true end
  )
);

-- Hosts whose programs have connections there cut them at once.
create function announce_destination_end() returns trigger language plpgsql as $$
begin
  perform pg_notify('destination_ended', old.id);
  return null;
end $$;
create trigger destination_ends after delete on destinations
  for each row execute function announce_destination_end();

create function forbid_destination_change() returns trigger language plpgsql as $$
begin
  raise exception 'a destination is removed and added again' using errcode = 'restrict_violation';
end $$;
create trigger destination_stays before update on destinations
  for each row execute function forbid_destination_change();
