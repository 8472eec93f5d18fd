/** Records to try a store with: plain ones, and any that there can be. */

import fc from 'fast-check';
import { leaves } from '../../src/quota/index.ts';
import type {
  Changes,
  EventQuery,
  EventRecord,
  OwnerRecord,
  ShareRecord,
  UnitRecord,
} from '../../src/store/index.ts';

export function unit(id: string, differing: Partial<UnitRecord> = {}): UnitRecord {
  return {
    id,
    kind: 'walked',
    host: 'host-1',
    name: id,
    owner: 'alice',
    leaf: 'size:repos:private',
    bytes: 1000,
    files: 10,
    partial: false,
    measuredAt: 1_795_000_000_000,
    seq: 1,
    ...differing,
  };
}

export function owner(key: string, differing: Partial<OwnerRecord> = {}): OwnerRecord {
  return { key, id: 7, name: key, type: 'user', since: 1_795_000_000_000, ...differing };
}

export function event(id: string, at: number, differing: Partial<EventRecord> = {}): EventRecord {
  return { id, kind: 'refusal', at, ownerId: 7, ownerKey: 'alice', text: '{}', ...differing };
}

export function share(ownerKey: string, host: string, differing: Partial<ShareRecord> = {}): ShareRecord {
  return {
    ownerKey,
    host,
    bytes: { 'size:repos:private': 1000 },
    units: 1,
    partial: false,
    measuredAt: 1_795_000_000_000,
    ...differing,
  };
}

/**
 * Strings that stores get wrong: NUL, surrogates alone, paired and the wrong way round, two forms of one
 * letter.
 */
export const oddStrings: readonly string[] = [
  '',
  '\0',
  'a\0b',
  'a',
  'A',
  '\udc80',
  '/srv/git/\udcff\udc80/\udcc3\udca9.git',
  '\ud83d',
  '\ud83d\ude00',
  '\ude00\ud83d',
  '\ud83d\ud83d\ude00\ude00',
  '\ufeffé',
  'e\u0301',
  "'; DROP TABLE units; --",
];

/** Records as programs write them: fast-check's own have no prototype, which comparing minds. */
const plain = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { noNullPrototype: true });

const anyString = fc.oneof(
  fc.constantFrom(...oddStrings),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map(codes => String.fromCharCode(...codes)),
);
/** Few enough that records are replaced and taken out. */
const anyId = fc.constantFrom(...oddStrings);
const anySeq = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.maxSafeInteger());
const anyLeaf = fc.constantFrom(...leaves);
const any64Bits = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });

const anyUnit = plain({
  id: anyId,
  kind: fc.constantFrom('walked' as const, 'reported' as const),
  host: anyString,
  name: anyString,
  owner: fc.option(anyString),
  leaf: anyLeaf,
  bytes: fc.maxSafeNat(),
  files: fc.maxSafeNat(),
  partial: fc.boolean(),
  measuredAt: fc.maxSafeInteger(),
  seq: fc.maxSafeInteger(),
});

const anyTime = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.maxSafeInteger());
const anyEventId = fc.constantFrom('a', 'b', 'c-1', 'c-10', 'z'.repeat(50));
const anyOwner = { ownerId: fc.option(anySeq), ownerKey: fc.option(anyId) };

const anyEvent = plain({ id: anyEventId, kind: anyId, at: anyTime, ...anyOwner, text: anyString });

export const anyEventQuery: fc.Arbitrary<EventQuery> = fc.record(
  {
    kinds: fc.array(anyId, { minLength: 1, maxLength: 3 }),
    owner: plain(anyOwner),
    after: plain({ at: anyTime, id: anyEventId }),
    limit: fc.integer({ min: 1, max: 6 }),
  },
  { requiredKeys: ['limit'], noNullPrototype: true },
);

const anyShare: fc.Arbitrary<ShareRecord> = plain({
  ownerKey: anyId,
  host: anyId,
  bytes: fc.dictionary(anyLeaf, fc.maxSafeNat(), { noNullPrototype: true }),
  units: fc.maxSafeNat(),
  partial: fc.boolean(),
  measuredAt: fc.option(fc.maxSafeInteger()),
});

const anyPosition = plain({ generation: anyString, version: fc.maxSafeInteger(), mark: anyString });

export const anyChanges: fc.Arbitrary<Changes> = fc.record(
  {
    owners: fc.array(
      plain({
        key: anyId,
        id: fc.maxSafeInteger(),
        name: anyString,
        type: fc.constantFrom('user' as const, 'organization' as const),
        since: fc.maxSafeInteger(),
      }),
    ),
    goneOwners: fc.array(anyId),
    documents: fc.array(plain({ kind: anyId, key: anyId, text: anyString })),
    goneDocuments: fc.array(plain({ kind: anyId, key: anyId })),
    shares: fc.array(anyShare),
    goneShares: fc.array(plain({ ownerKey: anyId, host: anyId })),
    events: fc.array(anyEvent),
    goneEventsBefore: anyTime,
    levels: fc.array(plain({ ownerId: anySeq, text: anyString })),
    goneLevels: fc.array(anySeq),
    units: fc.array(anyUnit),
    goneUnits: fc.array(anyId),
    deltas: fc.array(
      plain({
        seq: anySeq,
        owner: anyString,
        leaf: anyLeaf,
        bytes: fc.maxSafeInteger(),
        at: fc.maxSafeInteger(),
      }),
    ),
    goneDeltas: fc.array(anySeq),
    roots: fc.array(
      plain({ path: anyId, device: any64Bits, inode: any64Bits, fileSystem: fc.option(anyId) }),
    ),
    goneRoots: fc.array(anyId),
    sweep: plain({
      startedAt: fc.maxSafeInteger(),
      finishedAt: fc.maxSafeInteger(),
      units: fc.maxSafeNat(),
    }),
    replicated: anyPosition,
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** Writes that no store may take, each with a sound record beside the faulty one. */
export const faultyChanges: Readonly<Record<string, Changes>> = {
  'an event at no time': { owners: [owner('sound')], events: [event('a', Number.NaN)] },
  'an event of half an owner': { owners: [owner('sound')], events: [event('a', 1, { ownerId: 0.5 })] },
  'an owner whose number is none': { owners: [owner('sound'), owner('faulty', { id: 2 ** 53 })] },
  'a share of less than nothing': {
    owners: [owner('sound')],
    shares: [share('a', 'sound'), share('a', 'faulty', { bytes: { 'size:git:lfs': -1 } })],
  },
  'a share beyond 2^53 - 1': { shares: [share('a', 'one', { bytes: { 'size:git:lfs': 2 ** 53 } })] },
  'a share of an unknown leaf': {
    owners: [owner('sound')],
    shares: [share('a', 'one', { bytes: { 'size:all': 1 } as ShareRecord['bytes'] })],
  },
  'a level of half an owner': { owners: [owner('sound')], levels: [{ ownerId: 0.5, text: '' }] },
  'a size below 0': { units: [unit('sound'), unit('faulty', { bytes: -1 })] },
  'a size beyond 2^53 - 1': { units: [unit('sound'), unit('faulty', { bytes: 2 ** 53 })] },
  'a fraction of a byte': { units: [unit('sound'), unit('faulty', { bytes: 0.5 })] },
  'a size that is no number': { units: [unit('sound'), unit('faulty', { bytes: Number.NaN })] },
  'an endless size': { units: [unit('sound'), unit('faulty', { bytes: Number.POSITIVE_INFINITY })] },
  // Faults that a program which is not checked by TypeScript, or a later version, might hand over.
  'an unknown leaf': { units: [unit('sound'), unit('faulty', { leaf: 'size:all' as 'size:git:lfs' })] },
  'a delta beyond 2^53 - 1': {
    owners: [owner('sound')],
    deltas: [{ seq: 1, owner: 'alice', leaf: 'size:git:lfs', bytes: -(2 ** 53), at: 0 }],
  },
};
