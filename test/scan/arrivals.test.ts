import t from 'tap';
import { Arrivals } from '../../src/scan/arrivals.ts';

const minute = 60_000;

/** Came at this time, made just before unless said otherwise. */
function came(bytes: number, changedAt: number, modifiedAt = changedAt - 10) {
  return { bytes, changedAt, modifiedAt };
}

t.test('of packs that came one after the other only those of one moment can be a copy', async t => {
  const arrivals = new Arrivals(0);
  for (let push = 0; push < 100; push++) arrivals.addPackFile(`pack-${push}.pack`, came(100, push * 500));
  t.equal(arrivals.mostCopied(0), 300);
});

t.test('a copy in several packs comes within one moment', async t => {
  const arrivals = new Arrivals(0);
  arrivals.addPackFile('pack-a.pack', came(50, 1000));
  for (const [index, at] of [10_000, 10_300, 10_900].entries())
    arrivals.addPackFile(`pack-${index}.pack`, came(1000, at));
  arrivals.addPackFile('pack-b.pack', came(60, 20_000));
  t.equal(arrivals.mostCopied(0), 3000);
  t.equal(arrivals.mostCopied(10_301), 1000, 'but nothing that came before the gc began');
});

t.test('a pack came with its oldest file, also where a push has touched it since', async t => {
  const arrivals = new Arrivals(500 * minute);
  arrivals.addPackFile('pack-old.pack', came(1_000_000, 600 * minute));
  arrivals.addPackFile('pack-old.idx', came(1000, minute));
  arrivals.addPackFile('pack-new.pack', came(100, 600 * minute));
  arrivals.addPackFile('pack-new.idx', came(10, 600 * minute));
  t.equal(arrivals.mostCopied(500 * minute), 110);
});

t.test('loose objects of a push are no copy, and those out of a pack have its time', async t => {
  const arrivals = new Arrivals(1000 * minute);
  arrivals.addLooseObject(came(100, 1001 * minute));
  t.equal(arrivals.mostCopied(1000 * minute), 0);
  arrivals.addLooseObject(came(10, 1001 * minute, 20 * minute));
  arrivals.addLooseObject(came(1, 999 * minute, 20 * minute));
  t.equal(arrivals.mostCopied(1000 * minute), 10);
});

t.test('what a gc writes beside packs may be there twice too', async t => {
  const arrivals = new Arrivals(1000);
  arrivals.addByproduct(came(5, 2000));
  arrivals.addByproduct(came(7, 999));
  arrivals.addPackFile('multi-pack-index', came(20, 2000));
  t.equal(arrivals.mostCopied(1000), 25);
});
