/**
 * The facts about a push before it is decided: what the server that runs the hook says by its variables, what
 * the push grows, and by how much.
 */

import { basename, posix } from 'node:path';
import { SoftquotaError } from '../../errors.ts';
import { isQuarantineName, type Quarantine, type QuarantineLook } from '../../layout/index.ts';
import { type Leaf, nameFault } from '../../quota/index.ts';
import { hiddenRefs } from '../../wire/index.ts';
import { knownUnitAt } from '../check.ts';
import { pathIn } from '../request.ts';
import type { GateServices, LocatedUnit } from '../services.ts';
import type { RefChanges } from './lines.ts';
import { fieldOf, type PushFields } from './request.ts';

/** The place of a push's objects until it is accepted. */
export type Arriving =
  /** A quarantine, named as `quarantinePath` takes it. */
  | { readonly in: 'quarantine'; readonly name: string }
  /** The server says that the push brings none. */
  | { readonly in: 'nothing' }
  /** git made no quarantine that could be looked at. */
  | { readonly in: 'unknown' };

/** The owner and the leaf of a repository by the variables of its server. */
interface Claim {
  readonly ownerName: string;
  readonly leaf: Leaf;
}

export interface ServerFacts {
  /** Empty where nobody says, or says no name. No decision depends on it. */
  readonly actor: string;
  /** The directory of the repository. */
  readonly directory: string;
  readonly arriving: Arriving;
  readonly claim: Claim | null;
  readonly hidden: readonly string[];
  readonly prefix: string;
}

/** Each function reads fields of a push whose `isHere` is true. */
interface GitServer {
  /** Tells whether this server runs the hook. Several may, such as gitolite and sshd. */
  isHere(fields: PushFields): boolean;
  /** The pusher's name, for the record; empty where the server does not say. */
  actor(fields: PushFields): string;
  /** The repository's directory; absent: the one in which the hook runs. */
  directory?(directory: string): string;
  /** Absent: git's own variables say it. */
  arriving?(fields: PushFields): Arriving;
  /** The owner of a repository that no template matches; null: nobody says. */
  claim?(fields: PushFields): Claim | null;
  /** Beginnings of the names of refs that the server hides, besides those of git's configuration. */
  readonly hidden?: readonly string[];
  /** Stands before each line that the pusher reads. */
  readonly prefix?: string;
}

/** git itself, by sshd or a web server. */
const git: GitServer = {
  isHere: () => true,
  /** sshd sets LOGNAME and SSH_CONNECTION after what clients send; only a web server sets REMOTE_USER. */
  actor: fields => {
    const account = fieldOf(fields, 'LOGNAME');
    return fieldOf(fields, 'SSH_CONNECTION') === '' ? fieldOf(fields, 'REMOTE_USER') || account : account;
  },
  /** Only the last name counts: the path before it may lead through a link, or elsewhere. */
  arriving: fields => {
    const name = basename(fieldOf(fields, 'GIT_QUARANTINE_PATH'));
    return isQuarantineName(name) ? { in: 'quarantine', name } : { in: 'unknown' };
  },
};

/** It sets GL_USER and GL_REPO together. */
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
/** The quarantine of an edit in the browser or a merge is below the storage. */
const edit = /\/(\+gitaly\/tmp\/quarantine-[^/]+)$/;

/** Gitaly runs the hook for all repositories, by a path outside of them. */
const gitlab: GitServer = {
  isHere: fields => fieldOf(fields, 'GL_REPOSITORY') !== '',
  actor: fields => fieldOf(fields, 'GL_USERNAME'),
  directory: directory => {
    const [, storage, , repository] = snapshot.exec(directory) ?? [];
    return storage === undefined ? directory : `${storage}/${repository}`;
  },
  /** Gitaly gives no GIT_QUARANTINE_PATH to hooks. */
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
    // On other servers a pusher can set these variables, but there the hook lies in the repository.
    const script = fieldOf(fields, 'script');
    if (!script.startsWith('/') || script.startsWith(`${fieldOf(fields, 'directory')}/`)) return null;
    const [ownerName = ''] = fieldOf(fields, 'GL_PROJECT_PATH').split('/', 1);
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

/** A later one knows better than those before it. */
const servers: readonly GitServer[] = [git, gitolite, gitea, gogs, gitlab, softServe];

export function serverFacts(fields: PushFields): ServerFacts {
  const here = servers.filter(server => server.isHere(fields));
  const given = fieldOf(fields, 'directory');
  const named = here.map(server => server.actor(fields)).findLast(name => name !== '') ?? '';
  return {
    actor: nameFault(named) === null ? named : '',
    directory: here.reduce((directory, server) => server.directory?.(directory) ?? directory, given),
    // git sets its variable itself, after whatever whoever pushes has set.
    arriving: arrivingBy(fieldOf(fields, 'GIT_QUARANTINE_PATH') === '' ? here : [git], fields),
    claim: here.findLast(server => server.claim !== undefined)?.claim?.(fields) ?? null,
    hidden: here.flatMap(server => server.hidden ?? []),
    prefix: here.findLast(server => server.prefix !== undefined)?.prefix ?? '',
  };
}

function arrivingBy(here: readonly GitServer[], fields: PushFields): Arriving {
  return here.findLast(server => server.arriving !== undefined)?.arriving?.(fields) ?? { in: 'unknown' };
}

/** The file of Gitea or Forgejo beside which its hook runs this one. */
export const giteaFile = 'hooks/pre-receive.d/gitea';

/**
 * Tells whether this may be a push of the forge itself: opening a pull request from a fork pushes
 * `refs/pull/NUMBER/head` into the repository, and whoever opens it stores nothing of their own there.
 * Neither the refs nor the variable are enough alone; the variable counts only where `giteaFile` is.
 */
export function isInternal(fields: PushFields): boolean {
  return (
    fieldOf(fields, 'GITEA_INTERNAL_PUSH') === 'true' &&
    /(?:^|\/)pre-receive\.d\/[^/]+$/.test(fieldOf(fields, 'script'))
  );
}

export interface Growth {
  /** It brings objects, or more than a few refs, or nobody can tell. */
  readonly grows: boolean;
  /** 0 where it cannot be told. */
  readonly bytes: number;
  /** Null: nobody could read it, or git made none. */
  readonly quarantine: Quarantine | null;
  /** Name of the quarantine, by which the push's end is noticed; null: nothing can be watched. */
  readonly name: string | null;
}

/** Each ref is a file, and each level of its name a directory, which counts no bytes but takes space. */
const fewRefs = 100;
const fewCharacters = 1000;

/** Estimates how many bytes a push brings. `look` is null where there is no quarantine to look at. */
export function pushGrowth(changes: RefChanges, arriving: Arriving, look: QuarantineLook | null): Growth {
  const quarantine = look?.is === 'seen' ? look.quarantine : null;
  const hasManyRefs =
    changes.created > fewRefs || changes.isNested || changes.createdCharacters > fewCharacters;
  const bringsObjects = quarantine === null ? arriving.in !== 'nothing' : quarantine.hasObjects;
  const refBytes = (changes.created + changes.updated) * (changes.hashLength + 1);
  return {
    grows: bringsObjects || hasManyRefs,
    bytes: quarantine === null ? 0 : quarantine.bytes + refBytes,
    quarantine,
    name: arriving.in === 'quarantine' && look?.is !== 'absent' ? arriving.name : null,
  };
}

export interface PushPlace {
  readonly ownerName: string;
  readonly leaf: Leaf;
  /** Null: no template matches, and the server says whose it is. */
  readonly unit: LocatedUnit | null;
}

interface PlaceServices extends Pick<GateServices, 'locate' | 'settleOwner'> {
  readonly ledger: Pick<GateServices['ledger'], 'units'>;
}

/**
 * Finds what a push grows: the unit of its repository, or what the server says of an unknown one. Rejects
 * with `not_ready` where the disk does not answer.
 */
export async function findPlace(
  services: PlaceServices,
  facts: ServerFacts,
): Promise<PushPlace | 'no unit' | 'no owner'> {
  const unit = await unitAt(services, pathIn(facts.directory));
  // The owner of a moment ago may have another name now.
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

/** A repository may have been another one's a moment ago, or have had another name: its bytes go with it. */
export async function walkedOnce(
  { ledger, pushes }: Pick<GateServices, 'ledger' | 'pushes'>,
  place: PushPlace,
): Promise<PushPlace> {
  const { unit } = place;
  if (unit === null || unit.bytes !== null || unit.isElsewhere === true) return place;
  await pushes.firstWalk(unit.path);
  return { ...place, unit: knownUnitAt(ledger, unit.path) ?? unit };
}

/** The key under which refs over the limit are added up: a limit may be for one leaf alone. */
export function refsOwner({ ownerName, leaf }: PushPlace): string {
  return `${leaf} ${ownerName}`;
}

/** The part of a question's identity that its quarantine is. */
export function seenAs(look: QuarantineLook | null): string {
  return look?.is === 'seen' ? `${look.quarantine.id} ${look.quarantine.bytes}` : String(look?.is);
}
