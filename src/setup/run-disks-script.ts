/** Each folder and file of scratch takes memory of the kernel that no limit of bytes counts. */
const SCRATCH_INODES = 100_000;

/**
 * The program that keeps the disks, as root, for as long as the service lives. It works in its own folder by relative
 * names only. The folders above belong to the service's user, who could put a link in their place. Standard input is
 * the line to the service: `renew N` makes a disk anew, and its end, however it comes about, takes all of them away.
 *
 * No journal: what is on a disk is of one execution, and nobody needs it after a crash. Blocks of deleted files are
 * given back to the data folder's own disk by `trim N`. The mount option `discard` would do so with each file, and
 * makes the removal of a folder wait 2 to 10 ms. No tables are written ahead either (`noinit_itable`).
 *
 * What the file system writes goes past the page cache of the image, where the disk below takes that. It would be in
 * memory twice otherwise, and be written more slowly. A program writes 2 GiB in 1.3 s so, and in 3.5 s otherwise.
 *
 * `scratch N BYTES` makes a disk for one execution, and `unscratch N` takes it away. What is on it is deleted first: otherwise what waits in
 * memory would be written before the disk is gone. The image is cut to nothing as well: a sandbox that is being made may
 * hold the mount for a while.
 */
export const KEEPER_SCRIPT = `
trap '' INT TERM HUP
cd "$1" || exit 1
count=$2 size=$3 files=$4 owner=$5
# Without mounting it: a mount that another process has copied meanwhile would keep changes back.
format() {
  bytes=$2 inodes=$3
  truncate -s "$bytes" "$1.img" && chmod 600 "$1.img" &&
  mkfs.ext4 -q -F -b 4096 -m 0 -N "$inodes" -O ^has_journal,^resize_inode -E "lazy_itable_init=1,nodiscard,root_owner=$owner" "$1.img" &&
  printf 'rmdir lost+found\\nset_inode_field / mode 040711\\n' | debugfs -w -f - "$1.img" > /dev/null 2>&1
}
attach() {
  mount -t ext4 -o loop,nosuid,nodev,noatime,noinit_itable,noauto_da_alloc,errors=remount-ro "$1.img" "$1" &&
  { losetup --direct-io=on "$(findmnt -n -o SOURCE "$1")" 2>/dev/null || :; } &&
  [ ! -e "$1/lost+found" ]
}
make() {
  format "$@" && mkdir -p "$1" && attach "$1"
}
# A copy of an empty disk has all that making one takes. Its image is 150 KiB and holes.
copy_first() {
  cp --sparse=always first.img "$1.img" && attach "$1"
}
drop() {
  umount -l "$1" 2>/dev/null
  rm -f "$1.img"
}
unscratch() {
  [ -e "s$1.img" ] || return 0
  for each in "s$1"/* "s$1"/.[!.]* "s$1"/..?*; do rm -rf --one-file-system "$each"; done
  umount -l "s$1" 2>/dev/null
  : > "s$1.img"
  rmdir "s$1" && rm "s$1.img"
}
scratch() {
  if unscratch "$1" && make "s$1" "$2" ${SCRATCH_INODES}; then echo "opened $1"; else echo "failed $1"; fi
}
drop_all() {
  wait
  n=0
  # What is still in memory is written before a disk is gone; all at once, they wait for each other's writing only once.
  while [ "$n" -lt "$count" ]; do { unscratch "$n"; drop "$n"; rmdir "$n" 2>/dev/null; } & n=$((n + 1)); done
  wait
  rm -f problems
  here=$(pwd)
  cd .. && rmdir "$here"
}
: > problems
n=0
all=
while [ "$n" -lt "$count" ]; do all="$all $n" n=$((n + 1)); done
if format first "$size" "$files" 2>> problems && mkdir -p $all; then
  for n in $all; do
    { copy_first "$n" 2>&1 || echo "disk $n could not be made"; } >> problems &
    [ $(((n + 1) % 4)) -eq 0 ] && wait
  done
  wait
else
  echo 'the first disk could not be made' >> problems
fi
rm -f first.img
if grep -q 'could not be made' problems; then
  reason=$(grep -v 'could not be made' problems | head -n 1)
  drop_all
  echo "$reason"
  exit 1
fi
echo ready
while read -r verb n bytes; do
  case $n in '' | *[!0-9]*) continue ;; esac
  case $bytes in *[!0-9]*) continue ;; esac
  [ "$n" -lt "$count" ] || continue
  # Beside the others: gigabytes take a while to go.
  if [ "$verb" = scratch ]; then scratch "$n" "$bytes" 2>/dev/null & continue; fi
  if [ "$verb" = unscratch ]; then { unscratch "$n" && echo "closed $n" || echo "failed $n"; } 2>/dev/null & continue; fi
  if [ "$verb" = trim ]; then fstrim "$n" 2>/dev/null; continue; fi
  [ "$verb" = renew ] || continue
  drop "$n"
  if make "$n" "$size" "$files" > problems 2>&1; then echo "renewed $n"; else echo "failed $n"; fi
done
drop_all
`;
