/** Collects all findings of a running daemon, the worst first. */

import { walkersOf } from '../fleet/index.ts';
import { isOfCluster, notFollowed } from '../layout/index.ts';
import { isLeaf, isRepository, type LintFinding } from '../quota/index.ts';
import type { Away, HostRecord, ServerAdvice } from '../store/index.ts';
import { counted, formatBytes, printable } from '../text.ts';
import type { Finding } from '../wire/index.ts';
import { commandLine, type daemonFindings, listed, makeFinding, quoted, unfollowedLink } from './catalog.ts';
import {
  deadNotices,
  doesNotAnswer,
  hungDisks,
  keysMissing,
  notKept,
  type Observed,
  sharedAway,
  sharedName,
  sharedUntold,
  shortageWords,
  type TroubledPlace,
} from './observed.ts';
import { forgeFindings, sourceFindings } from './sources.ts';
import { workerFindings } from './worker.ts';

export function findings(observed: Observed): readonly Finding[] {
  return [
    ...answers(observed),
    ...hostFindings(observed),
    ...sweeps(observed),
    ...sourceFindings(observed),
    ...forgeFindings(observed),
    ...hooks(observed),
    ...unasked(observed),
    ...workerFindings(observed),
    ...undelivered(observed),
    ...settings(observed),
    ...disks(observed),
    ...unmeasured(observed),
    ...places(observed),
    ...owners(observed),
    ...policy(observed),
  ];
}

function* undelivered({ notices }: Observed): Generator<Finding> {
  for (const place of notices.filter(({ dead }) => dead > 0)) {
    const why = place.last_fault === null ? '' : `: ${printable(place.last_fault)}`;
    const mend = 'fix this, then: softquota notices send-again --all';
    yield makeFinding('notices_dead', `${deadNotices(place)}${why}`, mend);
  }
}

/** The command that measures everything again, and waits for the end. */
const scan = 'softquota scan';

function* answers({ ledger, rootsAway, rootsUnused, hangs }: Observed): Generator<Finding> {
  if (ledger.walks.lastSweep === null) yield makeFinding('not_swept', 'no sweep has finished yet', scan);
  if (ledger.storeAway !== null) {
    const mend =
      'free disk space below [server] DATA_PATH, or give the daemon write permission there; it then continues by itself';
    yield makeFinding('store_away', notKept(ledger.storeAway), mend);
  }
  for (const hang of hungDisks(hangs)) {
    const mend = `find its server: ${commandLine('findmnt', '--mountpoint', hang.mountedAt)}; when the disk answers, it is measured again by itself`;
    yield makeFinding('disk_hangs', doesNotAnswer(hang), mend);
  }
  for (const { path, why } of rootsAway) {
    const mend = `mount the file system, or restore the missing data; if the present state is intended: ${scan} --accept-moved  # removes the missing units`;
    yield makeFinding('root_away', `storage root ${printable(path)}: ${why}`, mend);
  }
  for (const { path, unused } of rootsUnused) {
    if (unused === 'expected') continue;
    const message = `storage root ${printable(path)}: it is not there, so its PATH matches nothing yet`;
    yield makeFinding(
      'root_unused',
      message,
      'correct PATH in app.ini if it is mistyped; else wait: it counts when it comes',
    );
  }
}

const daySeconds = 86_400;
const startStore =
  'start the server at [store] HOST, or do what the message says; the daemon then continues by itself';
/** Fixes for errors of the store's server, by words in the error (store/redis/faults.ts). */
const storeMends = [
  ['its memory is full', 'raise maxmemory in redis.conf, and leave maxmemory-policy noeviction'],
  ['cannot write its data', 'free disk space where the server at [store] HOST keeps its data'],
  ['does not permit it', 'give the user in [store] HOST the rights in docs/redis.md, then: ACL LOAD'],
  ['does not let us in', 'correct user and password in [store] HOST, then restart the daemon'],
] as const;

function storeMend({ reason }: Away): string {
  return storeMends.find(([words]) => reason.includes(words))?.[1] ?? startStore;
}

function* hostFindings({ fleet, now }: Observed): Generator<Finding> {
  if (fleet === null) return;
  const { away, untold, divergence, nameTaken } = fleet.state;
  if (away !== null) yield makeFinding('shared_away', sharedAway(away), storeMend(away));
  if (untold !== null) yield makeFinding('shared_untold', sharedUntold(untold), storeMend(untold));
  if (divergence !== null) {
    const mend =
      'softquota store repair --known  # restores the policy in force here; --stored uses the policy in the store';
    yield makeFinding('policy_diverged', divergence.message, mend);
  }
  if (nameTaken !== null) {
    const mend = 'set [server] HOST_ID in app.ini to a name that no other host has, then restart the daemon';
    yield makeFinding('host_id_taken', sharedName(nameTaken), mend);
  }
  for (const { code, message, mend } of fleet.advice)
    yield makeFinding(adviceFindings[code] ?? 'shared_store', message, mend);
  yield* sharedRoots(fleet.hosts);
  yield* sharedReplicas(fleet.hosts);
  for (const { host, isAlive, isParted, seenAt } of fleet.hosts) {
    if (isParted && isAlive && divergence === null) {
      const message = `the host ${printable(host)} has another policy in force than the one in the shared store`;
      const mend = 'softquota store repair --known  # on the host whose policy is right';
      yield makeFinding('policy_diverged', message, mend);
    }
    if (isAlive || now - seenAt <= daySeconds * 1000) continue;
    const message = `the host ${printable(host)} has sent nothing since ${new Date(seenAt).toISOString()}; the usage that it last reported still counts`;
    yield makeFinding('host_silent', message, startHost(host));
  }
}

/** The findings for advice that is more than a notice. */
const adviceFindings: { readonly [Code in ServerAdvice['code']]?: keyof typeof daemonFindings } = {
  clock_differs: 'host_clock',
  dropped_at_start: 'shared_store_loses',
  evicts: 'shared_store_loses',
};

function* sharedRoots(hosts: readonly HostRecord[]): Generator<Finding> {
  const all = hosts.flatMap(({ host, roots }) => (roots ?? []).map(root => ({ ...root, host })));
  for (const [source, roots] of Map.groupBy(all, root => root.source)) {
    const walkers = walkersOf(source, hosts);
    if (walkers.length > 1 && roots.some(({ isOfNetwork }) => isOfNetwork)) {
      const names = walkers.map(({ host }) => printable(host)).join(', ');
      const message = `${printable(source)} is walked by the hosts ${names}, so what lies there counts ${walkers.length} times`;
      const mend = 'set [scan] ROOTS in app.ini of all but one of them, then reload their daemons';
      yield makeFinding('shared_twice', message, mend);
    }
    const left = roots.find(({ isWalked }) => !isWalked);
    if (left === undefined || walkers.some(({ isAlive }) => isAlive)) continue;
    const [walker] = walkers;
    if (walker !== undefined) {
      const since = new Date(walker.seenAt).toISOString();
      const message = `the host ${printable(walker.host)}, which walks ${printable(source)}, has sent nothing since ${since}: changes there are not measured`;
      yield makeFinding('shared_unwalked', message, startHost(walker.host));
    } else if (hosts.every(({ roots: known }) => known !== null)) {
      const message = `no host walks ${printable(source)}, which the host ${printable(left.host)} leaves to another`;
      const mend =
        'name its directory in [scan] ROOTS of one host that mounts it, then reload the daemon of that host';
      yield makeFinding('shared_unwalked', message, mend);
    }
  }
}

/** Finds replicas of a Gitaly Cluster that count on several hosts. */
function* sharedReplicas(hosts: readonly HostRecord[]): Generator<Finding> {
  const walking = hosts.filter(({ roots }) =>
    roots?.some(({ isWalked, source }) => isWalked && isOfCluster(`${source}/`)),
  );
  for (const [storage, those] of Map.groupBy(walking, ({ praefectStorage }) => praefectStorage)) {
    if (walking.length < 2 || (storage !== null && those.length < 2)) continue;
    const names = those.map(({ host }) => printable(host)).sort();
    const how =
      storage === null
        ? 'walk replicas of a Gitaly Cluster that other hosts walk as well, without [forge] PRAEFECT'
        : `count the same replicas of a Gitaly Cluster, with [forge] PRAEFECT_STORAGE = ${printable(storage)}`;
    const message = `the hosts ${names.join(', ')} ${how}`;
    const mend =
      'set [forge] PRAEFECT on each host, and its own PRAEFECT_STORAGE, then restart their daemons';
    yield makeFinding('shared_twice', message, mend);
  }
}

function startHost(host: string): string {
  const forget = commandLine('softquota', 'host', 'forget', '--', host);
  return `start its daemon; if the host no longer exists: ${forget}`;
}

function* sweeps({ storages, sweptAgoMs, sweepLateMs, sweepError }: Observed): Generator<Finding> {
  if (storages === 0) {
    const mend = 'set [storage.repos] PATH in app.ini, then reload the daemon';
    yield makeFinding('no_storage', 'no storage is configured, so nothing is measured', mend);
  }
  if (sweepError !== null)
    yield makeFinding('not_swept', `the last sweep failed: ${printable(sweepError)}`, scan);
  if (sweptAgoMs !== null && sweptAgoMs > sweepLateMs) {
    const minutes = Math.round(sweptAgoMs / 60_000);
    yield makeFinding('not_swept', `the last sweep ended ${minutes} minutes ago`, scan);
  }
}

function* hooks({ unmanagedPushes, unpublished }: Observed): Generator<Finding> {
  yield* listed({ first: unmanagedPushes, count: unmanagedPushes.length }, ({ path, count, lastAt }) => {
    const pushes = `${counted(count, 'push was', 'pushes were')} allowed without a check, the last at ${new Date(lastAt).toISOString()}`;
    const message = `${printable(path)}: ${pushes}: no PATH leads to this directory, or the daemon does not see it`;
    const remove = commandLine('softquota', 'hooks', 'remove', path);
    const mend = `if it counts, add a template to [storage.repos] PATH, or mount it for the daemon as git sees it, such as in a container; else remove its hooks, and this goes a day after the last push: ${remove}`;
    return makeFinding('unmanaged_push', message, mend);
  });
  if (unpublished === null) return;
  const { since, reason } = unpublished;
  const message = `the list of refused owners for hooks has not been written since ${new Date(since).toISOString()}: ${printable(reason)}`;
  const mend =
    'give only the daemon write permission for the directory of [server] SOCKET, then reload the daemon';
  yield makeFinding('unpublished', message, mend);
}

function* unasked({ unaskedLimits, worker }: Observed): Generator<Finding> {
  for (const { per, subject, owner, count, lastAt } of unaskedLimits) {
    const times = `${counted(count, 'time', 'times')}, the last at ${new Date(lastAt).toISOString()} by ${printable(owner)}`;
    const message = `a limit of each ${per} could not be asked and let ${subject} through ${times}`;
    const isPush = isLeaf(subject) && isRepository(subject) && per !== 'repository';
    const advice =
      isPush && worker.state === null
        ? 'run softquota worker as the user that git runs as, which reads what the daemon may not'
        : 'docs/doctor.md says what to do';
    const mend = `softquota events --kind unasked  # lists whom; ${advice}`;
    yield makeFinding('unasked_limit', message, mend);
  }
}

function* settings(observed: Observed): Generator<Finding> {
  const { configWrittenAt, configRefused, missingKeys, restartKeys, pid } = observed;
  for (const name of observed.lostSecrets) {
    const message = `the client secret of the source ${printable(name)} cannot be read with any key of [security] SECRET_KEY`;
    const mend =
      'add the key that it was encrypted with after the other keys, and restart the daemon; or enter the secret again';
    yield makeFinding('secret_lost', message, mend);
  }
  if (missingKeys.length > 0) {
    const mend = `put them back into app.ini, and restart the daemon; if they are to have their defaults: ${scan} --accept-moved  # removes units without storage`;
    yield makeFinding('keys_missing', keysMissing(missingKeys), mend);
  }
  if (configWrittenAt !== null || configRefused !== null) {
    const when = configWrittenAt === null ? '' : ` at ${new Date(configWrittenAt).toISOString()}`;
    const why = configRefused === null ? '' : `: ${printable(configRefused)}`;
    const message = `app.ini was changed${when}, and the daemon still uses the version before${why}`;
    const mend = `kill -HUP ${pid}`;
    yield makeFinding('config_changed', message, why === '' ? mend : `correct it, then: ${mend}`);
  }
  if (restartKeys.length > 0) {
    const message = `these keys were changed and take effect after a restart: ${restartKeys.join(', ')}`;
    yield makeFinding('restart_needed', message, 'restart the daemon');
  }
}

const soonMs = 30 * 86_400_000;

function* disks({ shortDisks, outlook, keepsFree, now }: Observed): Generator<Finding> {
  for (const short of shortDisks) {
    const code = short.state === 'full' ? 'disk_full' : 'disk_low';
    const mend = `delete data, or give it more space: ${commandLine('df', '-h', short.path)}`;
    yield makeFinding(code, shortageWords(short), mend);
  }
  const { promised, size, full_at: fullAt } = outlook;
  if (fullAt !== null && Date.parse(fullAt) - now < soonMs) {
    const message = `at the growth of the last weeks the disks are full on ${fullAt.slice(0, 10)}`;
    yield makeFinding('disk_low', message, 'softquota usage  # the largest owners first');
  }
  if (size > 0 && promised > size && !keepsFree) {
    const message = `the limits promise ${formatBytes(promised)}, and the disks have ${formatBytes(size)}`;
    const mend = 'set [disk] MIN_FREE, such as 5%, so that the disks do not fill, or lower the limits';
    yield makeFinding('overcommitted', message, mend);
  }
}

/** Units without any measured figure, except those that `places` names with the reason. */
function* unmeasured({ ledger, unread }: Observed): Generator<Finding> {
  const told = new Set(unread.first.map(({ path }) => path));
  const paths = [...ledger.units.unmeasured].filter(path => !told.has(path));
  yield* listed({ first: paths, count: paths.length }, path => {
    const message = `${printable(path)}: nothing in it could be read, so it counts 0 bytes`;
    const mend = `let the daemon read it, and open enough files (LimitNOFILE= of its unit); then: ${scan}`;
    return makeFinding('unmeasured', message, mend);
  });
}

function* places(observed: Observed): Generator<Finding> {
  const { unread, faults, leftovers, rootsAway, rootsUnused, uid } = observed;
  const isAway = ({ path }: TroubledPlace): boolean =>
    rootsAway.some(root => root.path === path) || rootsUnused.some(root => root.path === path);
  const away = unread.first.filter(isAway).length;
  const others = { first: unread.first.filter(place => !isAway(place)), count: unread.count - away };
  yield* listed(others, place =>
    place.why === notFollowed
      ? unfollowedLink(place.path)
      : makeFinding('unread', trouble(place), readingMend(place, uid)),
  );
  yield* listed(faults, place => {
    const mend = `rename it, or correct the file or setting that names its owner; then: ${scan}`;
    return makeFinding('unit_fault', trouble(place), mend);
  });
  yield* listed(leftovers, ({ path, bytes, modifiedAt }) => {
    const began = new Date(modifiedAt).toISOString().slice(0, 10);
    const message = `${printable(path)}: ${formatBytes(bytes)} that git began on ${began} and never finished`;
    return makeFinding('leftover', message, `${commandLine('rm', '-rf', '--', path)} && ${scan}`);
  });
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

function* owners({ ledger, forge }: Observed): Generator<Finding> {
  for (const names of ledger.units.spellings()) {
    const message = `these names count for the same owner: ${names.map(printable).join(', ')}`;
    const keep = ', or set [users] CASE = keep if only the case of letters differs';
    const mend = `rename a directory${forge === null ? keep : ''}`;
    yield makeFinding('same_owner', message, mend);
  }
}

const policyMends: Readonly<Record<LintFinding['code'], string>> = {
  missing_default_group: 'remove it from [quota] DEFAULT_GROUPS',
  empty_group: 'add rules to it, or delete it',
  unused_group: 'add owners to it, or delete it',
  shadowed_default_group: 'remove it from [quota] DEFAULT_GROUPS',
  matches_nothing: 'set its subjects, or delete it',
  unreachable_rule: 'delete it, or lower its limit',
  idle_bound: 'delete it, change its limit, or move it to a group that owners are added to',
  uncovered_subject: 'add a rule, or see [quota] UNCOVERED',
  perhaps_renamed:
    'softquota user edit OLD --name NEW keeps everything; if it is somebody else: remove the old owner from the groups, or delete the old owner',
};

function policy({ policyFaults }: Observed): Finding[] {
  return [...Map.groupBy(policyFaults, ({ code }) => code).values()].flatMap(first =>
    listed({ first, count: first.length }, ({ code, message }) =>
      makeFinding(code === 'perhaps_renamed' ? code : 'policy_fault', message, policyMends[code]),
    ),
  );
}
