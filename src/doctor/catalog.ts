/** The findings of doctor besides the daemon's own, by their codes. docs/doctor.md shows this text. */

import type { FindingEntry } from '../health/index.ts';

export const doctorFindings = {
  config: {
    severity: 'wrong',
    meaning:
      'app.ini or the environment has errors. With them the daemon does not start, and a reload changes nothing.',
    mend: 'correct every line that is named; `softquota serve --check-config` shows whether errors are left',
  },
  config_note: {
    severity: 'notice',
    meaning: 'A setting is allowed, but probably a mistake.',
    mend: 'as the finding says',
  },
  config_writable: {
    severity: 'wrong',
    meaning: 'Anybody on this host can write or replace app.ini.',
    mend: '`chmod o-w` for the file or directory that the finding names',
  },
  secret_readable: {
    severity: 'wrong',
    meaning: 'Anybody on this host can read a file with a secret of the configuration.',
    mend: "give the file to the daemon's group, and remove the read permission for others",
  },
  not_looked: {
    severity: 'notice',
    meaning: 'The user who runs doctor has no permission to check something, so it was not checked.',
    mend: 'run doctor as root',
  },
  daemon_away: {
    severity: 'wrong',
    meaning:
      'No daemon answers. So doctor could not check what only the daemon knows, such as unreadable files.',
    mend: 'start the daemon',
  },
  version: {
    severity: 'wrong',
    meaning:
      'The running daemon has another version than this command: it was not restarted after an update.',
    mend: 'restart the daemon',
  },
  gate_away: {
    severity: 'wrong',
    meaning: 'No daemon answers at the socket that hooks ask, so `onError` decides about pushes.',
    mend: 'start the daemon, or set `[server] SOCKET` to where it listens',
  },
  gate_blocked: {
    severity: 'wrong',
    meaning:
      "The user that git runs as has no permission to use the gate's socket, so `onError` decides about pushes.",
    mend: 'give that permission, on the socket or on a directory above it',
  },
  socket_exposed: {
    severity: 'wrong',
    meaning:
      "Anybody on this host can replace one of the daemon's sockets. The daemon does not start in this state.",
    mend: 'put the socket into a directory that only the daemon and root can write, such as /run/softquota',
  },
  trusted_open: {
    severity: 'wrong',
    meaning: 'Anybody on this host can use TRUSTED_SOCKET, and so can report any usage.',
    mend: 'set `[server] TRUSTED_MODE`, or use `chmod`',
  },
  admin_open: {
    severity: 'wrong',
    meaning: "Other users than the daemon's can use ADMIN_SOCKET, and so can do everything.",
    mend: '`chmod 0600`',
  },
  data_open: {
    severity: 'wrong',
    meaning: "Anybody on this host can write into DATA_PATH, and so can replace the daemon's data.",
    mend: '`chmod o-w`',
  },
  data_full: {
    severity: 'wrong',
    meaning:
      'Less than 64 MiB or 1,000 inodes are free on the disk of DATA_PATH: soon the daemon can store nothing.',
    mend: 'free space on that disk',
  },
  disabled: {
    severity: 'notice',
    meaning: 'Quotas are switched off, so nothing is refused.',
    mend: 'set `[quota] ENABLED = true`',
  },
  report: {
    severity: 'notice',
    meaning: 'Report mode: refusals are only recorded, and nothing is refused.',
    mend: 'set `[quota] MODE = enforce` when the figures are as expected',
  },
  hook: {
    severity: 'wrong',
    meaning:
      'A repository has no softquota hook, another hook is in its place, or its state cannot be found out. Its pushes are not checked, or not reported.',
    mend: '`softquota hooks install REPOSITORY`; another hook then runs as `50-previous`',
  },
  old_hooks: {
    severity: 'wrong',
    meaning:
      'Hooks are of another version, or hook.conf, softquota.* settings or softquota-* files of release 0.1 are still there. Hooks of 0.1 work only with this release.',
    mend: '`softquota hooks install ROOT` once',
  },
  hook_blocked: {
    severity: 'wrong',
    meaning:
      'git cannot run a hook, and skips it without a message: it is not executable, its file system is mounted with noexec, or the user that git runs as may not reach it.',
    mend: '`softquota hooks install REPOSITORY`, give the permission, or use a directory on another file system by core.hooksPath',
  },
  hook_previous_skipped: {
    severity: 'notice',
    meaning:
      'The hook that a repository had before is not executable, so it does not run. git did not run it before, either.',
    mend: '`chmod +x` if it should run; else remove it',
  },
  hook_unreached: {
    severity: 'wrong',
    meaning: 'core.hooksPath of the repository, its owner or the system makes git run other hooks.',
    mend: '`softquota hooks install --hooks-path DIRECTORY`; if the directory does not exist, remove core.hooksPath',
  },
  hook_gitlab: {
    severity: 'wrong',
    meaning:
      'A repository belongs to GitLab, which does not run the hooks of a repository, so its pushes are not checked.',
    mend: 'install the global hook, for which doctor does not look: [forges/hooks.md](forges/hooks.md#gitlab)',
  },
  hook_socket: {
    severity: 'wrong',
    meaning: "A hook asks at another socket than the daemon's.",
    mend: '`softquota hooks install REPOSITORY`',
  },
  hook_client: {
    severity: 'wrong',
    meaning:
      'The program by which the hooks ask the daemon is gone, or is another program of the same name. Pushes are refused.',
    mend: 'install it again, or `softquota hooks install ROOT`, which takes the one that is there',
  },
  inner_repository: {
    severity: 'wrong',
    meaning:
      'A folder inside a repository, below `refs`, `logs` or `modules`, looks like a repository to git. A push to its path meets no hook.',
    mend: 'delete the ref `…/HEAD`; below `modules`: `softquota hooks install REPOSITORY`; for all at once: [hooks.md](hooks.md#servers-on-which-pushers-name-paths)',
  },
  unknown_repository: {
    severity: 'wrong',
    meaning:
      'A repository has the hooks, but is not matched by any PATH: the daemon does not know it, and every push is allowed.',
    mend: 'add a template to `[storage.repos] PATH`, move the repository, or remove its hooks',
  },
  unmanaged_repository: {
    severity: 'notice',
    meaning:
      'A repository is below or beside a storage root, but is not matched by any PATH, so it counts for no owner.',
    mend: 'add a template to `[storage.repos] PATH`, if it should count',
  },
  root_unread: {
    severity: 'wrong',
    meaning: 'A directory below a storage root cannot be read, even by root.',
    mend: 'find out why, with `ls -la`',
  },
  gc_failing: {
    severity: 'wrong',
    meaning:
      'A repository has a gc.log: the last automatic gc failed, and git runs no other until the error is fixed. Usage does not fall.',
    mend: 'run `git gc`; it shows the error',
  },
  gc_needed: {
    severity: 'notice',
    meaning:
      'A repository has more than 6,700 loose objects or 50 packs, so no automatic gc has run for a long time.',
    mend: 'run `git gc`, or let the worker do it: `[reclaim] RUN = gc`',
  },
  gc_missing: {
    severity: 'notice',
    meaning:
      'Nothing collects garbage in a repository: the automatic gc of git is switched off (`receive.autogc`, `gc.auto`), no cron job or timer names `git gc` or `git maintenance`, and the worker does not do it either. What is deleted is never freed.',
    mend: 'let the worker do it: `[reclaim] RUN = gc`',
  },
  signed_pushes: {
    severity: 'notice',
    meaning:
      'git offers signed pushes to clients (`receive.certNonceSeed`). It stores the certificate of such a push before any hook runs: the certificate counts, and nobody can be prevented from storing more of them.',
    mend: 'remove `receive.certNonceSeed` with `git config --unset-all`, unless pushes have to be signed',
  },
  client_missing: {
    severity: 'wrong',
    meaning:
      "Neither OpenBSD's nc (with timeout) nor curl, by which the hooks ask the gate, works on this host.",
    mend: 'install netcat-openbsd or curl',
  },
  another_git: {
    severity: 'notice',
    meaning:
      'The host has several versions of git. The worker judges pushes only by those that `[reclaim] GIT` names, and git servers may run another one.',
    mend: 'name in `[reclaim] GIT` the git that the server runs, or remove the others',
  },
  git_missing: {
    severity: 'wrong',
    meaning:
      'git is not installed, or older than 2.11. Older versions have no quarantine: a refused push would stay on the disk.',
    mend: 'install git 2.11 or newer',
  },
  git_config: {
    severity: 'wrong',
    meaning:
      'git ends with an error as the user that it runs as, because that user cannot read a configuration file, or the file has an error. So do the hooks.',
    mend: '`chmod a+r` for the file, or correct it',
  },
  named_missing: {
    severity: 'wrong',
    meaning:
      'The configuration of sshd, a web server, gitolite or a service names a file or directory of softquota that is not there. Uploads over the limit are then not stopped early.',
    mend: 'write the path that every installation has, below `/usr/lib/softquota`',
  },
} as const satisfies Readonly<Record<string, FindingEntry>>;

export type DoctorCode = keyof typeof doctorFindings;
