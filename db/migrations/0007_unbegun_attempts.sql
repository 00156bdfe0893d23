-- An attempt that was given up before the program began cost nobody anything, and may be made again as often as it takes.
alter table attempts add column begun boolean not null default true;
