/** Findings of a sweep wait in a list, apart for each device. */

import t from 'tap';
import { Backlog } from '../../src/scan/backlog.ts';

function world(most: number) {
  const ends = new Map<string, () => void>();
  const begun: string[] = [];
  const backlog = new Backlog<string>({
    most,
    deviceOf: item => item.slice(0, 1),
    run: (item, ended) => {
      begun.push(item);
      ends.set(item, ended);
    },
  });
  const end = (item: string) => ends.get(item)?.();
  return { backlog, begun, end };
}

t.test('so many are begun on each device, and one that ends makes room for the next there', t => {
  const { backlog, begun, end } = world(2);
  for (const item of ['a1', 'a2', 'a3', 'a4', 'b1']) backlog.add(item);
  t.strictSame(begun, ['a1', 'a2', 'b1'], 'a device that is slow keeps no other waiting');
  end('b1');
  t.equal(begun.length, 3);
  end('a1');
  t.strictSame(begun.slice(3), ['a4']);
  end('a2');
  t.strictSame(begun.slice(3), ['a4', 'a3']);
  t.end();
});

t.test('it is empty when all have ended, and at once where there is nothing', async t => {
  const { backlog, end } = world(1);
  await backlog.empty();
  let isEmpty = false;
  for (const item of ['a1', 'a2']) backlog.add(item);
  const empty = backlog.empty().then(() => {
    isEmpty = true;
  });
  end('a1');
  await new Promise(setImmediate);
  t.equal(isEmpty, false);
  end('a2');
  await empty;
});

t.test('what is cleared is never begun', async t => {
  const { backlog, begun, end } = world(1);
  for (const item of ['a1', 'a2', 'b1']) backlog.add(item);
  backlog.clear();
  end('a1');
  end('b1');
  await backlog.empty();
  t.strictSame(begun, ['a1', 'b1']);
});
