-- A place that is disabled is told to the others of its account: nobody looks for what does not come.
alter table notices
  drop constraint notices_kind_check,
  add constraint notices_kind_check check (kind in ('failure', 'recovery', 'missed', 'slow', 'disabled', 'test')),
  drop constraint test_is_of_no_workflow,
  add constraint place_is_of_no_workflow check ((kind in ('disabled', 'test')) = (workflow_id is null));
