/** The name of this host's part of the usage. */

import fs from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { hostIdIn } from '../../src/daemon/data-path.ts';
import { temporaryFolder } from '../temporary-folder.ts';

t.test('a host’s name is made once and kept, readable by the daemon only', async t => {
  const directory = temporaryFolder(t);
  const id = hostIdIn(directory);
  t.match(id, /^[0-9a-f-]{36}$/);
  t.equal(hostIdIn(directory), id);
  t.strictSame(fs.readdirSync(directory), ['host.id']);
  t.equal(fs.statSync(join(directory, 'host.id')).mode & 0o777, 0o600);
  t.not(hostIdIn(temporaryFolder(t)), id);
});

t.test('what a daemon left that was killed while making it is in nobody’s way', async t => {
  const directory = temporaryFolder(t);
  for (const draft of [`host.id.${process.pid}`, 'host.id.new-x'])
    fs.writeFileSync(join(directory, draft), '');
  t.match(hostIdIn(directory), /^[0-9a-f-]{36}$/);
});

t.test('a name given by hand is taken, what is no name is a fault', async t => {
  const directory = temporaryFolder(t);
  const file = join(directory, 'host.id');
  fs.writeFileSync(file, ' git-1.example\n');
  t.equal(hostIdIn(directory), 'git-1.example');
  for (const bad of ['', 'a b', 'x'.repeat(65), '\u001b']) {
    fs.writeFileSync(file, bad);
    t.throws(() => hostIdIn(directory), { code: 'configuration', message: /does not contain a host name/ });
  }
  t.throws(() => hostIdIn(join(directory, 'missing')), {
    code: 'configuration',
    message: /cannot be read or created/,
  });
});
