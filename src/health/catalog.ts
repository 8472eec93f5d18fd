/**
 * Everything that a daemon may find wrong with itself, by the code of the finding. What stands here is what
 * the manual says.
 */

import type { FindingCode } from '../quota/index.ts';

export interface FindingEntry {
  readonly severity: 'wrong' | 'notice';
  /** What it means, a sentence for the manual. */
  readonly meaning: string;
  /** What mends it, in general; a finding itself names the very line. */
  readonly mend: string;
}

export const daemonFindings = {
  never_swept: {
    severity: 'wrong',
    meaning: 'No sweep has ended yet, so that usage is not fully known.',
    mend: '`softquota scan`, which waits for its end',
  },
  store_away: {
    severity: 'wrong',
    meaning: 'What is measured cannot be written to the store; answers come from memory meanwhile.',
    mend: 'make room, or give the daemon its rights, under `[server] DATA_PATH`; it goes on by itself',
  },
  shared_away: {
    severity: 'wrong',
    meaning:
      'The store that several hosts share cannot be used; what was known last serves meanwhile, and nothing can be ruled.',
    mend: 'start it again, or see `[store] HOST`; it goes on by itself',
  },
  policy_diverged: {
    severity: 'wrong',
    meaning:
      'The policy in the shared store is not what followed from the one that is in force here: the store was emptied, or has other changes in the place of known ones.',
    mend: '`softquota store repair --known` puts back the one in force, `softquota store repair --stored` takes the one in the store',
  },
  host_id_taken: {
    severity: 'wrong',
    meaning:
      'Another daemon that runs has the `[server] HOST_ID` of this one in the shared store. This one answers, and tells the others nothing of its usage.',
    mend: 'give each host a HOST_ID of its own, also where one is the copy of the other; it goes on by itself once the other one has ended',
  },
  shared_store: {
    severity: 'notice',
    meaning:
      'The server of the shared store is set up so that it may lose what it was given, or let anybody in.',
    mend: 'the line of redis.conf that the finding names',
  },
  host_silent: {
    severity: 'notice',
    meaning: 'A host has not been heard of for more than a day. What it last said of usage still counts.',
    mend: 'start its daemon; where the host is gone for good: `softquota host forget ID`',
  },
  shared_unwalked: {
    severity: 'wrong',
    meaning:
      'What several hosts mount is not measured at the moment: the host that walks it is silent, or it is not known which one does.',
    mend: "start that host's daemon; where it is gone for good: `softquota host forget ID`, and another one walks it",
  },
  shared_unnamed: {
    severity: 'notice',
    meaning:
      'A storage root is on a network file system. Where another host that shares the quota mounts it, too, it counts twice.',
    mend: 'set `SHARED` in the `[storage.*]` section, to the same name on all hosts that mount it',
  },
  source_stale: {
    severity: 'wrong',
    meaning:
      'A source has not reported for longer than its `stale_after`. What it reported last still counts, and is marked stale.',
    mend: 'start the program again that reports it; where it is gone for good: [`DELETE /v1/sources/NAME`](gate.md#sources)',
  },
  source_lost: {
    severity: 'wrong',
    meaning: 'What a source reported cannot be read from the disk any more, and counts for nothing.',
    mend: 'run the program that reports it: its next set takes the place of the damaged one',
  },
  unpublished: {
    severity: 'wrong',
    meaning:
      'What is refused cannot be published beside the gate, so that hooks with `onError = last`, which is the default, have nothing, or something old, to go by.',
    mend: 'let the daemon, and nobody else, write the directory of `[server] SOCKET`; it goes on by itself',
  },
  offline_decisions: {
    severity: 'notice',
    meaning:
      'Hooks told that they decided about pushes while the daemon could not be asked. Counted since the daemon started.',
    mend: 'nothing to do, where the daemon was meant to be away; the log has each of them',
  },
  root_away: {
    severity: 'wrong',
    meaning:
      'The fixed part of a template is missing, another file system is in its place, or most of its units are missing at once (ten or more). They keep their bytes.',
    mend: 'mount it, or put back what is missing; where what is there now is meant: `softquota scan --accept-moved`, which drops what is not there',
  },
  disk_hangs: {
    severity: 'wrong',
    meaning:
      'A disk, such as a file server or a FUSE file system, has not answered for half a minute. What lies on it counts with its last known bytes; all else is measured.',
    mend: 'mend what serves it, or unmount it; it is measured again by itself once it answers',
  },
  long_walk: {
    severity: 'notice',
    meaning: 'A unit has been walked for more than half a minute, and the walk gets on.',
    mend: 'nothing to do, where it is that large',
  },
  no_storage: {
    severity: 'wrong',
    meaning: 'No `[storage.*]` section has a PATH, so that nothing is measured.',
    mend: 'set `[storage.repos] PATH`',
  },
  sweep_failed: {
    severity: 'wrong',
    meaning: 'The last sweep ended with a fault of its own.',
    mend: 'mend what it says, then `softquota scan`',
  },
  sweep_overdue: {
    severity: 'wrong',
    meaning: 'The last sweep ended longer ago than three of `[scan] SCHEDULE` take.',
    mend: '`softquota scan`, and see the log for what held it up',
  },
  measured_ahead: {
    severity: 'wrong',
    meaning: 'Something was measured at a time that is yet to come: the clock was set back, or is wrong.',
    mend: 'set the clock, then `softquota scan`',
  },
  secret_lost: {
    severity: 'wrong',
    meaning:
      'The client secret of an OAuth2 source was encrypted with a key that the daemon does not have, so that nobody can sign in by it.',
    mend: 'add that key to `[security] SECRET_KEY` and restart the daemon, or enter the secret of the source again',
  },
  config_changed: {
    severity: 'wrong',
    meaning: 'app.ini was written since the daemon read it.',
    mend: 'SIGHUP to the daemon: `kill -HUP` with its number',
  },
  restart_needed: {
    severity: 'wrong',
    meaning: 'Keys were changed that a running daemon cannot take.',
    mend: 'restart the daemon',
  },
  unread: {
    severity: 'wrong',
    meaning: 'A place below a storage root cannot be read. It counts with its last known bytes.',
    mend: 'let the daemon read it, then `softquota scan`',
  },
  unit_fault: {
    severity: 'wrong',
    meaning:
      'Something below a storage root is not as it should be: nobody can be told to own it, for instance.',
    mend: 'rename it, or mend what names its owner, then `softquota scan`',
  },
  leftover: {
    severity: 'notice',
    meaning:
      'git began a file there more than an hour ago and never finished it: a push or a gc was killed. It counts.',
    mend: 'remove it',
  },
  sum_too_large: {
    severity: 'wrong',
    meaning: "An owner's units pass 2^53 - 1 bytes together.",
    mend: '`softquota usage OWNER` tells which',
  },
  owner_renamed: {
    severity: 'wrong',
    meaning:
      'Somebody seems to have been renamed where the repositories come from: a new owner has the directories of one who has none left, and is in none of the groups of the old one.',
    mend: '`softquota user edit OLD --name NEW`, which takes everything along; where it is somebody else: take the old one out of the groups, or delete it',
  },
  same_owner: {
    severity: 'notice',
    meaning: 'Directories whose names differ count for one owner.',
    mend: 'rename one, or set `[users] CASE = keep` if only the case of letters differs',
  },
  missing_default_group: {
    severity: 'notice',
    meaning: '`[quota] DEFAULT_GROUPS` names a group that does not exist.',
    mend: 'take it out of `[quota] DEFAULT_GROUPS`',
  },
  empty_group: {
    severity: 'notice',
    meaning: 'A group has no rules, and says nothing.',
    mend: 'give it rules, or delete it',
  },
  unused_group: {
    severity: 'notice',
    meaning: 'A group is assigned to nobody and is no default one.',
    mend: 'assign it, or delete it',
  },
  shadowed_default_group: {
    severity: 'notice',
    meaning: 'A default group never decides, since another one always allows as much.',
    mend: 'take it out of `[quota] DEFAULT_GROUPS`',
  },
  matches_nothing: {
    severity: 'notice',
    meaning: 'A rule names no subject but `none`.',
    mend: 'name its subjects, or delete it',
  },
  unreachable_rule: {
    severity: 'notice',
    meaning: 'A rule never decides, since others of its group never leave more room.',
    mend: 'delete it, or lower its limit',
  },
  uncovered_subject: {
    severity: 'notice',
    meaning: 'No rule covers a subject, so that it is refused, or not limited at all.',
    mend: 'add a rule, or see `[quota] UNCOVERED`',
  },
} as const satisfies Readonly<Record<string, FindingEntry>> & Readonly<Record<FindingCode, FindingEntry>>;

export type DaemonFindingCode = keyof typeof daemonFindings;
