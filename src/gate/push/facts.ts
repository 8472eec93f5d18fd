/**
 * Facts about a push: the variables of the server that runs the hook, what the push adds to, how much and
 * which data it brings; and advice for a file that is refused.
 */

import { basename, posix } from 'node:path';
import { SoftquotaError } from '../../errors.ts';
import { isQuarantineName, type Quarantine, type QuarantineLook } from '../../layout/index.ts';
import {
  decideIncoming,
  type Incoming,
  type IncomingFile,
  type Leaf,
  leastFileBytes,
  nameFault,
} from '../../quota/index.ts';
import { hiddenRefs, type JudgedPush, workerAnswers } from '../../wire/index.ts';
import { knownUnitAt } from '../check.ts';
import { longestLine } from '../refusal-text.ts';
import { pathIn } from '../request.ts';
import type { Decided, GateServices, LocatedUnit, PushWorker } from '../services.ts';
import { fieldOf, type PushFields, type RefChanges } from './request.ts';

/** Place of a push's objects until the push is accepted. */
export type Arriving =
  /** A quarantine directory, named in the form that `quarantinePath` takes. */
  | { readonly in: 'quarantine'; readonly name: string }
  /** The server says that the push brings no objects. */
  | { readonly in: 'nothing' }
  /** There is no quarantine that could be measured. */
  | { readonly in: 'unknown' };

/** Owner and leaf of a repository according to its server's variables. */
interface Claim {
  readonly ownerName: string;
  readonly leaf: Leaf;
}

export interface ServerFacts {
  /** Name of the pusher; empty if unknown or invalid. No decision depends on it. */
  readonly actor: string;
  readonly directory: string;
  readonly arriving: Arriving;
  readonly claim: Claim | null;
  readonly hidden: readonly string[];
  readonly prefix: string;
}

/** Description of a push by one kind of server. The functions get fields for which `isHere` is true. */
interface GitServer {
  /** Returns true if this server runs the hook. Several may be involved, such as gitolite and sshd. */
  isHere(fields: PushFields): boolean;
  /** Returns the pusher's name for the record; empty if the server does not give it. */
  actor(fields: PushFields): string;
  /** Returns the repository's directory; absent: the directory in which the hook runs. */
  directory?(directory: string): string;
  /** Absent: git's own variables count. */
  arriving?(fields: PushFields): Arriving;
  /** Returns the owner of a repository that no template matches; null if unknown. */
  claim?(fields: PushFields): Claim | null;
  /** Prefixes of refs that the server hides, besides those of git's configuration. */
  readonly hidden?: readonly string[];
  /** Prefix of each line for the pusher. */
  readonly prefix?: string;
}

/** git itself, run by sshd or a web server. */
const git: GitServer = {
  isHere: () => true,
  /**
   * sshd sets LOGNAME and SSH_CONNECTION after the client's variables; only a web server sets REMOTE_USER.
   */
  actor: fields => {
    const account = fieldOf(fields, 'LOGNAME');
    return fieldOf(fields, 'SSH_CONNECTION') === '' ? fieldOf(fields, 'REMOTE_USER') || account : account;
  },
  /** Only the last name of the path is used: the path before it may lead through a link, or elsewhere. */
  arriving: fields => {
    const name = basename(fieldOf(fields, 'GIT_QUARANTINE_PATH'));
    return isQuarantineName(name) ? { in: 'quarantine', name } : { in: 'unknown' };
  },
};

/** gitolite sets GL_USER and GL_REPO together. */
const gitolite: GitServer = {
  isHere: fields => fieldOf(fields, 'GL_REPO') !== '',
  actor: fields => fieldOf(fields, 'GL_USER'),
};

/** Gitea and Forgejo. */
const gitea: GitServer = {
  isHere: fields => fieldOf(fields, 'GITEA_REPO_NAME') !== '',
  actor: fields => fieldOf(fields, 'GITEA_PUSHER_NAME'),
  hidden: hiddenRefs.gitea,
};

const gogs: GitServer = {
  isHere: fields => fieldOf(fields, 'GOGS_REPO_NAME') !== '',
  actor: fields => fieldOf(fields, 'GOGS_AUTH_USER_NAME'),
};

/** A transaction of Gitaly works in a copy of the repository, `STORAGE/+gitaly/snapshots/A/B/REPOSITORY`. */
const snapshot = /^(.*)\/(\+gitaly\/snapshots\/[^/]+\/[^/]+\/(.+))$/s;
/** The quarantine of a merge, or of an edit in the browser, is below the storage. */
const edit = /\/(\+gitaly\/tmp\/quarantine-[^/]+)$/;

/** Gitaly runs one hook for all repositories, from a path outside of them. */
const gitlab: GitServer = {
  isHere: fields => fieldOf(fields, 'GL_REPOSITORY') !== '',
  actor: fields => fieldOf(fields, 'GL_USERNAME'),
  directory: directory => {
    const [, storage, , repository] = snapshot.exec(directory) ?? [];
    return storage === undefined ? directory : `${storage}/${repository}`;
  },
  /** Gitaly does not give GIT_QUARANTINE_PATH to hooks. */
  arriving: fields => {
    const directory = fieldOf(fields, 'directory');
    const given = fieldOf(fields, 'GIT_OBJECT_DIRECTORY');
    if (given === '') return { in: 'unknown' };
    const objects = posix.resolve(directory, given);
    if (objects === posix.resolve(directory, 'objects')) return { in: 'nothing' };
    const [, ofEdit] = edit.exec(objects) ?? [];
    if (ofEdit !== undefined) return { in: 'quarantine', name: ofEdit };
    const name = basename(objects);
    if (!isQuarantineName(name)) return { in: 'unknown' };
    const [, , below] = snapshot.exec(directory) ?? [];
    const isInSnapshot = below !== undefined && objects === posix.resolve(directory, 'objects', name);
    return { in: 'quarantine', name: isInSnapshot ? `${below}/objects/${name}` : name };
  },
  claim: fields => {
    // On other servers a pusher can set these variables, but there the hook is inside the repository.
    const script = fieldOf(fields, 'script');
    if (!script.startsWith('/') || script.startsWith(`${fieldOf(fields, 'directory')}/`)) return null;
    const [first = ''] = fieldOf(fields, 'GL_PROJECT_PATH').split('/', 1);
    // GitLab keeps this name for the snippets that belong to no project. Only their authors write them.
    const ownerName = first === 'snippets' ? gitlab.actor(fields) : first;
    if (nameFault(ownerName) !== null) return null;
    const isWiki = fieldOf(fields, 'GL_REPOSITORY').includes('wiki');
    return { ownerName, leaf: isWiki ? 'size:assets:wiki' : 'size:repos:private' };
  },
  hidden: hiddenRefs.gitlab,
  prefix: 'GL-HOOK-ERR: ',
};

const softServe: GitServer = {
  isHere: fields => fieldOf(fields, 'SOFT_SERVE_REPO_NAME') !== '',
  actor: fields => fieldOf(fields, 'SOFT_SERVE_USERNAME'),
};

/** All kinds of servers. A later one takes precedence. */
const servers: readonly GitServer[] = [git, gitolite, gitea, gogs, gitlab, softServe];

export function serverFacts(fields: PushFields): ServerFacts {
  const here = servers.filter(server => server.isHere(fields));
  const given = fieldOf(fields, 'directory');
  const named = here.map(server => server.actor(fields)).findLast(name => name !== '') ?? '';
  return {
    actor: nameFault(named) === null ? named : '',
    directory: here.reduce((directory, server) => server.directory?.(directory) ?? directory, given),
    // git sets this variable itself, so a pusher cannot fake it.
    arriving: arrivingBy(fieldOf(fields, 'GIT_QUARANTINE_PATH') === '' ? here : [git], fields),
    claim: here.findLast(server => server.claim !== undefined)?.claim?.(fields) ?? null,
    hidden: here.flatMap(server => server.hidden ?? []),
    prefix: here.findLast(server => server.prefix !== undefined)?.prefix ?? '',
  };
}

function arrivingBy(here: readonly GitServer[], fields: PushFields): Arriving {
  return here.findLast(server => server.arriving !== undefined)?.arriving?.(fields) ?? { in: 'unknown' };
}

/**
 * Returns true if the forge itself may be pushing. Opening a pull request from a fork pushes
 * `refs/pull/NUMBER/head` into the repository, although its author stores nothing there. Neither the refs nor
 * the variable is enough alone; the variable counts only if the forge's own hook exists.
 */
export function isInternal(fields: PushFields): boolean {
  return (
    fieldOf(fields, 'GITEA_INTERNAL_PUSH') === 'true' &&
    /(?:^|\/)pre-receive\.d\/[^/]+$/.test(fieldOf(fields, 'script'))
  );
}

export interface Growth {
  /** True if the push brings objects or more than a few refs, or if this is unknown. */
  readonly grows: boolean;
  /** Estimated bytes; 0 if unknown. */
  readonly bytes: number;
  /** Null if there is no quarantine, or if it cannot be read. */
  readonly quarantine: Quarantine | null;
  /** Name of the quarantine, whose removal shows the end of the push; null if it cannot be watched. */
  readonly name: string | null;
  /** The quarantine's part of a question's identity. */
  readonly seen: string;
}

/** Each ref is a file, and each level of its name a directory, which counts no bytes but uses space. */
const fewRefs = 100;
const fewCharacters = 1000;

/** Estimates the bytes of a push. `look` is null if there is no quarantine to measure. */
export function pushGrowth(changes: RefChanges, arriving: Arriving, look: QuarantineLook | null): Growth {
  const quarantine = look?.is === 'seen' ? look.quarantine : null;
  const hasManyRefs =
    changes.created > fewRefs || changes.isNested || changes.createdCharacters > fewCharacters;
  const bringsObjects = quarantine === null ? arriving.in !== 'nothing' : quarantine.sample !== null;
  const refBytes = (changes.created + changes.updated) * (changes.hashLength + 1);
  return {
    grows: bringsObjects || hasManyRefs,
    bytes: quarantine === null ? 0 : quarantine.bytes + refBytes,
    quarantine,
    name: arriving.in === 'quarantine' && look?.is !== 'absent' ? arriving.name : null,
    seen: quarantine === null ? String(look?.is) : `${quarantine.id} ${quarantine.bytes}`,
  };
}

export interface PushPlace {
  readonly ownerName: string;
  readonly leaf: Leaf;
  /** Null if no template matches; then the server's variables name the owner. */
  readonly unit: LocatedUnit | null;
}

type PlaceServices = Pick<GateServices, 'ledger' | 'locate' | 'settleOwner'>;

/**
 * Finds what a push adds to: the unit of its repository, or the server's claim about an unknown one. Rejects
 * with `not_ready` if the disk does not answer.
 */
export async function findPlace(
  services: PlaceServices,
  facts: ServerFacts,
): Promise<PushPlace | 'no unit' | 'no owner'> {
  const unit = await unitAt(services, pathIn(facts.directory));
  // The forge may have renamed the owner just now.
  if (unit !== null && unit.owner !== null) await services.settleOwner(unit.owner, true);
  if (unit !== null && unit.owner !== null) return { ownerName: unit.owner, leaf: unit.leaf, unit };
  if (facts.claim !== null) return { ...facts.claim, unit: null };
  return unit === null ? 'no unit' : 'no owner';
}

async function unitAt(services: PlaceServices, path: string): Promise<LocatedUnit | null> {
  const known = knownUnitAt(services.ledger, path);
  if (known !== null) return known;
  try {
    return await services.locate(path);
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'unknown_path') return null;
    throw error;
  }
}

/**
 * Waits for the first walk of a new unit. The repository may have been moved or renamed just now, and its
 * bytes move with it.
 */
export async function walkedOnce(
  { ledger, pushes }: Pick<GateServices, 'ledger' | 'pushes'>,
  place: PushPlace,
): Promise<PushPlace> {
  const { unit } = place;
  if (unit === null || unit.bytes !== null || unit.isElsewhere === true) return place;
  await pushes.firstWalk(unit.path);
  return { ...place, unit: knownUnitAt(ledger, unit.path) ?? unit };
}

/** Makes the key under which refs over the limit are counted; a limit may apply to one leaf only. */
export function refsOwner({ ownerName, leaf }: PushPlace): string {
  return `${leaf} ${ownerName}`;
}

/**
 * Milliseconds from the question until the search for large files ends. An answer may take half of the five
 * seconds that the hook waits.
 */
const filesWithinMs = 2300;
export const answeredWithinMs = 4500;

/** Returns the milliseconds that are left until `withinMs` after the question. */
export function leftMs(askedAt: number, withinMs: number): number {
  return Math.max(0, askedAt + withinMs - performance.now());
}

/**
 * Milliseconds from the question until the quarantine has to be measured; the hook waits for five seconds.
 */
const lookedWithinMs = 3000;
const leastLookMs = 500;

/**
 * Returns the time limit for measuring a quarantine. It is never 0: a quarantine that is not measured would
 * count as empty.
 */
export function lookMs(askedAt: number): number {
  return Math.max(leastLookMs, leftMs(askedAt, lookedWithinMs));
}

interface BroughtBy {
  readonly place: PushPlace;
  readonly arriving: Arriving;
  /** Null if there is no quarantine to measure. */
  readonly look: QuarantineLook | null;
  /** Time of the question on the monotonic clock. */
  readonly askedAt: number;
}

/** Describes the data of a push; its files are searched only if a rule limits them. Never rejects. */
export async function incomingBy(
  parts: Pick<GateServices, 'ledger' | 'pushes'>,
  brought: BroughtBy,
): Promise<Incoming> {
  const { arriving, look } = brought;
  const bytes = look?.is === 'seen' ? look.quarantine.bytes : arriving.in === 'nothing' ? 0 : null;
  return { bytes, largest: await largestFile(parts, brought) };
}

/**
 * Returns the largest file: with 0 bytes if none is over a limit, null if unknown or if no rule limits files.
 */
async function largestFile(
  { ledger, pushes }: Pick<GateServices, 'ledger' | 'pushes'>,
  { place, arriving, look, askedAt }: BroughtBy,
): Promise<IncomingFile | null> {
  const { settings } = ledger;
  const owner = ledger.ownerUsage(place.ownerName);
  const overBytes = leastFileBytes({ settings, standing: ledger.standing(owner) }, place.leaf);
  if (overBytes === null) return null;
  const isEmpty = look?.is === 'seen' ? look.quarantine.sample === null : arriving.in === 'nothing';
  if (isEmpty) return { bytes: 0 };
  const deadlineMs = leftMs(askedAt, filesWithinMs);
  if (place.unit === null || arriving.in !== 'quarantine' || look?.is !== 'seen' || deadlineMs === 0)
    return null;
  const found = await pushes.largeFiles(place.unit.path, arriving.name, overBytes, deadlineMs);
  return found.is === 'unknown' ? null : (found.blobs[0] ?? { bytes: 0 });
}

/** Returns the refusal by a limit of pushes or files if there is one, otherwise `decided`. */
export function orByIncoming(
  ledger: GateServices['ledger'],
  leaf: Leaf,
  incoming: Incoming,
  decided: Decided,
): Decided {
  const { settings } = ledger;
  const policy = { settings, standing: ledger.standing(decided.owner) };
  const { refused } = decideIncoming(policy, leaf, incoming);
  return refused === null ? decided : { ...decided, decision: refused };
}

/**
 * Adds the path of a refused file, which the worker searches while the hook waits, and commands that remove
 * it from the push. Never rejects. `task` is null if no worker can search.
 */
export async function explainFile(
  decided: Decided,
  { link, isHere }: Pick<PushWorker, 'isHere' | 'link'>,
  task: Omit<JudgedPush, 'manner'> | null,
  askedAt: number,
): Promise<Decided & { readonly advice: readonly string[] }> {
  const { decision } = decided;
  if (decision.allowed || decision.per !== 'file' || decision.file?.object === undefined) {
    return { ...decided, advice: [] };
  }
  const { file } = decision;
  const { object } = decision.file;
  const deadlineMs = Math.floor(leftMs(askedAt, answeredWithinMs));
  const answer =
    task !== null && isHere && deadlineMs > 0
      ? await link
          .ask({ kind: 'file_path', ...task, object, deadline_ms: deadlineMs }, deadlineMs)
          .catch(() => null)
      : null;
  const { path = null, commands = [] } = workerAnswers.file_path.safeParse(answer).data ?? {};
  if (path === null) {
    const advice = ['To see its name:', `  git rev-list --objects HEAD | grep ${object}`];
    return { ...decided, advice };
  }
  // Longer lines are cut when they are shown, and a part of a command is a different command.
  const advice = commands
    .map(({ what, lines }) => [what, ...lines.map(line => `  ${line}`)])
    .filter(lines => lines.every(line => line.length <= longestLine))
    .flat();
  return { ...decided, decision: { ...decision, file: { ...file, name: path } }, advice };
}
