/** A write that goes to the thread in parts: in force as a whole, and before whatever is asked later. */

import { join } from 'node:path';
import t from 'tap';
import { type Changes, openStore } from '../../src/store/index.ts';
import { allIn, applyTo, emptyModel, keptBy, levelsBy, sorted } from './model.ts';

const count = 7000;
const numbers = Array.from({ length: count }, (_, number) => number);

const unit = { kind: 'walked', host: 'h', owner: null, leaf: 'size:git:lfs', bytes: 1, files: 1 } as const;
/** Something of everything that a write may say. */
const changes: Required<Changes> = {
  goneUnits: ['gone'],
  goneDeltas: [1],
  goneOwners: numbers.map(number => `gone ${number}`),
  goneDocuments: [{ kind: 'k', key: 'gone' }],
  goneShares: [{ ownerKey: 'gone', host: 'h' }],
  goneRoots: ['/gone'],
  goneLevels: [1],
  goneEventsBefore: 5,
  units: [{ ...unit, id: 'u', name: 'u', partial: false, measuredAt: 1, seq: 1 }],
  deltas: [{ seq: 2, owner: 'o', leaf: 'size:git:lfs', bytes: 1, at: 1 }],
  owners: numbers.map(number => ({
    ...{ key: `o${number}`, id: number + 1, name: `o${number}`, type: 'user' as const, since: 1 },
  })),
  documents: numbers.map(number => ({ kind: 'k', key: String(number), text: '{}' })),
  shares: [],
  roots: [{ path: '/', device: 1n, inode: 2n, fileSystem: null }],
  events: [{ id: 'e', kind: 'k', at: 9, ownerId: null, ownerKey: null, text: '{}' }],
  levels: [{ ownerId: 1, text: '{}' }],
  sweep: { startedAt: 1, finishedAt: 2, units: 3 },
  replicated: { generation: 'g', version: 1, mark: 'm' },
};

t.test('what is asked after a large write finds all of it, and a write after it comes after it', async t => {
  const store = await openStore({ file: join(t.testdir(), 'parts.db') });
  t.teardown(() => store.close());
  const later = { owners: [{ key: 'o1', id: 2, type: 'user' as const, since: 1, name: 'later' }] };
  const written = [store.write(changes), store.write(later)];
  const model = emptyModel();
  applyTo(model, changes);
  applyTo(model, later);
  t.strictSame(sorted(await allIn(store)), keptBy(model));
  t.strictSame([await store.levels(), await store.events({ limit: 9 })], [levelsBy(model), changes.events]);
  await Promise.all(written);
});

t.test('a large write of which something cannot be taken leaves nothing', async t => {
  const store = await openStore({ file: join(t.testdir(), 'parts.db') });
  t.teardown(() => store.close());
  const wrong = {
    ...changes,
    units: [{ ...unit, id: 'u', name: 'u', partial: false, measuredAt: -1, seq: 0.5 }],
  };
  await t.rejects(store.write(wrong), { code: 'invalid' });
  const { owners, documents } = await store.load();
  t.same([owners, documents], [[], []]);
});

t.test('a store that is closed in the midst of a large write has all of it', async t => {
  const file = join(t.testdir(), 'parts.db');
  const store = await openStore({ file });
  const written = store.write(changes);
  await Promise.all([written, store.close()]);
  const again = await openStore({ file });
  t.teardown(() => again.close());
  t.equal((await again.load()).owners.length, count);
});

t.test('parts of a write that broke off are not written with the next', async t => {
  const store = await openStore({ file: join(t.testdir(), 'parts.db') });
  t.teardown(() => store.close());
  const last = changes.documents.at(-1);
  // Cannot be sent to a thread; the parts before it have been.
  const broken = { ...changes, documents: [...changes.documents, { ...last, text: () => {} }] };
  await t.rejects(store.write(broken as unknown as Changes));
  const documents = [{ kind: 'k', key: 'next', text: '{}' }];
  await store.write({ documents });
  const kept = await store.load();
  t.same([kept.owners, kept.documents], [[], documents]);
});
