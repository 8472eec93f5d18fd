/** Rights of a user, compared with the system's own answer. */

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { HookUser } from '../../src/doctor/installation.ts';
import { type Blocked, blockedFor, grant, mayAskFor } from '../../src/doctor/rights.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { write } from './folder.ts';

/** Nobody's number, whom no database knows. */
const stranger: HookUser = { uid: 4711, gid: 4712 };

function world(t: Test): { folder: string; file: string } {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const file = write(join(folder, 'a/b/file'), 'text', 0o644);
  return { folder, file };
}

const one = async (path: string, right: Blocked['right'] = 'read'): Promise<Blocked | undefined> =>
  (await blockedFor(stranger, [{ path, right }]))[0];

t.test('the first place that keeps a user out is named, and its mend opens that and no more', async t => {
  const { folder, file } = world(t);
  t.equal(await one(file), undefined);
  chmodSync(file, 0o600);
  chmodSync(join(folder, 'a'), 0o700);
  const directory = await one(file);
  t.match(directory, { at: join(folder, 'a'), right: 'search' });
  if (directory === undefined) return;
  t.equal(grant(directory), `chmod o+x ${join(folder, 'a')}`);
  execFileSync('sh', ['-c', grant(directory)]);
  const last = await one(file);
  t.match(last, { at: file, right: 'read' });
});

t.test('the class that the system puts the user in is the one to be given the right', async t => {
  const { file } = world(t);
  chmodSync(file, 0o604);
  chownSync(file, 0, 4712);
  const asGroup = await one(file);
  t.ok(asGroup && grant(asGroup) === `chmod g+r ${file}`, 'others may, and the group may not');
  chownSync(file, 4711, 0);
  chmodSync(file, 0o044);
  const asOwner = await one(file);
  t.ok(asOwner && grant(asOwner) === `chmod u+r ${file}`);
});

t.test('an access list counts', async t => {
  const { file } = world(t);
  chmodSync(file, 0o600);
  execFileSync('setfacl', ['-m', 'u:4711:r', file]);
  t.equal(await one(file), undefined);
});

t.test('directories that a link leads through count, too', async t => {
  const { folder, file } = world(t);
  mkdirSync(join(folder, 'open'));
  symlinkSync(file, join(folder, 'open/link'));
  t.equal(await one(join(folder, 'open/link')), undefined);
  chmodSync(join(folder, 'a/b'), 0o700);
  t.match(await one(join(folder, 'open/link')), { at: join(folder, 'a/b'), right: 'search' });
});

t.test('what does not exist is kept from nobody', async t => {
  const { folder } = world(t);
  t.equal(await one(join(folder, 'a/nothing')), undefined);
});

t.test('a script has to be read to be run', async t => {
  const { file } = world(t);
  chmodSync(file, 0o711);
  t.match(await one(file, 'execute'), { at: file, right: 'execute' });
});

t.test('only root may ask for others', async t => {
  t.ok(mayAskFor(0, stranger));
  t.ok(mayAskFor(4711, stranger));
  t.notOk(mayAskFor(1000, stranger));
});
