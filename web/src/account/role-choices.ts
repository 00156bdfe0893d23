/** What each role may do, in a few words. */
export const ROLE_CHOICES = [
  { value: "owner", label: "Owner" },
  { value: "member", label: "Member" },
  { value: "viewer", label: "Viewer" },
];

export const ROLE_HELP = "Viewers read, members write and run, owners also manage the members.";
