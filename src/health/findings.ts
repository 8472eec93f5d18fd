/** Collects everything that an administrator should look at, the worst first. */

import { renamedOwners } from '../ledger/index.ts';
import { lintIn } from '../policy/index.ts';
import { formatBytes, printable } from '../text/index.ts';
import { daemonFindings } from './catalog.ts';
import { diskFindings } from './disks.ts';
import { forgeFindings } from './forge.ts';
import { type Finding, listed, makeFinding } from './make-finding.ts';
import { commandLine, quoted } from './mend.ts';
import {
  deadNotices,
  doesNotAnswer,
  hungDisks,
  notKept,
  type Observed,
  type ObservedFleet,
  sharedAway,
  sharedName,
  type TroubledPlace,
} from './observed.ts';
import { workerFindings } from './worker.ts';

export function findings(observed: Observed): readonly Finding[] {
  return [
    ...answers(observed),
    ...hostFindings(observed),
    ...sweeps(observed),
    ...sources(observed),
    ...forgeFindings(observed),
    ...hooks(observed),
    ...workerFindings(observed),
    ...undelivered(observed),
    ...settings(observed),
    ...diskFindings(observed),
    ...places(observed),
    ...owners(observed),
    ...policy(observed),
  ];
}

function undelivered({ notices }: Observed): Finding[] {
  return notices
    .filter(({ dead }) => dead > 0)
    .map(place => {
      const why = place.lastFault === null ? '' : `: ${printable(place.lastFault)}`;
      const mend = 'fix this, then: softquota notices send-again --all';
      return makeFinding('notices_dead', `${deadNotices(place)}${why}`, mend);
    });
}

/** Measures everything again, and waits for the end. */
const scan = 'softquota scan';

function answers({ ledger, rootsAway, hangs }: Observed): Finding[] {
  const mends = {
    store:
      'free disk space below [server] DATA_PATH, or give the daemon write permission there; it then continues by itself',
    root: `mount the file system, or restore the missing data; if the present state is intended: ${scan} --accept-moved  # removes the missing units`,
  };
  return [
    ...(ledger.walks.lastSweep === null
      ? [makeFinding('never_swept', 'no sweep has finished yet', scan)]
      : []),
    ...(ledger.storeAway === null ? [] : [makeFinding('store_away', notKept(ledger.storeAway), mends.store)]),
    ...hungDisks(hangs).map(hang =>
      makeFinding(
        'disk_hangs',
        doesNotAnswer(hang),
        `find its server: ${commandLine('findmnt', '--mountpoint', hang.mountedAt)}; when the disk answers, it is measured again by itself`,
      ),
    ),
    ...rootsAway.map(root =>
      makeFinding('root_away', `storage root ${printable(root.path)}: ${root.why}`, mends.root),
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
      : [
          makeFinding(
            'shared_away',
            sharedAway(away),
            'start the server at [store] HOST; the daemon then continues by itself',
          ),
        ]),
    ...(divergence === null
      ? []
      : [
          makeFinding(
            'policy_diverged',
            divergence.message,
            'softquota store repair --known  # restores the policy in force here; --stored uses the policy in the store',
          ),
        ]),
    ...(nameTaken === null
      ? []
      : [
          makeFinding(
            'host_id_taken',
            sharedName(nameTaken),
            'set [server] HOST_ID in app.ini to a name that no other host has, then restart the daemon',
          ),
        ]),
    ...fleet.advice.map(({ code, message, mend }) =>
      makeFinding(code === 'dropped_at_start' ? 'shared_store_dropped' : 'shared_store', message, mend),
    ),
    ...unwalked(fleet),
    ...unnamed(fleet),
    ...silent.map(({ host, seenAt }) =>
      makeFinding(
        'host_silent',
        `the host ${printable(host)} has sent nothing since ${new Date(seenAt).toISOString()}; the usage that it last reported still counts`,
        `start its daemon; if the host no longer exists: ${forgetting(host)}`,
      ),
    ),
  ];
}

function unwalked({ elsewhere, hosts, state }: ObservedFleet): Finding[] {
  return elsewhere.flatMap(({ name, walker }) => {
    if (walker === null) {
      const mend =
        state.away === null
          ? 'wait some seconds; if this does not change: start the host that walked it, or run softquota host forget ID'
          : 'start the server at [store] HOST; the daemon then continues by itself';
      return [
        makeFinding(
          'shared_unwalked',
          `it is not known which host walks ${name}, so this host does not walk it`,
          mend,
        ),
      ];
    }
    const host = hosts.find(one => one.host === walker);
    if (host === undefined || host.isAlive) return [];
    const since = new Date(host.seenAt).toISOString();
    return [
      makeFinding(
        'shared_unwalked',
        `the host ${printable(walker)}, which walks ${name}, has sent nothing since ${since}: changes there are not measured`,
        `start its daemon; if the host no longer exists: ${forgetting(walker)}`,
      ),
    ];
  });
}

function unnamed({ unshared }: ObservedFleet): Finding[] {
  return unshared.map(({ path, type, section }) =>
    makeFinding(
      'shared_unnamed',
      `${printable(path)} is on a file system of type ${type}: if another host also mounts it, its data counts twice`,
      `set [${section}] SHARED in app.ini to the same name on all hosts that mount it, then reload the daemon`,
    ),
  );
}

function forgetting(host: string): string {
  return commandLine('softquota', 'host', 'forget', '--', host);
}

/** One missed sweep is a slow disk; three missed sweeps are a fault. */
const sweepsMissed = 3;

function sweeps({ storages, sweptAgoMs, sweepEveryMs, sweepError }: Observed): Finding[] {
  const found: Finding[] = [];
  if (storages === 0) {
    found.push(
      makeFinding(
        'no_storage',
        'no storage is configured, so nothing is measured',
        'set [storage.repos] PATH in app.ini, then reload the daemon',
      ),
    );
  }
  if (sweepError !== null) {
    found.push(makeFinding('sweep_failed', `the last sweep failed: ${printable(sweepError)}`, scan));
  }
  if (sweptAgoMs !== null && sweptAgoMs > sweepsMissed * sweepEveryMs) {
    const minutes = Math.round(sweptAgoMs / 60_000);
    found.push(makeFinding('sweep_overdue', `the last sweep ended ${minutes} minutes ago`, scan));
  }
  return found;
}

function sources({ ledger, trustedSocket }: Observed): Finding[] {
  return ledger.sources.list
    .filter(({ isStale }) => isStale)
    .map(({ name, reportedAt, staleAfterMs }) => {
      const address = `http://localhost/v1/sources/${encodeURIComponent(name)}`;
      const removing = commandLine('curl', '-q', '--unix-socket', trustedSocket, '-X', 'DELETE', address);
      return makeFinding(
        'source_stale',
        `the source ${printable(name)} last reported at ${new Date(reportedAt).toISOString()}, but should report ` +
          `every ${staleAfterMs / 1000} s: its figures are stale`,
        `start the reporting program again; if it no longer exists: ${removing}`,
      );
    });
}

function hooks({ unpublished }: Observed): Finding[] {
  if (unpublished === null) return [];
  const { since, reason } = unpublished;
  return [
    makeFinding(
      'unpublished',
      `the list of refused owners for hooks has not been written since ${new Date(since).toISOString()}: ${printable(reason)}`,
      'give only the daemon write permission for the directory of [server] SOCKET, then reload the daemon',
    ),
  ];
}

function settings({ configWrittenAt, restartKeys, lostSecrets, pid }: Observed): Finding[] {
  return [
    ...lostSecrets.map(name =>
      makeFinding(
        'secret_lost',
        `the client secret of the source ${printable(name)} cannot be read with any key of [security] SECRET_KEY`,
        'add the key that it was encrypted with after the other keys, and restart the daemon; or enter the secret again',
      ),
    ),
    ...(configWrittenAt === null
      ? []
      : [
          makeFinding(
            'config_changed',
            `app.ini was changed at ${new Date(configWrittenAt).toISOString()}, and the daemon still uses the version before`,
            `kill -HUP ${pid}`,
          ),
        ]),
    ...(restartKeys.length === 0
      ? []
      : [
          makeFinding(
            'restart_needed',
            `these keys were changed and take effect after a restart: ${restartKeys.join(', ')}`,
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
    ...listed(others, place => makeFinding('unread', trouble(place), readingMend(place, uid))),
    ...listed(faults, place =>
      makeFinding(
        'unit_fault',
        trouble(place),
        `rename it, or correct the file or setting that names its owner; then: ${scan}`,
      ),
    ),
    ...listed(leftovers, ({ path, bytes, modifiedAt }) =>
      makeFinding(
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

function trouble({ path, why }: TroubledPlace): string {
  return `${printable(path)}: ${why}`;
}

function owners({ ledger }: Observed): Finding[] {
  return [
    ...ledger.units
      .spellings()
      .map(names =>
        makeFinding(
          'same_owner',
          `these names count for the same owner: ${names.map(printable).join(', ')}`,
          'rename a directory, or set [users] CASE = keep if only the case of letters differs',
        ),
      ),
  ];
}

function policy({ ledger, defaultGroups }: Observed): Finding[] {
  const faults = [
    ...lintIn(ledger.documents.snapshot, { ...ledger.settings, defaultGroups }),
    ...renamedOwners(ledger),
  ];
  return [...Map.groupBy(faults, ({ code }) => code).values()].flatMap(first =>
    listed({ first, count: first.length }, ({ code, message }) =>
      makeFinding(code, message, daemonFindings[code].mend.replaceAll('`', '')),
    ),
  );
}
