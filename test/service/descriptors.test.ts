/** Descriptors: how many there are, how servers share them, and what is told where none is left. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  connectionShares,
  enoughDescriptors,
  openFilesLimit,
  usualShares,
  watchDescriptors,
} from '../../src/service/index.ts';

t.test('the limit is what the system says of this process, as far as it says it', async t => {
  const limit = openFilesLimit();
  t.ok(limit !== null && limit > 100, String(limit));
  const folder = t.testdir();
  const saying = (text: string) => {
    const file = join(folder, 'limits');
    writeFileSync(file, text);
    return openFilesLimit(file);
  };
  const line = (soft: string) =>
    `Max processes  5  5  processes\nMax open files            ${soft}  4096  files\n`;
  t.equal(saying(line('1024')), 1024);
  t.equal(saying(line('unlimited')), null);
  t.equal(saying('nothing of that'), null);
  t.equal(openFilesLimit(join(folder, 'nowhere')), null);
});

t.test('all servers leave descriptors for all else, and the gate has more than all others', async t => {
  t.strictSame(connectionShares(null), usualShares);
  t.strictSame(connectionShares(enoughDescriptors), usualShares);
  for (const limit of [128, 256, 1024, 4096, enoughDescriptors - 1]) {
    const { gate, trusted, http, admin } = connectionShares(limit);
    t.ok(gate + trusted + http + admin <= limit - Math.min(limit / 2, 256), `${limit}`);
    t.ok(gate >= trusted + http + admin - 3, `${limit}: ${gate}`);
    t.ok(Math.min(gate, trusted, http, admin) >= 1, `${limit}`);
  }
});

t.test('where a file can be opened, nobody is told anything', async t => {
  const told: string[] = [];
  const unwatch = watchDescriptors({
    exhausted: code => told.push(code),
    makeRoom: () => told.push('room'),
    everyMs: 1,
  });
  for (let turns = 0; turns < 20; turns++) await new Promise(resolve => setTimeout(resolve, 1));
  unwatch();
  t.strictSame(told, []);
});
