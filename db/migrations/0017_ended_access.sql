-- What is open for somebody ends with what let them in: the end of a session or of an access token is announced by its id.

create function announce_ended_access() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.id);
  return null;
end $$;

create trigger sessions_ended
  after delete on sessions
  for each row execute function announce_ended_access();
create trigger access_tokens_ended
  after delete on access_tokens
  for each row execute function announce_ended_access();
create trigger access_tokens_revoked
  after update of revoked_at on access_tokens
  for each row when (old.revoked_at is null and new.revoked_at is not null)
  execute function announce_ended_access();
