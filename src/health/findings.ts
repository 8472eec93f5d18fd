/** Everything that an administrator should look at, the worst first. */

import { lintIn } from '../policy/index.ts';
import { counted, formatBytes, printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { type DaemonFindingCode, daemonFindings } from './catalog.ts';
import { commandLine, quoted } from './mend.ts';
import {
  doesNotAnswer,
  hungDisks,
  type Listed,
  longWalks,
  notKept,
  type Observed,
  type ObservedFleet,
  type ObservedRename,
  sharedAway,
  sharedName,
  type TroubledPlace,
} from './observed.ts';

export function findings(observed: Observed): readonly Finding[] {
  return [
    ...answers(observed),
    ...hostFindings(observed),
    ...sweeps(observed),
    ...slowWalks(observed),
    ...sources(observed),
    ...hooks(observed),
    ...settings(observed),
    ...places(observed),
    ...owners(observed),
    ...policy(observed),
  ];
}

/** Measures everything anew, and waits for the end. */
const scan = 'softquota scan';

function answers({ ledger, rootsAway, hangs }: Observed): Finding[] {
  const mends = {
    store: 'make room or give rights under [server] DATA_PATH; it goes on by itself',
    root: `mount it, or put back what is missing; if what is there now is meant: ${scan} --accept-moved  # drops them`,
  };
  return [
    ...(ledger.walks.lastSweep === null ? [finding('never_swept', 'no sweep has ended yet', scan)] : []),
    ...(ledger.storeAway === null ? [] : [finding('store_away', notKept(ledger.storeAway), mends.store)]),
    ...hungDisks(hangs).map(hang =>
      finding(
        'disk_hangs',
        doesNotAnswer(hang),
        `see what serves it: ${commandLine('findmnt', '--mountpoint', hang.mountedAt)}; it is measured again by itself once it answers`,
      ),
    ),
    ...rootsAway.map(root =>
      finding('root_away', `storage root ${printable(root.path)}: ${root.why}`, mends.root),
    ),
  ];
}

const daySeconds = 86_400;

function hostFindings({ fleet, now }: Observed): Finding[] {
  if (fleet === null) return [];
  const { away, divergence, nameTaken } = fleet.state;
  const silent = fleet.hosts.filter(({ isAlive, seenAt }) => !isAlive && now - seenAt > daySeconds * 1000);
  return [
    ...(away === null
      ? []
      : [finding('shared_away', sharedAway(away), 'start the server at [store] HOST; it goes on by itself')]),
    ...(divergence === null
      ? []
      : [
          finding(
            'policy_diverged',
            divergence.message,
            'softquota store repair --known  # puts back the one in force here; --stored takes the one in the store',
          ),
        ]),
    ...(nameTaken === null
      ? []
      : [
          finding(
            'host_id_taken',
            sharedName(nameTaken),
            'set [server] HOST_ID in app.ini to a name that no other host has, then restart the daemon',
          ),
        ]),
    ...fleet.advice.map(({ message, mend }) => finding('shared_store', message, mend)),
    ...unwalked(fleet),
    ...unnamed(fleet),
    ...silent.map(({ host, seenAt }) =>
      finding(
        'host_silent',
        `${printable(host)} has not been heard of since ${new Date(seenAt).toISOString()}; what it said of usage still counts`,
        `start its daemon; where it is gone for good: ${forgetting(host)}`,
      ),
    ),
  ];
}

function unwalked({ elsewhere, hosts, state }: ObservedFleet): Finding[] {
  return elsewhere.flatMap(({ name, walker }) => {
    if (walker === null) {
      const mend =
        state.away === null
          ? 'wait some seconds; if it stays so: start the host that walked it, or softquota host forget its ID'
          : 'start the server at [store] HOST; it goes on by itself';
      return [finding('shared_unwalked', `it is not known who walks ${name}, so this host does not`, mend)];
    }
    const host = hosts.find(one => one.host === walker);
    if (host === undefined || host.isAlive) return [];
    const since = new Date(host.seenAt).toISOString();
    return [
      finding(
        'shared_unwalked',
        `${printable(walker)}, which walks ${name}, has not been heard of since ${since}: what changes there is not measured`,
        `start its daemon; where it is gone for good: ${forgetting(walker)}`,
      ),
    ];
  });
}

function unnamed({ unshared }: ObservedFleet): Finding[] {
  return unshared.map(({ path, type, section }) =>
    finding(
      'shared_unnamed',
      `${printable(path)} is on a file system of type ${type}: where another host mounts it, too, it counts twice`,
      `set [${section}] SHARED in app.ini, to the same name on all hosts that mount it, then reload the daemon`,
    ),
  );
}

function forgetting(host: string): string {
  return commandLine('softquota', 'host', 'forget', '--', host);
}

/** Missing one sweep is a slow disk; missing three is a fault. */
const sweepsMissed = 3;

/** Clocks are set right by less than this without anybody's notice. */
const aheadMs = 60_000;

function sweeps({ ledger, storages, sweptAgoMs, sweepEveryMs, sweepError, now }: Observed): Finding[] {
  const found: Finding[] = [];
  if (storages === 0) {
    found.push(
      finding(
        'no_storage',
        'no storage is configured, so that nothing is measured',
        'set [storage.repos] PATH in app.ini, then reload the daemon',
      ),
    );
  }
  if (sweepError !== null) {
    found.push(finding('sweep_failed', `the last sweep failed: ${printable(sweepError)}`, scan));
  }
  if (sweptAgoMs !== null && sweptAgoMs > sweepsMissed * sweepEveryMs) {
    const minutes = Math.round(sweptAgoMs / 60_000);
    found.push(finding('sweep_overdue', `the last sweep ended ${minutes} minutes ago`, scan));
  }
  const ahead = [...ledger.units.units].filter(({ measuredAt }) => measuredAt > now + aheadMs);
  const [first] = ahead;
  if (first !== undefined) {
    const others = ahead.length === 1 ? '' : ` and ${ahead.length - 1} more`;
    const when = new Date(first.measuredAt).toISOString();
    found.push(
      finding(
        'measured_ahead',
        `${printable(first.name)}${others}: measured at ${when}, which is yet to come`,
        `timedatectl set-ntp true && ${scan}`,
      ),
    );
  }
  return found;
}

function slowWalks(observed: Observed): Finding[] {
  return longWalks(observed).map(({ path, milliseconds }) =>
    finding(
      'long_walk',
      `${printable(path)} has been walked for ${Math.round(milliseconds / 1000)} seconds, and it gets on`,
      'nothing to do, where it is that large; else see what slows its disk down',
    ),
  );
}

function sources({ ledger, trustedSocket }: Observed): Finding[] {
  return [
    ...ledger.sources.list
      .filter(({ isStale }) => isStale)
      .map(({ name, reportedAt, staleAfterMs }) => {
        const address = `http://localhost/v1/sources/${encodeURIComponent(name)}`;
        const removing = commandLine('curl', '-q', '--unix-socket', trustedSocket, '-X', 'DELETE', address);
        return finding(
          'source_stale',
          `the source ${printable(name)} last reported at ${new Date(reportedAt).toISOString()}, where it was to report ` +
            `within ${staleAfterMs / 1000} seconds: its figures are stale`,
          `start the program again that reports it; where it is gone for good: ${removing}`,
        );
      }),
    ...ledger.sources.lost.map(({ file, why }) =>
      finding(
        'source_lost',
        `${printable(file)}, which has what a source reported, cannot be read: ${printable(why)}`,
        'run the program that reports it: its next set takes the place of this file',
      ),
    ),
  ];
}

function hooks({ unpublished, offlineDecisions }: Observed): Finding[] {
  const found: Finding[] = [];
  if (unpublished !== null) {
    const { since, reason } = unpublished;
    found.push(
      finding(
        'unpublished',
        `hooks cannot rely on what is refused since ${new Date(since).toISOString()}: ${printable(reason)}`,
        'let the daemon, and nobody else, write the directory of [server] SOCKET, then reload the daemon',
      ),
    );
  }
  if (offlineDecisions !== null) {
    const { letThrough, refused, lastAt } = offlineDecisions;
    found.push(
      finding(
        'offline_decisions',
        `${counted(letThrough + refused, 'push was', 'pushes were')} decided without the daemon, ` +
          `the last at ${new Date(lastAt).toISOString()}: ${letThrough} let through, ${refused} refused`,
        'see the log for each, and why the daemon could not be asked',
      ),
    );
  }
  return found;
}

function settings({ configWrittenAt, restartKeys, lostSecrets, pid }: Observed): Finding[] {
  return [
    ...lostSecrets.map(name =>
      finding(
        'secret_lost',
        `the client secret of the source ${printable(name)} cannot be read with any key of [security] SECRET_KEY`,
        'add the key that it was encrypted with, behind the others, and restart the daemon; or enter the secret again',
      ),
    ),
    ...(configWrittenAt === null
      ? []
      : [
          finding(
            'config_changed',
            `app.ini was written at ${new Date(configWrittenAt).toISOString()}, and the daemon goes by what it read before`,
            `kill -HUP ${pid}`,
          ),
        ]),
    ...(restartKeys.length === 0
      ? []
      : [
          finding(
            'restart_needed',
            `these were changed and wait for a restart: ${restartKeys.join(', ')}`,
            'restart the daemon',
          ),
        ]),
  ];
}

function places({ unread, faults, leftovers, rootsAway, uid }: Observed): Finding[] {
  const isAway = ({ path }: TroubledPlace): boolean => rootsAway.some(root => root.path === path);
  const away = unread.first.filter(isAway).length;
  const others = { first: unread.first.filter(place => !isAway(place)), count: unread.count - away };
  return [
    ...listed(others, place => finding('unread', trouble(place), readingMend(place, uid))),
    ...listed(faults, place =>
      finding('unit_fault', trouble(place), `rename it, or mend what names its owner; then: ${scan}`),
    ),
    ...listed(leftovers, ({ path, bytes, modifiedAt }) =>
      finding(
        'leftover',
        `${printable(path)}: ${formatBytes(bytes)} that git began on ${new Date(modifiedAt).toISOString().slice(0, 10)} and never finished`,
        `${commandLine('rm', '-rf', '--', path)} && ${scan}`,
      ),
    ),
  ];
}

function readingMend({ path, why }: TroubledPlace, uid: number): string {
  if (why === 'EACCES' || why === 'EPERM') {
    const entries = `u:${uid}:rX,d:u:${uid}:rX`;
    return `setfacl -R -m ${entries} ${quoted(path)} && ${scan}  # setfacl is in the package acl`;
  }
  return `see why: ${commandLine('ls', '-la', path)}; then: ${scan}`;
}

/** Thousands have one cause, and hide all else. */
const mostTold = 20;

function listed<Item>({ first, count }: Listed<Item>, tell: (item: Item) => Finding): Finding[] {
  const told = first.slice(0, mostTold).map(tell);
  const last = told.at(-1);
  if (last === undefined || count <= told.length) return told;
  const message = `… and ${count - told.length} more like these`;
  return [...told, { ...last, message, mend: 'mend these first; the next ones are named then' }];
}

function trouble({ path, why }: TroubledPlace): string {
  return `${printable(path)}: ${why}`;
}

function owners({ ledger, renames }: Observed): Finding[] {
  return [
    ...listed({ first: renames, count: renames.length }, renamed),
    ...ledger.units
      .ownersTooLarge()
      .map(name =>
        finding(
          'sum_too_large',
          `${printable(name)}'s units pass 2^53 - 1 bytes together`,
          `see which: ${commandLine('softquota', 'usage', '--', name)}`,
        ),
      ),
    ...ledger.units
      .spellings()
      .map(names =>
        finding(
          'same_owner',
          `these names are one owner: ${names.map(printable).join(', ')}`,
          'rename a directory, or set [users] CASE = keep if only the case of letters differs',
        ),
      ),
  ];
}

function renamed({ from, to, units, groups, newGroups, isOnlyFound }: ObservedRename): Finding {
  const mends = isOnlyFound
    ? [commandLine('softquota', 'user', 'edit', '--name', to, '--', from)]
    : [
        commandLine('softquota', 'user', 'set-groups', '--', to, ...new Set([...newGroups, ...groups])),
        commandLine('softquota', 'user', 'delete', '--', from),
      ];
  return finding(
    'owner_renamed',
    `${printable(from)} seems to have been renamed to ${printable(to)} on the disk: ` +
      `${counted(units, 'unit is', 'units are')} ${printable(to)}'s now, and ${printable(from)}, who has none left, ` +
      `is in ${groups.length === 1 ? 'the group' : 'the groups'} ${groups.map(printable).join(', ')}`,
    `${mends.join(' && ')}  # where it is somebody else: ${commandLine('softquota', 'user', 'set-groups', '--none', '--', from)}`,
  );
}

function policy({ ledger, defaultGroups }: Observed): Finding[] {
  return lintIn(ledger.documents.snapshot, { ...ledger.settings, defaultGroups }).map(({ code, message }) =>
    finding(code, message, daemonFindings[code].mend.replaceAll('`', '')),
  );
}

function finding(code: DaemonFindingCode, message: string, mend: string): Finding {
  return { code, severity: daemonFindings[code].severity, message, mend };
}
