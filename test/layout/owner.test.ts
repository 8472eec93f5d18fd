import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import t from 'tap';
import { ownerOf } from '../../src/layout/units.ts';
import { emptyDirectory, makeDirectory, makeFile, makeLink } from './world.ts';

const byFile = { by: 'file', name: 'owner' } as const;
const byConfig = { by: 'git-config', key: 'quota.owner' } as const;

t.test('an owner named by the path is one, whatever its characters are', async t => {
  for (const name of ['alice', 'a\x1b[31mb', '\u202eecila', '\n', ' ', 'x'.repeat(255)]) {
    t.same(ownerOf({ by: 'path' }, '/unit', name), { owner: name });
  }
});

t.test('a name in the path that is not UTF-8 is nobody', async t => {
  t.match(ownerOf({ by: 'path' }, '/unit', 'b\udcff'), { owner: null, ownerFault: /not UTF-8/ });
  t.match(ownerOf({ by: 'path' }, '/unit', null), { owner: null, ownerFault: /no \{owner\}/ });
});

t.test('a fixed owner owns whatever the path says', async t => {
  t.same(ownerOf({ by: 'fixed', name: 'everyone' }, '/unit', 'alice'), { owner: 'everyone' });
});

t.test('the first line of a file names the owner, without the blanks around it', async t => {
  const unit = emptyDirectory(t);
  for (const text of ['alice', 'alice\n', '  alice \r\nbob\n', `alice\n${'x'.repeat(4096 - 6)}`]) {
    makeFile(`${unit}/owner`, text);
    t.same(ownerOf(byFile, unit, null), { owner: 'alice' });
  }
});

t.test('a file that names nobody says why', async t => {
  const unit = emptyDirectory(t);
  t.match(ownerOf(byFile, unit, null), { owner: null, ownerFault: /not there/ });
  makeFile(`${unit}/owner`, '\nalice\n');
  t.match(ownerOf(byFile, unit, null), { owner: null, ownerFault: /first line .* not the name/ });
  makeFile(`${unit}/owner`, `alice\n${'x'.repeat(4096 - 5)}`);
  t.match(ownerOf(byFile, unit, null), { owner: null, ownerFault: /over 4 KiB/ });
});

t.test('a file that is not UTF-8 names nobody', async t => {
  const unit = emptyDirectory(t);
  execFileSync('sh', ['-c', 'printf "a\\377" > "$1/owner"', 'sh', unit]);
  t.match(ownerOf(byFile, unit, null), { owner: null, ownerFault: /not UTF-8/ });
});

t.test('only a regular file names an owner: no link, pipe, directory or socket', async t => {
  const unit = emptyDirectory(t);
  makeFile(`${unit}/secret`, 'alice');
  makeLink(`${unit}/link`, `${unit}/secret`);
  execFileSync('mkfifo', [`${unit}/pipe`]);
  makeDirectory(`${unit}/directory`);
  const server = createServer().listen(`${unit}/socket`);
  t.teardown(() => server.close());
  await new Promise(listening => server.once('listening', listening));
  for (const name of ['link', 'pipe', 'directory', 'socket']) {
    const { owner, ...rest } = ownerOf({ by: 'file', name }, unit, null);
    t.equal(owner, null, name);
    t.match(rest, { ownerFault: /not a regular file/ }, name);
  }
});

t.test("git's configuration names the owner", async t => {
  const unit = emptyDirectory(t);
  makeFile(`${unit}/config`, '[core]\n\tbare = true\n[quota]\n\towner = "alice"\n');
  t.same(ownerOf(byConfig, unit, null), { owner: 'alice' });
  t.match(ownerOf({ by: 'git-config', key: 'quota.team' }, unit, null), {
    owner: null,
    ownerFault: /no quota\.team/,
  });
  makeFile(`${unit}/config`, '[quota]\n\towner\n');
  t.match(ownerOf(byConfig, unit, null), { owner: null, ownerFault: /gives no value/ });
  makeFile(`${unit}/config`, '[quota\n');
  t.match(ownerOf(byConfig, unit, null), { owner: null, ownerFault: /line 1/ });
});
