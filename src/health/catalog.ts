/**
 * All findings by their codes: those that a daemon can have about itself, and those of doctor besides. The
 * manual (docs/doctor.md) shows this text. Makes findings, shortens long lists of them, and writes command lines
 * that can be copied into a shell, whatever the names in them hold.
 */

import { encodePath } from '../layout/index.ts';
import { printable, shellQuoted } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { Listed } from './observed.ts';

export interface FindingEntry {
  readonly severity: 'wrong' | 'notice';
  /** The meaning, as sentences for the manual. */
  readonly meaning: string;
  /** The fix in general; a finding itself names the exact command or setting. */
  readonly mend: string;
}

const wrong = (meaning: string, mend: string): FindingEntry => ({ severity: 'wrong', meaning, mend });

/** A fault to come, or something to know. */
const notice = (meaning: string, mend: string): FindingEntry => ({ severity: 'notice', meaning, mend });

export const daemonFindings = {
  not_swept: wrong(
    'No sweep has finished yet, so usage is not fully known; or the last one failed; or it ended more than three intervals of `[scan] SCHEDULE` ago.',
    'fix the error if the finding names one, then run `softquota scan` and wait until it ends; the log shows what delayed the sweeps',
  ),
  store_away: wrong(
    'Measurements cannot be written to the store. Meanwhile the daemon answers from memory.',
    'free disk space below `[server] DATA_PATH`, or give the daemon write permission there; the daemon then continues by itself',
  ),
  disk_full: wrong(
    'A file system has less free space, or room for fewer files, than `[disk] MIN_FREE`: everything that grows there is refused. Or less than 64 MiB or 1,000 inodes are free on the disk of DATA_PATH: soon the daemon can store nothing.',
    'delete data there, or make the file system larger; then everything goes on by itself',
  ),
  overcommitted: notice(
    'The limits of all owners together are more than the disks with storage have, and no `[disk] MIN_FREE` keeps space free.',
    'set `[disk] MIN_FREE`, such as `5%`, or lower the limits',
  ),
  disk_low: notice(
    'A file system has less free space, or room for fewer files, than twice `[disk] MIN_FREE`; or at the growth of the last weeks the disks with storage are full within 30 days.',
    'delete data there, or make the file system larger, before `[disk] MIN_FREE` is reached; or lower limits',
  ),
  shared_away: wrong(
    'The store that several hosts share cannot be used. Meanwhile the hosts use the last known data, and the policy cannot be changed.',
    'start the server again, or correct `[store] HOST`; the daemon then continues by itself',
  ),
  policy_diverged: wrong(
    'The policy in the shared store does not continue the policy in force on this host, or on the host that is named: it has other changes instead of the known ones.',
    '`softquota store repair --known` restores the policy in force, `softquota store repair --stored` uses the policy in the store',
  ),
  host_id_taken: wrong(
    'Another running daemon uses the `[server] HOST_ID` of this one in the shared store. This daemon answers, but does not share its usage with the other hosts.',
    'give each host its own HOST_ID, also if one is a copy of the other; the daemon continues by itself when the other one has ended',
  ),
  shared_store: notice(
    'The server of the shared store is configured so that it can lose data, or lets anybody connect.',
    'set the line of redis.conf that the finding names',
  ),
  shared_store_loses: wrong(
    'The server of the shared store loses what it was given. It deletes keys when its memory is full, or it keeps an append-only file and was empty after a start: Redis drops what the file has if its ACL file has `user default off` without rights.',
    'set `maxmemory-policy noeviction`; write `user default off ~* &* +@all` into the ACL file, then restart Redis',
  ),
  host_clock: wrong(
    'The clock of this host differs from that of the shared store by more than five seconds.',
    'set the clock, such as with `timedatectl set-ntp true`',
  ),
  host_silent: notice(
    'A host has sent nothing for more than a day. The usage that it last reported still counts.',
    'start its daemon; if the host no longer exists: `softquota host forget ID`',
  ),
  shared_unwalked: wrong(
    'Storage that a host leaves to another one is not measured at the moment: no host walks it, or the host that does sends nothing.',
    "start that host's daemon, or name the storage in `[scan] ROOTS` of another host; then reload its daemon",
  ),
  shared_twice: wrong(
    'Storage that several hosts mount is walked by more than one of them, so what lies there counts twice.',
    'set `[scan] ROOTS` so that one host walks it, then reload the daemons of the others',
  ),
  source_stale: wrong(
    'A source has not reported for longer than its `stale_after`. Its last figures still count, and are marked as stale.',
    'start the reporting program again; if it no longer exists: [`DELETE /v1/sources/NAME`](gate.md#sources)',
  ),
  forge_away: wrong(
    "The forge's database cannot be read: its configuration file is not there, or does not say where the database is; the database does not answer, or refuses the user or the password; the database's user or the daemon's user lacks a right to read; or a table or column that softquota needs is missing. The last known figures still count, and nothing is refused for it.",
    'correct `[forge]`, start the database, or give the right to read: [two lines of SQL, or a group](forges/gitea.md#rights); if a column is missing, wait if the forge is being upgraded, else see the [versions](forges/gitea.md#versions) that softquota reads; the daemon then continues by itself',
  ),
  forge_owner_refused: wrong(
    'A user or organization of the forge could not be taken over, because another owner of softquota with data of its own has the name, or has what the type cannot have.',
    'rename or delete the owner of softquota who is in the way: `softquota user edit NAME --name OTHER`',
  ),
  forge_owners_absent: notice(
    "More than half of the owners are not in the forge's database any more. As this may be another database, none of them is deleted.",
    'correct `[forge]`; if they are really gone: `softquota user delete NAME`',
  ),
  forge_unowned: notice(
    'The forge stores data that has no owner in its database, so it is not counted for any owner.',
    '[what can be deleted, and how](forges/gitea.md#what-belongs-to-nobody)',
  ),
  unpublished: wrong(
    'The list of refused owners cannot be written next to the socket of the gate. So hooks with `onError = last` (the default) have no list, or an old one.',
    'give only the daemon write permission for the directory of `[server] SOCKET`; the daemon then continues by itself',
  ),
  worker_missing: wrong(
    '`[hooks] KEEP` is true, `[reclaim] RUN` is gc or `[quota] GARBAGE` is forgive, and no worker has reported for half a minute. New repositories get hooks only from a template, and what is deleted frees no space. What was measured before is still forgiven, but not in repositories that somebody pushed to more than ten minutes ago, and after a day nothing is. Or the worker runs with a configuration from before `[hooks] KEEP = true`, so it keeps no hooks.',
    '`systemctl enable --now softquota-worker`, or run `softquota worker` as the user that git runs as; `systemctl restart softquota-worker` if it runs',
  ),
  broken_pushes: notice(
    'Nothing removes what a push leaves behind that breaks off: no worker is connected, and receive-pack is not the one of softquota. It counts a minute after it came, and stays until git removes it after two weeks.',
    '`systemctl enable --now softquota-worker`, or [receive-pack](receive-pack.md)',
  ),
  other_git: notice(
    'The git that takes pushes may not be the one by which the worker judges them, which may know less of the repository: hooks run from a git that is not in `[reclaim] GIT`, or the host has several versions of git.',
    'name in `[reclaim] GIT` the git that the server runs, and restart the worker; or remove the others',
  ),
  long_push: notice(
    'A push began more than an hour ago, and its `git receive-pack` still runs. What it has brought counts, and nothing removes it as long as that process lives.',
    'end the process if its client is gone; set a limit of time in sshd, the web server or the proxy',
  ),
  worker_outdated: notice(
    'The worker is of another version than the daemon.',
    '`systemctl restart softquota-worker`',
  ),
  garbage: notice(
    'Much in repositories is reachable from no ref, and nothing deletes it: the owners deleted branches, and their usage stays the same.',
    '`[reclaim] RUN = gc`, or `softquota reclaim` now and then; see [reclaim.md](reclaim.md)',
  ),
  garbage_failing: wrong(
    'The worker cannot measure or collect what is unreachable in a repository.',
    "fix what the message names, in git's words; the worker then continues by itself",
  ),
  repository_unguarded: wrong(
    'A repository has no working hooks, and the worker cannot put them in.',
    'fix what the finding names, such as the owner of the repository; the worker then continues by itself',
  ),
  notices_dead: notice(
    'Notices to a webhook or by mail could not be delivered, and are not tried again by themselves.',
    'fix what the finding names, then `softquota notices send-again --all`; see [notices.md](notices.md#what-cannot-be-delivered)',
  ),
  root_away: wrong(
    'The fixed part of a template is missing, another file system is in its place, or most of its units (at least ten) are missing at once. The units keep their bytes.',
    'mount the file system, or restore the missing data; if the present state is intended: `softquota scan --accept-moved`, which removes the missing units',
  ),
  disk_hangs: wrong(
    'A disk, such as a file server or a FUSE file system, has not answered for half a minute. Its units count with their last known bytes; all other units are measured.',
    'repair its server, or unmount it; when it answers, the daemon measures it again by itself',
  ),
  no_storage: wrong(
    'No `[storage.*]` section has a PATH, so nothing is measured.',
    'set `[storage.repos] PATH`',
  ),
  secret_lost: wrong(
    'The client secret of an OAuth2 source was encrypted with a key that the daemon does not have, so nobody can sign in with this source.',
    'add that key to `[security] SECRET_KEY` and restart the daemon, or enter the client secret again',
  ),
  config_changed: wrong(
    'app.ini has changed since the daemon read it.',
    'send SIGHUP to the daemon: `kill -HUP` with its process id',
  ),
  restart_needed: wrong(
    'Keys were changed that take effect only after a restart; or the running daemon has another version than this command, because it was not restarted after an update.',
    'restart the daemon',
  ),
  unread: wrong(
    'A file or directory below a storage root cannot be read. Meanwhile its unit counts the larger of its last known bytes and those that can be read. While no daemon answers, doctor names what even root cannot read.',
    'give the daemon read permission, then run `softquota scan`; if that is not the reason, find it out with `ls -la`',
  ),
  unit_fault: wrong(
    'A unit below a storage root cannot be measured or assigned; for instance, its owner cannot be found.',
    'rename it, or correct the file or setting that names its owner, then run `softquota scan`',
  ),
  leftover: notice(
    'git began a pack more than an hour ago and never finished it: a gc, a repack or a fetch was killed. The file counts.',
    'remove the file',
  ),
  same_owner: notice(
    'Directories with different names count for the same owner.',
    'rename one, or set `[users] CASE = keep` if only the case of letters differs',
  ),
  perhaps_renamed: notice(
    'An owner who is in groups has no units any more, and another owner came within a day of that: perhaps the owner was renamed on the disk alone, and the new name is in none of the groups.',
    '`softquota user edit OLD --name NEW` keeps everything; if it is somebody else: remove the old owner from the groups, or delete the old owner',
  ),
  policy_fault: notice(
    'The policy has what is probably a mistake; `softquota policy lint` finds the same. `[quota] DEFAULT_GROUPS` names a group that does not exist; a group has no rules, or no members and is no default group; a default group never decides, because another one always allows at least as much; a rule has no subject except `none`, or never decides, because another rule of its group is always at least as strict; or no rule covers a subject, so it is always refused, or not limited.',
    'change or delete the rule or the group that the finding names, or `[quota] DEFAULT_GROUPS` or `UNCOVERED`',
  ),
};

export const doctorFindings = {
  config: wrong(
    'app.ini or the environment has errors. With them the daemon does not start, and a reload changes nothing.',
    'correct every line that is named; `softquota serve --check-config` shows whether errors are left',
  ),
  config_note: notice('A setting is allowed, but probably a mistake.', 'as the finding says'),
  exposed: wrong(
    "Others than the daemon's user can do what is only for it: write or replace app.ini, read a file with a secret of the configuration, write into DATA_PATH, use ADMIN_SOCKET, use TRUSTED_SOCKET and so report any usage, or replace a socket. The daemon does not start while a socket can be replaced.",
    '`chmod` or `chgrp` as the finding says; set `[server] TRUSTED_MODE`; or put the socket into a directory that only the daemon and root can write, such as /run/softquota',
  ),
  not_looked: notice(
    'The user who runs doctor has no permission to check something, so it was not checked.',
    'run doctor as root',
  ),
  daemon_away: wrong(
    "No daemon answers. At the administrator's socket: doctor could not check what only the daemon knows, such as unreadable files. At the socket that hooks ask: `onError` decides about pushes.",
    'start the daemon, or set `[server] SOCKET` to where it listens',
  ),
  gate_blocked: wrong(
    "The user that git runs as has no permission to use the gate's socket, so `onError` decides about pushes.",
    'give that permission, on the socket or on a directory above it',
  ),
  not_enforced: notice(
    'Nothing is refused: quotas are switched off, or in report mode, in which refusals are only recorded.',
    'set `[quota] ENABLED = true`, and `[quota] MODE = enforce` when the figures are as expected',
  ),
  hook: wrong(
    'The hooks of a repository do not check its pushes, or do not report them, as this daemon expects it: a hook is missing, another one is in its place, or its state cannot be found out; it is of another version, or hook.conf, softquota.* settings or softquota-* files of release 0.1 are still there (hooks of 0.1 work only with this release); it asks at another socket; the program by which it asks is gone, or is another one of that name, and pushes are refused; or the repository belongs to GitLab, which runs no hooks of a repository.',
    '`softquota hooks install`, with a repository or a root; another hook then runs as `50-previous`. In GitLab install the global hook, for which doctor does not look: [forges/hooks.md](forges/hooks.md#gitlab)',
  ),
  hook_blocked: wrong(
    'git cannot run a hook, and skips it without a message: it is not executable, its file system is mounted with noexec, or the user that git runs as may not reach it.',
    '`softquota hooks install REPOSITORY`, give the permission, or use a directory on another file system by core.hooksPath',
  ),
  hook_previous_skipped: notice(
    'The hook that a repository had before is not executable, so it does not run. git did not run it before, either.',
    '`chmod +x` if it should run; else remove it',
  ),
  hook_unreached: wrong(
    'core.hooksPath of the repository, its owner or the system makes git run other hooks.',
    '`softquota hooks install --hooks-path DIRECTORY`; if the directory does not exist, remove core.hooksPath',
  ),
  inner_repository: wrong(
    'A folder inside a repository, below `refs`, `logs` or `modules`, looks like a repository to git. A push to its path meets no hook.',
    'delete the ref `…/HEAD`; below `modules`: `softquota hooks install REPOSITORY`; for all at once: [hooks.md](hooks.md#servers-on-which-pushers-name-paths)',
  ),
  unknown_repository: wrong(
    'A repository has the hooks, but is not matched by any PATH: the daemon does not know it, and every push is allowed.',
    'add a template to `[storage.repos] PATH`, move the repository, or remove its hooks',
  ),
  unmanaged_repository: notice(
    'A repository is below or beside a storage root, but is not matched by any PATH, so it counts for no owner.',
    'add a template to `[storage.repos] PATH`, if it should count',
  ),
  gc_failing: wrong(
    'A repository has a gc.log: the last automatic gc failed, and git runs no other until the error is fixed. Usage does not fall.',
    'run `git gc`; it shows the error',
  ),
  gc_missing: notice(
    'No gc runs in a repository, so what is deleted is never freed: it has more than 6,700 loose objects or 50 packs; or the automatic gc of git is switched off (`receive.autogc`, `gc.auto`), no cron job or timer names `git gc` or `git maintenance`, and the worker does not do it either.',
    'run `git gc`, or let the worker do it: `[reclaim] RUN = gc`',
  ),
  signed_pushes: notice(
    'git offers signed pushes to clients (`receive.certNonceSeed`). It stores the certificate of such a push before any hook runs: the certificate counts, and nobody can be prevented from storing more of them.',
    'remove `receive.certNonceSeed` with `git config --unset-all`, unless pushes have to be signed',
  ),
  program_missing: wrong(
    "git is not installed, or older than 2.11. Older versions have no quarantine: a refused push would stay on the disk. Or neither OpenBSD's nc (with timeout) nor curl, by which the hooks ask the gate, works on this host.",
    'install git 2.11 or newer, netcat-openbsd or curl',
  ),
  git_config: wrong(
    'git ends with an error as the user that it runs as, because that user cannot read a configuration file, or the file has an error. So do the hooks.',
    '`chmod a+r` for the file, or correct it',
  ),
  named_missing: wrong(
    'The configuration of sshd, a web server, gitolite or a service names a file or directory of softquota that is not there. Uploads over the limit are then not stopped early.',
    'write the path that every installation has, below `/usr/lib/softquota`',
  ),
};

/** Thousands of findings have one cause, and would hide all others. */
const mostTold = 20;

/** Tells the first ones, and how many there are besides. */
export function listed<Item>({ first, count }: Listed<Item>, tell: (item: Item) => Finding): Finding[] {
  const told = first.slice(0, mostTold).map(tell);
  const last = told.at(-1);
  if (last === undefined || count <= told.length) return told;
  const message = `… and ${count - told.length} more like these`;
  return [...told, { ...last, message, mend: 'fix these first; then the next ones are listed' }];
}

const catalog = { ...daemonFindings, ...doctorFindings };

/** `message` is one line, harmless on a terminal; `mend` can be followed as it stands. */
export function makeFinding(code: keyof typeof catalog, message: string, mend: string): Finding {
  return { code, severity: catalog[code].severity, message, mend };
}

/** The words as one line for sh, on which a terminal obeys nothing. */
export function commandLine(...words: readonly string[]): string {
  return words.map(quoted).join(' ');
}

/**
 * One word for sh. What could mislead a reader stands in it by the bytes that it is made of; only newlines at
 * the end, which sh would take away from them, stand as they are.
 */
export function quoted(word: string): string {
  if (printable(word) === word) return shellQuoted(word);
  let end = word.length;
  while (word[end - 1] === '\n') end--;
  const bytes = [...Buffer.from(encodePath(word.slice(0, end)))].map(octal);
  return `"$(printf '${bytes.join('')}')${word.slice(end)}"`;
}

/** Writes a byte for `printf`; letters and the like stay as they are. */
function octal(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[\w./]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
}
