-- Its process was asked to stop while it ran. The next process begins the program again, and no worker counts as lost for it.
alter table attempts add column handed_over boolean not null default false;
