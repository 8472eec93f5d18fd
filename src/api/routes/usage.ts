/**
 * `/usage`, `/explain` and `/units`: the usage of owners, their limits, the reasons for decisions, and the
 * largest repositories and other units.
 */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { given } from '../../given.ts';
import type { Ledger, OwnerSize } from '../../ledger/index.ts';
import { type LimitedRepository, limitedRepositories } from '../../overview/index.ts';
import { assignedGroups, mustBeGroup } from '../../policy/index.ts';
import { leafMask, leaves } from '../../quota/index.ts';
import { byText } from '../../sorting.ts';
import type { LargeUnit, UnitRecord } from '../../store/index.ts';
import { isoTime } from '../../text.ts';
import { filterMapInSlices, inSlices } from '../../turns.ts';
import * as wire from '../../wire/index.ts';
import { csvLine } from '../downloads.ts';
import { onePage, pageOf, pageQuery, tellPage } from '../pages.ts';
import { type Call, csvRoute, type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { explanationOf, reportOf, repositoryRowOf, rowOf, titleOf } from './shapes.ts';

const mostUnits = 1000;

const mostLines = 1_000_000;
const linesAtOnce = 200;

export function usageRoutes(services: ApiServices): readonly Route[] {
  const { ledger } = services;
  return [
    route('get', 'listUsage', '/admin/quota/usage', {
      summary: 'Owners, or repositories, with their usage and limits',
      description:
        'With `per=repository` the repositories of this host that have a limit of their own, the highest percentage first; of the other parameters only `owner`, `q`, `state`, `page` and `limit` may be there then.',
      query: listedUsage,
      faults: [404],
      answer: onePage(z.union([wire.ownerRow, wire.repositoryRow])),
      handle: async ({ query }, call) => {
        if (query.per === 'repository') return repositoryRows(services, query, call);
        const { owners, order } = await ownerList(services, query);
        const entries = await tellPage(call, owners, order, query);
        const rows: wire.OwnerRow[] = [];
        await inSlices(entries, ({ id }) => {
          const owner = ledger.ownerById(id);
          if (owner !== undefined) rows.push(rowOf(ledger, owner));
        });
        return rows;
      },
    }),
    csvRoute('downloadUsage', '/admin/quota/usage.csv', {
      summary: 'The same list as CSV, without pages',
      description:
        'The columns are named in the first line; sizes are bytes. A name that a spreadsheet would take for a formula ' +
        'has an apostrophe before it, and characters that cannot be seen are written out. Each line has the figures of ' +
        'the moment at which it is written.',
      query: z.strictObject(ownersQuery),
      faults: [404, 503],
      answer: { description: 'One line for each owner' },
      lines: async query => {
        const { owners, order } = await ownerList(services, query);
        const { entries } = await pageOf(owners, { page: 1, limit: mostLines }, order);
        return csvLines(services, entries);
      },
    }),
    route('get', 'getUsage', '/admin/quota/usage/{owner}', {
      summary: 'The whole report about one owner',
      description: 'Also for an unknown owner, whose `known` is false.',
      faults: [],
      answer: { status: 200, description: 'The owner', schema: wire.ownerReport },
      handle: ({ params }) => reportOf(services, params.owner, mostUnits),
    }),
    route('get', 'explainDecision', '/admin/quota/explain', {
      summary: 'The whole reasoning of a decision',
      query: z.strictObject({ user: wire.knownName.min(1), ...wire.askedDecision }),
      answer: { status: 200, description: 'The reasoning', schema: wire.explanation },
      handle: ({ query }) => explanationOf(services, query.user, query),
    }),
    route('get', 'listUnits', '/admin/quota/units', {
      summary: 'The largest repositories and other units of all owners, largest first',
      description:
        'Of other hosts that share the quota, the 20 largest of each owner, and 10,000 at most. What sources report ' +
        'in whole sets is not among them; the report about its owner has it.',
      query: unitsQuery,
      answer: onePage(wire.anyUnit),
      handle: async ({ query }, call) => {
        const { q, subject = 'size:all' } = query;
        const mask = leafMask(subject);
        const isMeant = unitSearch(services, q);
        const others = await unitsElsewhere(ledger, mask, isMeant);
        const entries = unitsIn(ledger, mask, isMeant, others);
        const page = await tellPage(call, entries, larger, query);
        return page.map(unit => unitShown(services, unit));
      },
    }),
  ];
}

function* repositoriesIn(
  ledger: Ledger,
  { owner, q, state }: Pick<z.output<typeof listedUsage>, 'owner' | 'q' | 'state'>,
): Generator<LimitedRepository | null> {
  const { owners: known } = ledger.documents;
  const part = known.keyOf(q);
  const only = owner === undefined ? null : ledger.ownerById(known.named(owner)?.id ?? 0);
  const owners = only === null ? ledger.owners() : only === undefined ? [] : [only];
  for (const found of limitedRepositories(ledger, owners)) {
    const isMeant =
      found !== null && known.keyOf(found.unit).includes(part) && (state?.includes(found.state) ?? true);
    yield isMeant ? found : null;
  }
}

const columns = [
  'owner',
  'type',
  'state',
  'stored',
  ...leaves,
  'nearest_limit',
  'used',
  'limit',
  'percent',
  'group',
  'rule',
  'measured_at',
  'partial',
  'stale',
] as const;

async function* csvLines({ ledger }: ApiServices, entries: readonly RankedOwner[]): AsyncGenerator<string> {
  yield csvLine(columns);
  for (let from = 0; from < entries.length; from += linesAtOnce) {
    let lines = '';
    await inSlices(entries.slice(from, from + linesAtOnce), entry => {
      const owner = ledger.ownerById(entry.id);
      if (owner === undefined) return;
      const row = rowOf(ledger, owner);
      lines += csvLine([
        row.name,
        row.type,
        row.state,
        row.total,
        ...owner.usage,
        row.subject,
        row.used,
        row.limit === -1 ? 'unlimited' : row.limit,
        row.percent,
        row.group,
        row.rule,
        row.measured_at,
        row.partial,
        row.stale,
      ]);
    });
    yield lines;
  }
}

const sortable = ['name', 'total', 'percent', ...leaves] as const;
const orders = ['asc', 'desc'] as const;

const oneState = wire.ownerState.options.join('|');
const stateWords = `${wire.ownerState.options.slice(0, -1).join(', ')} or ${wire.ownerState.options.at(-1)}`;

const states = z
  .string()
  .max(64)
  .transform((said, context): readonly wire.OwnerState[] => {
    const named = said.split(',').map(each => wire.ownerState.options.find(state => state === each.trim()));
    const known = named.filter(state => state !== undefined);
    if (known.length === named.length) return known;
    context.addIssue({
      code: 'custom',
      message: `expected ${stateWords}, or several of them with commas`,
    });
    return z.NEVER;
  });

const ownersQuery = {
  sort: z.enum(sortable).optional().meta({
    description:
      'The order, `total` unless given; `percent` is the percentage of the limit of the kind of data in the worst state.',
  }),
  order: z.enum(orders).optional().meta({ description: 'The default is `desc`, and `asc` for names.' }),
  q: wire.text.default('').meta({ description: 'Only owners whose names contain this text.' }),
  state: states.optional().meta({
    description: 'Only owners in this state, or in one of several with commas, such as `over,near`.',
    type: 'string',
    pattern: `^ *(${oneState}) *(, *(${oneState}) *)*$`,
  }),
  group: wire.knownName.min(1).optional().meta({
    description: 'Only owners who are in this group, or have it as a default group because they are in none.',
  }),
  type: wire.ownerType.optional().meta({ description: 'Only users, or only organizations.' }),
} as const;

const asked = z.object(ownersQuery);

type OwnersQuery = z.output<typeof asked>;

const ofOwnersOnly = ['sort', 'order', 'group', 'type'] as const;

const listedUsage = z
  .strictObject({
    per: z.enum(wire.usageLists).default('owner').meta({ description: 'The things that are listed.' }),
    owner: wire.knownName.min(1).optional().meta({
      description: 'Only repositories of this owner; to be there only with `per=repository`.',
    }),
    ...ownersQuery,
    ...pageQuery,
  })
  .superRefine((query, context) => {
    for (const name of query.per === 'owner' ? (['owner'] as const) : ofOwnersOnly) {
      if (query[name] === undefined) continue;
      context.addIssue({ code: 'custom', path: [name], message: `expected none with per=${query.per}` });
    }
  });

async function repositoryRows(
  { ledger }: ApiServices,
  query: z.output<typeof listedUsage>,
  call: Call,
): Promise<wire.RepositoryRow[]> {
  const compare = (a: LimitedRepository, b: LimitedRepository) =>
    b.fullness - a.fullness || byText(a.unit, b.unit);
  return (await tellPage(call, repositoriesIn(ledger, query), compare, query)).map(repositoryRowOf);
}

/** Position of an owner in the list; the row itself is made only for a shown page. */
interface RankedOwner {
  readonly id: number;
  readonly name: string;
  readonly rank: number;
}

/** Throws `not_found` if there is no such group. */
async function ownerList(services: ApiServices, query: OwnersQuery) {
  const { sort = 'total', state, group } = query;
  const isIn = group === undefined ? null : membership(services, group);
  if (state !== undefined || sort === 'percent') await services.totals.lately();
  const order = query.order ?? (sort === 'name' ? 'asc' : 'desc');
  const sign = order === 'asc' ? 1 : -1;
  return {
    owners: chosen(services, query, isIn),
    order: (a: RankedOwner, b: RankedOwner) =>
      (a.rank - b.rank) * sign || byText(a.name, b.name) * (sort === 'name' ? sign : 1),
  };
}

function chosen(
  { ledger, totals }: ApiServices,
  { sort = 'total', q, state, type }: OwnersQuery,
  isIn: ((ownerId: number) => boolean) | null,
): Generator<RankedOwner | null> {
  const { owners } = ledger.documents;
  const isMeant = ({ owner }: OwnerSize) =>
    (state === undefined || state.includes(totals.nearnessOf(owner.key).state)) &&
    (type === undefined || owner.type === type) &&
    (isIn === null || isIn(owner.id));
  const counts = sort === 'name' || sort === 'percent' || sort === 'total' ? 'size:all' : sort;
  return filterMapInSlices(ledger.units.ownerSizes(leafMask(counts), owners.keyOf(q)), size => {
    if (size === null) return null;
    if (!isMeant(size)) return undefined;
    const { id, key, name } = size.owner;
    // Entries of equal rank are ordered by name.
    const rank = sort === 'name' ? 0 : sort === 'percent' ? totals.nearnessOf(key).fullness : size.bytes;
    return { id, name, rank };
  });
}

function membership({ documents, ledger }: ApiServices, group: string): (ownerId: number) => boolean {
  const { snapshot } = documents;
  mustBeGroup(snapshot, group);
  const members = new Set(ledger.policy.membersOf(group));
  if (!ledger.settings.defaultGroups.includes(group)) return id => members.has(id);
  return id => members.has(id) || assignedGroups(snapshot, id).length === 0;
}

const unitsQuery = z.strictObject({
  subject: wire.askedSubject.optional().meta({ description: 'Only units of this kind; without it, of all.' }),
  q: wire.text.default('').meta({ description: 'Only units whose path, name or title contains this text.' }),
  ...pageQuery,
});

/** A unit of this host, or a large unit of another host, with fewer known fields. */
interface ListedUnit extends LargeUnit, Pick<UnitRecord, 'host' | 'owner' | 'partial'> {
  readonly files: number | null;
  readonly measuredAt: number | null;
}

type UnitSearch = (unit: Pick<ListedUnit, 'kind' | 'name'> & { readonly id?: string }) => boolean;

/** Compares as names of owners are compared. */
function unitSearch(services: ApiServices, q: string): UnitSearch {
  const { owners } = services.documents;
  const part = owners.keyOf(q);
  const hasPart = (name: string) => owners.keyOf(name).includes(part);
  return unit => part === '' || hasPart(unit.id ?? unit.name) || hasPart(titleOf(services, unit) ?? '');
}

function* unitsIn(
  ledger: Ledger,
  mask: number,
  isMeant: UnitSearch,
  others: readonly ListedUnit[],
): Generator<ListedUnit | null> {
  yield* ledger.units.unitsBelow(mask, isMeant);
  yield* others;
}

/** Limit of the listed units of other hosts: the largest ones. */
const mostElsewhere = 10_000;
const larger = (a: ListedUnit, b: ListedUnit) => b.bytes - a.bytes;

/** Returns none if the shared store cannot be reached. */
async function unitsElsewhere(
  ledger: Ledger,
  mask: number,
  isMeant: UnitSearch,
): Promise<readonly ListedUnit[]> {
  const found: ListedUnit[] = [];
  try {
    for await (const page of ledger.shares.largestOfOthers()) {
      for (const { ownerKey: owner, host, units } of page) {
        for (const unit of units) {
          if ((leafMask(unit.leaf) & mask) === 0 || !isMeant(unit)) continue;
          found.push({ ...unit, owner, host, files: null, partial: false, measuredAt: null });
        }
      }
      if (found.length > 2 * mostElsewhere) found.sort(larger).splice(mostElsewhere);
    }
  } catch (error) {
    if (!(error instanceof SoftquotaError && error.code === 'store_away')) throw error;
  }
  return found.sort(larger).slice(0, mostElsewhere);
}

function unitShown(services: ApiServices, unit: ListedUnit): wire.AnyUnit {
  const { host, owner, kind, name, leaf: subject, bytes, files, partial, measuredAt } = unit;
  const known = owner === null ? undefined : services.documents.owners.named(owner);
  const row = { host, owner: known?.name ?? owner, kind, name, subject, bytes, files, partial };
  const measured_at = kind === 'reported' || measuredAt === null ? null : isoTime(measuredAt);
  return { ...row, ...given({ title: titleOf(services, unit) }), measured_at };
}
