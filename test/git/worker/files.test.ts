import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { directoryEntries } from '../../../src/git/worker/files.ts';
import { decodePath } from '../../../src/layout/index.ts';
import { mountTypeless } from '../../typeless.ts';

t.test('entries have names and types where the file system tells no types', async t => {
  const disk = mountTypeless(t);
  mkdirSync(join(disk, 'ü'));
  const broken = Buffer.from([0x61, 0xff]);
  writeFileSync(Buffer.concat([Buffer.from(`${disk}/`), broken]), '');
  const found = [];
  for await (const entry of directoryEntries(disk)) found.push(entry);
  const byName = found.sort((a, b) => (a.name < b.name ? -1 : 1));
  t.strictSame(byName, [
    { name: decodePath(broken), isFile: true, isDirectory: false },
    { name: 'ü', isFile: false, isDirectory: true },
  ]);
});
