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
  clock: {
    severity: 'wrong',
    meaning: 'The clocks of the daemon and of this command differ by more than a minute.',
    mend: 'set the clock, restart the daemon',
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
  hook_missing: {
    severity: 'wrong',
    meaning:
      'A repository has no pre-receive or post-receive hook, so its pushes are not checked, or not reported.',
    mend: '`softquota hooks install REPOSITORY`',
  },
  hook_foreign: {
    severity: 'wrong',
    meaning: 'Another hook has the name of a softquota hook, and does not run the softquota hook.',
    mend: '`softquota hooks install REPOSITORY`; the other hook then runs as `50-previous`',
  },
  hook_outdated: {
    severity: 'wrong',
    meaning: 'A hook is from another version of softquota.',
    mend: '`softquota hooks install REPOSITORY`',
  },
  hook_shared: {
    severity: 'wrong',
    meaning:
      'The file that the stub in a repository runs is missing, or either is from another version. Pushes pass unchecked if it is missing.',
    mend: '`softquota hooks install REPOSITORY`; with `--shared DIRECTORY` if the file lies elsewhere than in the package',
  },
  hook_not_executable: {
    severity: 'wrong',
    meaning: 'A hook is not executable, so git skips it without a message.',
    mend: '`softquota hooks install REPOSITORY`',
  },
  hook_previous_skipped: {
    severity: 'notice',
    meaning:
      'The hook that a repository had before is not executable, so it does not run. git did not run it before, either.',
    mend: '`chmod +x` if it should run; else remove it',
  },
  hook_link: {
    severity: 'wrong',
    meaning: "A hook is a symbolic link that does not point to this version's hook.",
    mend: 'remove the link, then `softquota hooks install REPOSITORY`',
  },
  hook_unreached: {
    severity: 'wrong',
    meaning: 'core.hooksPath of the repository, its owner or the system makes git run other hooks.',
    mend: 'install the hooks in that directory, or let the hooks there run them; if the directory does not exist, remove core.hooksPath',
  },
  hook_gitlab: {
    severity: 'wrong',
    meaning:
      'A repository belongs to GitLab, which does not run the hooks of a repository, so its pushes are not checked.',
    mend: 'install the global hook, for which doctor does not look: [forges/hooks.md](forges/hooks.md#gitlab)',
  },
  config_included: {
    severity: 'notice',
    meaning:
      "A repository's configuration includes other files, which doctor does not read. A core.hooksPath there makes git run other hooks.",
    mend: "check the included files, as the repository's user",
  },
  hook_blocked: {
    severity: 'wrong',
    meaning: 'The user that git runs as has no permission to run a hook, so git skips it without a message.',
    mend: 'give that permission, on the hook or on a directory above it',
  },
  hook_fault: {
    severity: 'wrong',
    meaning: "The state of a repository's hooks cannot be found out.",
    mend: 'fix the error that the finding names, then `softquota hooks install REPOSITORY`',
  },
  hook_conf_ignored: {
    severity: 'wrong',
    meaning:
      'The hooks ignore /etc/softquota/hook.conf: root has to own it, only root may write it, and everybody must be able to read it.',
    mend: 'correct its owner and mode with `chown` and `chmod`',
  },
  hook_conf_blocked: {
    severity: 'wrong',
    meaning: 'The user that git runs as cannot reach /etc/softquota/hook.conf, so its hooks do not use it.',
    mend: 'give that user permission to search the directory',
  },
  hook_conf_socket: {
    severity: 'wrong',
    meaning:
      "/etc/softquota/hook.conf names another socket than the daemon's, so the hooks ask the wrong socket.",
    mend: 'set `socket=` there to `[server] SOCKET`',
  },
  hook_conf_setting: {
    severity: 'wrong',
    meaning: 'A line of /etc/softquota/hook.conf is wrong, so the hooks use the default.',
    mend: 'correct the line',
  },
  repository_socket: {
    severity: 'wrong',
    meaning:
      "A repository's configuration names another socket than the daemon's, so its hooks ask the wrong socket.",
    mend: '`softquota hooks install REPOSITORY`',
  },
  repository_setting: {
    severity: 'wrong',
    meaning: "A softquota.* setting in a repository's configuration is wrong, so its hooks use the default.",
    mend: 'remove it with `git config --unset-all`',
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
  curl_missing: {
    severity: 'wrong',
    meaning: 'curl, which the hooks need to ask the gate, is not installed, or cannot use Unix sockets.',
    mend: 'install curl 7.40 or newer',
  },
  hook_client: {
    severity: 'notice',
    meaning:
      'The program by which the hooks ask the gate is gone, or is another program of the same name. The hooks ask the daemon with curl instead, so each push takes longer.',
    mend: '`softquota hooks install REPOSITORY`, or the line `client=` of /etc/softquota/hook.conf',
  },
  git_missing: {
    severity: 'wrong',
    meaning:
      'git is not installed, or older than 2.11. Older versions have no quarantine: a refused push would stay on the disk.',
    mend: 'install git 2.11 or newer',
  },
  getfattr_missing: {
    severity: 'wrong',
    meaning:
      'A section `[storage.*]` has `RULER = xattr:NAME`, and getfattr, which reads extended attributes, is not installed. The last known sizes count.',
    mend: 'install getfattr (the package `attr`), or set `RULER = walk`',
  },
} as const satisfies Readonly<Record<string, FindingEntry>>;

export type DoctorCode = keyof typeof doctorFindings;
