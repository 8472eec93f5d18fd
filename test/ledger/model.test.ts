/**
 * Sums of the ledger, whatever comes in whatever order, are those of a book that is added up anew each time.
 */

import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import type { Ledger } from '../../src/ledger/index.ts';
import { type Leaf, leaves } from '../../src/quota/index.ts';
import { openStore } from '../../src/store/index.ts';
import { isLong } from '../run-length.ts';
import { emptyModel, storeOn } from '../store/model.ts';
import { directoryFor, openOn } from './world.ts';

interface Walked {
  readonly owner: string | null;
  readonly leaf: Leaf;
  readonly bytes: number;
  readonly seq: number;
}

/** The naive book: walks, reports and deltas as lists. */
class Model {
  readonly walked = new Map<string, Walked>();
  readonly gone = new Map<string, number>();
  readonly reported = new Map<
    string,
    { readonly owner: string; readonly leaf: Leaf; readonly bytes: number }
  >();
  deltas: { readonly owner: string; readonly leaf: Leaf; readonly bytes: number; readonly seq: number }[] =
    [];

  record(path: string, walked: Walked): void {
    if ((this.walked.get(path)?.seq ?? 0) > walked.seq || (this.gone.get(path) ?? 0) > walked.seq) return;
    this.walked.set(path, walked);
  }

  recordGone(path: string, seq: number): void {
    if ((this.walked.get(path)?.seq ?? 0) > seq) return;
    this.walked.delete(path);
    this.gone.set(path, Math.max(seq, this.gone.get(path) ?? 0));
  }

  settle(): void {
    this.deltas = this.deltas.filter(({ owner, leaf, seq }) => {
      const units = [...this.walked.values()].filter(
        unit => unit.owner?.toLowerCase() === owner && unit.leaf === leaf,
      );
      return units.length === 0 || units.some(unit => unit.seq < seq);
    });
  }

  used(owner: string, leaf: Leaf): number {
    const all = [...this.walked.values(), ...this.reported.values(), ...this.deltas];
    const own = all.filter(each => each.owner?.toLowerCase() === owner && each.leaf === leaf);
    return Math.max(
      0,
      own.reduce((sum, { bytes }) => sum + bytes, 0),
    );
  }
}

t.setTimeout(600_000);

const twoLeaves = leaves.slice(1, 3);
const anyPath = fc.constantFrom('/s/1', '/s/2', '/s/3', '/s/3/lfs');
const anyOwner: fc.Arbitrary<string> = fc.constantFrom('alice', 'ALICE', 'bob');
const anyOwnerOrNobody: fc.Arbitrary<string | null> = fc.option(anyOwner);
const anyLeaf = fc.constantFrom(...twoLeaves);
const anyBytes = fc.nat(1000);
/** Age of the walk's beginning, in places of the order. */
const ago = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(6));

const anyStep = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(fc.constant('walk' as const), anyPath, anyOwnerOrNobody, anyLeaf, anyBytes, ago),
  },
  { weight: 5, arbitrary: fc.tuple(fc.constant('gone' as const), anyPath, ago) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant('delta' as const),
      anyOwner,
      anyLeaf,
      fc.integer({ min: -1000, max: 1000 }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('report' as const),
      anyOwner,
      anyLeaf,
      fc.constantFrom('x', 'y'),
      anyBytes,
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('reopen' as const)) },
);

type Step = typeof anyStep extends fc.Arbitrary<infer Value> ? Value : never;

/** Does the same to the ledger and to the model, and compares the two after each step. */
async function play(steps: readonly Step[], open: () => Promise<Ledger>): Promise<void> {
  let ledger: Ledger = await open();
  const model = new Model();
  let begun: number[] = [];
  /** Number of the walk that began so many steps ago. */
  const seqAgo = (back: number) => begun.at(-1 - Math.min(back, begun.length - 1)) ?? 0;
  try {
    for (const step of steps) {
      begun.push(ledger.walks.nextSeq());
      switch (step[0]) {
        case 'walk': {
          const [, path, owner, leaf, bytes, back] = step;
          const walked = { owner, leaf, bytes, seq: seqAgo(back) };
          ledger.walks.record({ path, ...walked, files: 1, partial: false, measuredAt: 1 });
          model.record(path, walked);
          break;
        }
        case 'gone': {
          const seq = seqAgo(step[2]);
          ledger.walks.recordGone(step[1], seq);
          model.recordGone(step[1], seq);
          break;
        }
        case 'delta': {
          const [, owner, leaf, bytes] = step;
          const seq = ledger.walks.nextSeq() + 1;
          await ledger.reports.addDelta(owner, leaf, bytes);
          model.deltas.push({ owner: owner.toLowerCase(), leaf, bytes, seq });
          break;
        }
        case 'report': {
          const [, owner, leaf, name, bytes] = step;
          await ledger.reports.reportUnit(owner, leaf, name, bytes);
          model.reported.set(`${owner.toLowerCase()} ${leaf} ${name}`, { owner, leaf, bytes });
          break;
        }
        case 'reopen': {
          await ledger.close();
          ledger = await open();
          // No walk that began before is under way any more.
          model.gone.clear();
          begun = [];
          break;
        }
      }
      model.settle();
      for (const owner of ['alice', 'bob']) {
        const { usage } = ledger.ownerUsage(owner);
        const expected = leaves.map(leaf => model.used(owner, leaf));
        if (usage.join() !== expected.join()) throw new Error(`${owner}: ${usage} instead of ${expected}`);
      }
    }
  } finally {
    await ledger.close();
  }
}

t.test('each byte is counted once, whatever happens in whatever order', async t => {
  const numRuns = isLong ? 20_000 : 400;
  let runs = 0;
  const anyStory = fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 80 }), async steps => {
    const store = storeOn(emptyModel());
    runs += 1;
    await play(steps, () => openOn(store));
  });
  await fc.assert(anyStory, { numRuns });
  t.equal(runs, numRuns);
});

t.test('and so it is with the store on the disk', async t => {
  const numRuns = isLong ? 100 : 6;
  const directory = directoryFor(t);
  let runs = 0;
  const anyStory = fc.asyncProperty(fc.array(anyStep, { minLength: 40, maxLength: 120 }), async steps => {
    const file = join(directory, `${++runs}.db`);
    await play(steps, async () => openOn(await openStore({ file })));
  });
  await fc.assert(anyStory, { numRuns });
  t.equal(runs, numRuns);
});
