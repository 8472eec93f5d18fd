/** The findings of doctor besides the daemon's own, by their codes. docs/doctor.md shows this text. */

import type { FindingEntry } from './catalog.ts';

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
  exposed: {
    severity: 'wrong',
    meaning:
      "Others than the daemon's user can do what is only for it: write or replace app.ini, read a file with a secret of the configuration, write into DATA_PATH, use ADMIN_SOCKET, use TRUSTED_SOCKET and so report any usage, or replace a socket. The daemon does not start while a socket can be replaced.",
    mend: '`chmod` or `chgrp` as the finding says; set `[server] TRUSTED_MODE`; or put the socket into a directory that only the daemon and root can write, such as /run/softquota',
  },
  not_looked: {
    severity: 'notice',
    meaning: 'The user who runs doctor has no permission to check something, so it was not checked.',
    mend: 'run doctor as root',
  },
  daemon_away: {
    severity: 'wrong',
    meaning:
      "No daemon answers. At the administrator's socket: doctor could not check what only the daemon knows, such as unreadable files. At the socket that hooks ask: `onError` decides about pushes.",
    mend: 'start the daemon, or set `[server] SOCKET` to where it listens',
  },
  version: {
    severity: 'wrong',
    meaning:
      'The running daemon has another version than this command: it was not restarted after an update.',
    mend: 'restart the daemon',
  },
  gate_blocked: {
    severity: 'wrong',
    meaning:
      "The user that git runs as has no permission to use the gate's socket, so `onError` decides about pushes.",
    mend: 'give that permission, on the socket or on a directory above it',
  },
  not_enforced: {
    severity: 'notice',
    meaning:
      'Nothing is refused: quotas are switched off, or in report mode, in which refusals are only recorded.',
    mend: 'set `[quota] ENABLED = true`, and `[quota] MODE = enforce` when the figures are as expected',
  },
  hook: {
    severity: 'wrong',
    meaning:
      'The hooks of a repository do not check its pushes, or do not report them, as this daemon expects it: a hook is missing, another one is in its place, or its state cannot be found out; it is of another version, or hook.conf, softquota.* settings or softquota-* files of release 0.1 are still there (hooks of 0.1 work only with this release); it asks at another socket; the program by which it asks is gone, or is another one of that name, and pushes are refused; or the repository belongs to GitLab, which runs no hooks of a repository.',
    mend: '`softquota hooks install`, with a repository or a root; another hook then runs as `50-previous`. In GitLab install the global hook, for which doctor does not look: [forges/hooks.md](forges/hooks.md#gitlab)',
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
  gc_failing: {
    severity: 'wrong',
    meaning:
      'A repository has a gc.log: the last automatic gc failed, and git runs no other until the error is fixed. Usage does not fall.',
    mend: 'run `git gc`; it shows the error',
  },
  gc_missing: {
    severity: 'notice',
    meaning:
      'No gc runs in a repository, so what is deleted is never freed: it has more than 6,700 loose objects or 50 packs; or the automatic gc of git is switched off (`receive.autogc`, `gc.auto`), no cron job or timer names `git gc` or `git maintenance`, and the worker does not do it either.',
    mend: 'run `git gc`, or let the worker do it: `[reclaim] RUN = gc`',
  },
  signed_pushes: {
    severity: 'notice',
    meaning:
      'git offers signed pushes to clients (`receive.certNonceSeed`). It stores the certificate of such a push before any hook runs: the certificate counts, and nobody can be prevented from storing more of them.',
    mend: 'remove `receive.certNonceSeed` with `git config --unset-all`, unless pushes have to be signed',
  },
  program_missing: {
    severity: 'wrong',
    meaning:
      "git is not installed, or older than 2.11. Older versions have no quarantine: a refused push would stay on the disk. Or neither OpenBSD's nc (with timeout) nor curl, by which the hooks ask the gate, works on this host.",
    mend: 'install git 2.11 or newer, netcat-openbsd or curl',
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
