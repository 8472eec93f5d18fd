/** `/space` and `/reclaims`: the space inside repositories, and garbage collection. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { isOfGitaly } from '../../layout/index.ts';
import { isoTime, printable } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { ownerScopes } from './quotas.ts';

const mostRepositories = 1000;

interface RepositoryUnit {
  readonly path: string;
  /** Name for people. */
  readonly name: string;
  readonly bytes: number;
}

const repo = wire.text.optional().meta({
  description: 'A repository, by its name or its path; left out: only the figures of all repositories.',
});

const asked = z.strictObject({
  repo,
  newer_than: z.iso.datetime().max(40).optional().meta({
    description: 'With a repository: a report of before is too old, such as one with this `reported_at`.',
  }),
});

const takesTime =
  'With a repository, the worker looks through it, which takes some seconds: ask again while `state` is `running`.';

export function spaceRoutes(services: ApiServices): readonly Route[] {
  return [
    route('get', 'getSpace', '/admin/quota/space', {
      tag: 'owners',
      summary: "What takes the space of an owner's repositories, and what would free how much",
      description: takesTime,
      query: asked.extend({ user: wire.knownName.min(1) }),
      faults: [404, 503],
      answer: { status: 200, description: 'The space', schema: wire.spaceAnswer },
      handle: ({ query }) => {
        const { owner, repository } = partsOf(services, [query.user, query.repo ?? ''].join('/'));
        return spaceOf(services, owner, { ...query, repo: repository || undefined });
      },
    }),
    ...ownerScopes(services).map(({ of, path, read, owner }) =>
      route('get', `getSpaceOf${of}`, `${path}/space`, {
        ...read,
        summary: 'What takes the space of the repositories, and what would free how much',
        description: takesTime,
        query: asked,
        faults: [400, 404, 503],
        answer: { status: 200, description: 'The space', schema: wire.spaceAnswer },
        handle: ({ params, query }, { caller }) =>
          forOwners(services, () => spaceOf(services, owner(params, caller).name, query)),
      }),
    ),
    route('post', 'startReclaim', '/admin/quota/reclaims', {
      summary: 'Collect garbage now',
      description: 'What became unreachable within `[reclaim] EXPIRE` stays.',
      body: wire.reclaimOrder.default({}),
      faults: [404, 503],
      answer: {
        status: 202,
        description: 'The collections, which run in the background',
        schema: z.array(wire.reclaimRun),
      },
      handle: ({ body }) =>
        unitsFor(services, body.repository).map(({ path, name }) => services.space.reclaim(path, name)),
    }),
    route('get', 'listReclaims', '/admin/quota/reclaims', {
      summary: 'Running and recent collections of garbage that somebody asked for',
      answer: { status: 200, description: 'The newest first', schema: z.array(wire.reclaimRun) },
      handle: () => [...services.space.runs()],
    }),
  ];
}

const nobodyLooks =
  'the server cannot look into repositories at the moment, which an administrator can change; deleting branches and tags frees space all the same';

/** Replaces the message for owners if no worker runs: they cannot start one, but can delete branches. */
function forOwners({ worker }: ApiServices, answer: () => wire.SpaceAnswer): wire.SpaceAnswer {
  if (worker().running) return answer();
  try {
    const seen = answer();
    return seen.message === null ? seen : { ...seen, message: nobodyLooks };
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'not_ready') throw error;
    throw new SoftquotaError('not_ready', nobodyLooks);
  }
}

function spaceOf(
  services: ApiServices,
  owner: string,
  { repo: repository, newer_than: newerThan }: z.output<typeof asked>,
): wire.SpaceAnswer {
  const units = repositoriesOf(services, owner);
  const unit = repository === undefined ? null : named(units, owner, repository);
  const shown = units.slice(0, mostRepositories).map(each => figuresOf(services, each));
  const usage = services.ledger.ownerUsage(owner);
  const { garbage } = services.ledger.stateDeciderFor(usage, false)('size:all');
  const after = newerThan === undefined ? 0 : Date.parse(newerThan);
  return {
    owner: usage.name,
    stored_bytes: units.reduce((sum, { bytes }) => sum + bytes, 0),
    unreachable_bytes: units.reduce((sum, { path }) => sum + unreachableIn(services, path), 0),
    ...(garbage === undefined ? {} : { garbage }),
    repositories: unit === null ? shown : [figuresOf(services, unit)],
    ...(unit === null ? nothingAsked : services.space.explain(unit.path, after)),
  };
}

const nothingAsked = { state: 'none', report: null, reported_at: null, message: null } as const;

/** Splits `OWNER/REPOSITORY`. Names of subgroups contain slashes, so the longest known owner is taken. */
function partsOf({ documents }: ApiServices, asked: string) {
  const names = asked.replace(/\/$/, '').split('/');
  const isKnown = (length: number) => documents.owners.named(names.slice(0, length).join('/')) !== undefined;
  const length = [...names.keys()].map(at => at + 1).findLast(isKnown) ?? 1;
  return { owner: names.slice(0, length).join('/'), repository: names.slice(length).join('/') };
}

/** An owner's repositories on this host, the largest first. */
function repositoriesOf({ ledger, unitNames }: ApiServices, owner: string): readonly RepositoryUnit[] {
  const unitName = unitNames();
  return ledger.units
    .unitsOf(owner)
    .filter(({ kind, leaf }) => kind === 'walked' && isGit(leaf))
    .map(unit => ({
      path: unit.id,
      name: unitName(unit),
      bytes: unit.bytes,
    }));
}

function isGit(leaf: string): boolean {
  return leaf.startsWith('size:repos:') || leaf === 'size:assets:wiki';
}

function figuresOf(
  { space, placed }: ApiServices,
  { path, name, bytes }: RepositoryUnit,
): wire.RepositorySpace {
  const found = space.figures(path);
  const measured = found?.measured ?? null;
  const collected = found?.collected ?? null;
  return {
    name,
    ...(placed(path)?.isInherited ? { inherited: true } : {}),
    ...(isOfGitaly(path) ? { of_gitlab: true } : {}),
    stored_bytes: bytes,
    reachable_bytes: measured?.reachable_bytes ?? null,
    unreachable_bytes: measured?.unreachable_bytes ?? null,
    measured_at: found === null || measured === null ? null : isoTime(found.at),
    fault: found?.fault ?? null,
    collected: collected && { ...collected, at: isoTime(collected.at) },
  };
}

function unreachableIn({ space }: ApiServices, path: string): number {
  return space.figures(path)?.measured?.unreachable_bytes ?? 0;
}

/**
 * Finds a repository by `one`, `one.git`, `alice/one`, or its path, and a working copy also without `/.git`.
 * Throws `not_found`.
 */
function named(units: readonly RepositoryUnit[], owner: string, repository: string): RepositoryUnit {
  const wanted = withoutSuffix(repository);
  const isIt = ({ path, name }: RepositoryUnit): boolean => {
    const own = withoutSuffix(name);
    return withoutSuffix(path) === wanted || own === wanted || own === `${owner}/${wanted}`;
  };
  const found = units.find(isIt) ?? units.find(({ name }) => withoutSuffix(name).endsWith(`/${wanted}`));
  if (found !== undefined) return found;
  const message = `${printable(owner)} has no repository ${printable(repository)} on this host`;
  throw new SoftquotaError('not_found', message);
}

function withoutSuffix(name: string): string {
  return name.replace(/\/?\.git$/, '');
}

/** Returns repositories with garbage, those with most of it first. Throws `not_ready` if none is measured. */
function collectable({ ledger, space }: ApiServices): readonly RepositoryUnit[] {
  const all: (RepositoryUnit & { readonly garbage: number })[] = [];
  let isAny = false;
  for (const { id, kind, owner, leaf, bytes } of ledger.units.units) {
    if (kind !== 'walked' || owner === null || !isGit(leaf) || isOfGitaly(id)) continue;
    isAny = true;
    const garbage = space.collectableBytes(id);
    if (garbage > 0) all.push({ path: id, name: id, bytes, garbage });
  }
  if (isAny) space.checkMeasured();
  return all.sort((a, b) => b.garbage - a.garbage).slice(0, wire.mostReclaims);
}

/** Returns the named repository; without a name, those with garbage. Throws `not_found` and `not_ready`. */
function unitsFor(services: ApiServices, repository: string | undefined): readonly RepositoryUnit[] {
  if (repository === undefined) return collectable(services);
  const { ledger } = services;
  const unit = repository.startsWith('/') ? ledger.units.unitAt(repository) : null;
  if (unit !== null && isGit(unit.leaf)) return [{ path: unit.id, name: unit.id, bytes: unit.bytes }];
  const { owner, repository: name } = partsOf(services, repository);
  return [named(repositoriesOf(services, owner), owner, name)];
}
