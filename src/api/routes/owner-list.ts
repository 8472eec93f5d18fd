/** Owners as a list is asked for: those who are meant, in an order. */

import { z } from 'zod';
import type { OwnerSize } from '../../ledger/index.ts';
import { assignedGroups, mustBeGroup } from '../../policy/index.ts';
import { leafMask, leaves } from '../../quota/index.ts';
import { filterMapInSlices } from '../../slices.ts';
import { knownName, type OwnerState, ownerStates, ownerType, text } from '../../wire/index.ts';
import type { ApiServices } from '../services.ts';

const sortable = ['name', 'total', 'percent', ...leaves] as const;
const orders = ['asc', 'desc'] as const;
/** Milliseconds that a list waits for a changed policy to be held against all owners. */
const countingMs = 1000;

const states = z
  .string()
  .max(64)
  .transform((said, context): readonly OwnerState[] => {
    const named = said.split(',').map(each => ownerStates.find(state => state === each.trim()));
    const known = named.filter(state => state !== undefined);
    if (known.length === named.length) return known;
    context.addIssue({
      code: 'custom',
      message: 'expected over, near or ok, or several of them with commas',
    });
    return z.NEVER;
  });

/** The parameters that say which owners, and in which order. */
export const ownersQuery = {
  sort: z.enum(sortable).default('total').meta({
    description:
      'The order; `percent` is the percentage of the limit of the kind of data in the worst state.',
  }),
  order: z.enum(orders).optional().meta({ description: 'The default is `desc`, and `asc` for names.' }),
  q: text.default('').meta({ description: 'Only owners whose names contain this text.' }),
  state: states.optional().meta({
    description: 'Only owners in this state, or in one of several with commas, such as `over,near`.',
    type: 'string',
    pattern: `^ *(${ownerStates.join('|')}) *(, *(${ownerStates.join('|')}) *)*$`,
  }),
  group: knownName.min(1).optional().meta({
    description: 'Only owners who are in this group, or have it as a default group because they are in none.',
  }),
  type: ownerType.optional().meta({ description: 'Only users, or only organizations.' }),
} as const;

const asked = z.object(ownersQuery);

type OwnersQuery = z.output<typeof asked>;

/** An owner's place in the list; what is shown is read when it is shown. */
export interface RankedOwner {
  readonly id: number;
  readonly name: string;
  readonly rank: number;
}

interface OwnerList {
  /** null: see `filterMapInSlices`. */
  readonly owners: Iterable<RankedOwner | null>;
  readonly order: (a: RankedOwner, b: RankedOwner) => number;
  /** The parameters of the list's address. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
}

/** Throws `not_found` where there is no such group. */
export async function ownerList(
  services: Pick<ApiServices, 'documents' | 'ledger' | 'totals'>,
  query: OwnersQuery,
): Promise<OwnerList> {
  const { sort, q, state, group, type } = query;
  const isIn = group === undefined ? null : membership(services, group);
  if (state !== undefined || sort === 'percent') await services.totals.lately(countingMs);
  const order = query.order ?? (sort === 'name' ? 'asc' : 'desc');
  const sign = order === 'asc' ? 1 : -1;
  return {
    owners: chosen(services, query, isIn),
    order: (a, b) => (a.rank - b.rank) * sign || byName(a, b) * (sort === 'name' ? sign : 1),
    parameters: { sort, order, q, state: state?.join(','), group, type },
  };
}

function chosen(
  { ledger, totals }: Pick<ApiServices, 'ledger' | 'totals'>,
  { sort, q, state, type }: OwnersQuery,
  isIn: ((ownerId: number) => boolean) | null,
): Generator<RankedOwner | null> {
  const { owners } = ledger.documents;
  const isMeant = ({ owner }: OwnerSize) =>
    (state === undefined || state.includes(totals.nearnessOf(owner.key).state)) &&
    (type === undefined || owner.type === type) &&
    (isIn === null || isIn(owner.id));
  const counts = sort === 'name' || sort === 'percent' || sort === 'total' ? 'size:all' : sort;
  return filterMapInSlices(ledger.ownerSizes(leafMask(counts), owners.keyOf(q)), size => {
    if (size === null) return null;
    if (!isMeant(size)) return undefined;
    const { id, key, name } = size.owner;
    // Those of one rank stand by name.
    const rank = sort === 'name' ? 0 : sort === 'percent' ? totals.nearnessOf(key).fullness : size.bytes;
    return { id, name, rank };
  });
}

function membership(
  { documents, ledger }: Pick<ApiServices, 'documents' | 'ledger'>,
  group: string,
): (ownerId: number) => boolean {
  const { snapshot } = documents;
  mustBeGroup(snapshot, group);
  const members = new Set(ledger.policy.membersOf(group));
  if (!ledger.settings.defaultGroups.includes(group)) return id => members.has(id);
  return id => members.has(id) || assignedGroups(snapshot, id).length === 0;
}

function byName(a: RankedOwner, b: RankedOwner): number {
  return a.name < b.name ? -1 : Number(a.name > b.name);
}
