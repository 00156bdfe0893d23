-- When each key was last used, within a minute. People end a replaced key when nobody uses it any more.
alter table api_keys add column last_used_at timestamptz;
