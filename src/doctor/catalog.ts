/**
 * Everything that doctor may find besides what the daemon finds itself, by the code of the finding. What
 * stands here is what the manual says.
 */

import type { FindingEntry } from '../health/index.ts';

export const doctorFindings = {
  config: {
    severity: 'wrong',
    meaning:
      'app.ini or the environment has faults; with them the daemon does not start, and reloads nothing.',
    mend: 'mend every line that is named; `softquota serve --check-config` tells when all is well',
  },
  config_note: {
    severity: 'notice',
    meaning: 'Something in the configuration is not wrong, but hardly meant.',
    mend: 'as it says',
  },
  config_writable: {
    severity: 'wrong',
    meaning: 'Anybody on this host can write app.ini, or put another one in its place.',
    mend: '`chmod o-w` on what is named',
  },
  secret_readable: {
    severity: 'wrong',
    meaning: 'Anybody on this host can read a file with a secret of the configuration.',
    mend: "give the file to the daemon's group, and take everybody's right to read it",
  },
  not_looked: {
    severity: 'notice',
    meaning: 'Whoever runs doctor may not look at something; it may be right or wrong.',
    mend: 'run it as root',
  },
  daemon_away: {
    severity: 'wrong',
    meaning: 'No daemon answers. What only it knows, such as unreadable places, was not looked at.',
    mend: 'start it',
  },
  version: {
    severity: 'wrong',
    meaning:
      'The daemon that runs is of another version than this command: it was not restarted after an update.',
    mend: 'restart the daemon',
  },
  clock: {
    severity: 'wrong',
    meaning: "The daemon's clock and this command's differ by more than a minute.",
    mend: 'set the clock, restart the daemon',
  },
  gate_away: {
    severity: 'wrong',
    meaning: 'Nobody answers where hooks are to ask, so that pushes go by `onError`.',
    mend: 'start the daemon, or set `[server] SOCKET` to where it listens',
  },
  gate_blocked: {
    severity: 'wrong',
    meaning:
      "The user that git runs as has no right to use the gate's socket, so that pushes go by `onError`.",
    mend: 'give that right, on the socket or on a directory above it',
  },
  socket_exposed: {
    severity: 'wrong',
    meaning:
      "Anybody on this host can put a socket of their own in the place of one of the daemon's; the daemon does not start with it.",
    mend: 'a directory that only the daemon and root may write, such as /run/softquota',
  },
  trusted_open: {
    severity: 'wrong',
    meaning: 'Anybody on this host can use TRUSTED_SOCKET, and so report any usage.',
    mend: '`[server] TRUSTED_MODE`, or `chmod`',
  },
  admin_open: {
    severity: 'wrong',
    meaning: "Others than the daemon's own user can use ADMIN_SOCKET, and so do everything.",
    mend: '`chmod 0600`',
  },
  data_open: {
    severity: 'wrong',
    meaning: 'Anybody on this host can write into DATA_PATH, and so replace what the daemon keeps.',
    mend: '`chmod o-w`',
  },
  data_full: {
    severity: 'wrong',
    meaning: 'Under 64 MiB or 1,000 inodes are free where DATA_PATH is: soon nothing can be kept.',
    mend: 'make room there',
  },
  disabled: {
    severity: 'notice',
    meaning: 'Quotas are switched off: nothing is refused.',
    mend: 'set `[quota] ENABLED = true`',
  },
  report: {
    severity: 'notice',
    meaning: 'Refusals are only recorded.',
    mend: 'set `[quota] MODE = enforce` when the figures convince',
  },
  hook_missing: {
    severity: 'wrong',
    meaning: 'A repository has no pre-receive or post-receive hook: pushes are not asked about, or not told.',
    mend: '`softquota hooks install REPOSITORY`',
  },
  hook_foreign: {
    severity: 'wrong',
    meaning: 'Another hook is in the place of one of ours, and does not run it.',
    mend: '`softquota hooks install REPOSITORY`; the other one goes on as `50-previous`',
  },
  hook_outdated: {
    severity: 'wrong',
    meaning: "A hook is not this version's.",
    mend: '`softquota hooks install REPOSITORY`',
  },
  hook_not_executable: {
    severity: 'wrong',
    meaning: 'A hook is not executable: git passes over it without a word.',
    mend: '`softquota hooks install REPOSITORY`',
  },
  hook_link: {
    severity: 'wrong',
    meaning: "A hook is a symbolic link that does not lead to this version's hook.",
    mend: 'remove the link, then `softquota hooks install REPOSITORY`',
  },
  hook_unreached: {
    severity: 'wrong',
    meaning: 'core.hooksPath, of the repository, its owner or the system, makes git run other hooks.',
    mend: 'put the hooks there, or let the hooks that are there run ours; where it leads nowhere, take it out',
  },
  hook_gitlab: {
    severity: 'wrong',
    meaning:
      "A repository is GitLab's, whose Gitaly runs no hook of a repository: its pushes are not asked about.",
    mend: 'none: what lies there is measured, and no push is refused',
  },
  config_included: {
    severity: 'notice',
    meaning:
      "A repository's configuration includes other files. doctor does not read them; a core.hooksPath there makes git run other hooks.",
    mend: 'look, as the user that the repository belongs to',
  },
  hook_blocked: {
    severity: 'wrong',
    meaning: 'The user that git runs as may not run a hook: git passes over it without a word.',
    mend: 'give that right, on the hook or on a directory above it',
  },
  hook_fault: {
    severity: 'wrong',
    meaning: "How a repository's hooks stand cannot be told.",
    mend: 'mend what it says, then `softquota hooks install REPOSITORY`',
  },
  hook_conf_ignored: {
    severity: 'wrong',
    meaning:
      'The hooks do not believe /etc/softquota/hook.conf: root has to own it, nobody else may write it, all must be able to read it.',
    mend: '`chown` and `chmod`',
  },
  hook_conf_blocked: {
    severity: 'wrong',
    meaning:
      'The user that git runs as cannot see /etc/softquota/hook.conf, so that its hooks do without it.',
    mend: 'give the right to search the directory',
  },
  hook_conf_socket: {
    severity: 'wrong',
    meaning:
      '/etc/softquota/hook.conf sends the hooks to another socket than the one that the daemon serves.',
    mend: 'set `socket=` there to `[server] SOCKET`',
  },
  hook_conf_setting: {
    severity: 'wrong',
    meaning: 'The hooks cannot take a line of /etc/softquota/hook.conf, and go by the default.',
    mend: 'correct the line',
  },
  repository_socket: {
    severity: 'wrong',
    meaning:
      "A repository's configuration sends its hooks to another socket than the one that the daemon serves.",
    mend: '`softquota hooks install REPOSITORY`',
  },
  repository_setting: {
    severity: 'wrong',
    meaning:
      "The hooks cannot take a softquota.* setting of a repository's configuration, and go by the default.",
    mend: 'take it out with `git config --unset-all`',
  },
  unknown_repository: {
    severity: 'wrong',
    meaning:
      'A repository has the hooks, but no template matches it: the daemon does not know it, and every push is let through.',
    mend: 'add a template to `[storage.repos] PATH`, move the repository, or take its hooks out',
  },
  unmanaged_repository: {
    severity: 'notice',
    meaning:
      'A repository lies below or beside a storage root, and no template matches it: it counts for nobody.',
    mend: 'add a template to `[storage.repos] PATH`, if it should',
  },
  root_unread: {
    severity: 'wrong',
    meaning: 'A place below a storage root could not be looked into, even by root.',
    mend: 'see why, with `ls -la`',
  },
  gc_failing: {
    severity: 'wrong',
    meaning:
      'A repository has a gc.log: the last automatic gc failed, and git makes none until that is settled. Usage does not fall.',
    mend: '`git gc` by hand; it says what is wrong',
  },
  gc_needed: {
    severity: 'notice',
    meaning:
      'A repository has more than 6,700 loose objects or 50 packs, so that no automatic gc can have run for long.',
    mend: '`git gc`',
  },
  signed_pushes: {
    severity: 'notice',
    meaning:
      'Git asks clients for signed pushes (`receive.certNonceSeed`). It stores the certificate of such a push before any hook is asked: it counts, and nobody can be kept from storing more of them.',
    mend: 'take `receive.certNonceSeed` out with `git config --unset-all`, unless pushes have to be signed',
  },
  curl_missing: {
    severity: 'wrong',
    meaning: 'curl, by which the hooks ask, is not here, or cannot use Unix sockets.',
    mend: 'install curl 7.40 or newer',
  },
  git_missing: {
    severity: 'wrong',
    meaning:
      'git is not here, or older than 2.11, which has no quarantine: a refused push would stay on the disk.',
    mend: 'install git 2.11 or newer',
  },
} as const satisfies Readonly<Record<string, FindingEntry>>;

export type DoctorCode = keyof typeof doctorFindings;
