/** The programs of examples/scripts, which docs/scripts.md describes, run as they stand against a daemon. */

import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { type Run, run } from '../e2e/run.ts';
import { recorded, remember } from './past.ts';
import { World } from './world.ts';

const programs = fileURLToPath(new URL('../../examples/scripts/', import.meta.url));
const lfs = 'size:git:lfs';

/** A world in which the programs run. */
interface Scene {
  readonly world: World;
  /** Runs a program with a token of these scopes, beside a fake sendmail. */
  start(program: string, scope: string, ...args: readonly string[]): Promise<Run>;
  /** Mails that were given to sendmail. */
  mails(): Promise<string>;
  file(name: string, text: string): Promise<string>;
}

async function open(t: Test): Promise<Scene> {
  const world = await World.open(t);
  const folder = join(world.directory, 'scripts');
  await mkdir(folder);
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const box = await file('mails', '');
  const sendmail = await file('sendmail', `#!/bin/sh\n[ "$1" = -t ] && exec cat >>"${box}"\n`);
  await chmod(sendmail, 0o755);
  return {
    world,
    file,
    mails: () => readFile(box, 'utf8'),
    start: async (program, scope, ...args) => {
      const env = {
        SOFTQUOTA_API: new URL('api/v1', world.url).href,
        SOFTQUOTA_TOKEN: await world.newToken('admin1', [scope]),
        SENDMAIL: sendmail,
      };
      return run('python3', [join(programs, program), ...args], { env });
    },
  };
}

t.test('who is over 80 % is warned, and nobody else', async t => {
  const { world, start, mails } = await open(t);
  await world.post('/admin/users', { username: 'a/b é' });
  await world.put('/admin/quota/policy', {
    rules: [{ name: 'total', limit: 1000, subjects: ['size:all'] }],
    groups: [{ name: 'all', rules: ['total'], users: ['alice', 'bob', 'acme', 'a/b é'] }],
  });
  await world.patch('/admin/users/alice', { email: 'alice@git.example' });
  await world.patch('/admin/users/bob', { email: 'bob@git.example' });
  await world.report('alice', lfs, 801);
  await world.report('bob', lfs, 800);
  await world.report('acme', lfs, 1200);
  await world.report('a/b é', lfs, 1001);
  await world.report('carol', lfs, 5000);
  const done = await start('warn.py', 'read:admin');
  t.match(done, { code: 0, stderr: '' });
  t.strictSame(done.stdout.trim().split('\n').toSorted(), [
    'a/b é uses 1001 of 1000 bytes',
    'acme uses 1200 of 1000 bytes',
    'alice uses 801 of 1000 bytes',
  ]);
  t.equal(
    await mails(),
    'To: alice@git.example\nSubject: Your storage is nearly full\n\nalice uses 801 of 1000 bytes.\n',
  );
});

t.test('a CSV of limits comes into force as a whole, twice, and beside the policy that is there', async t => {
  const { world, start, file } = await open(t);
  await world.post('/admin/quota/groups', {
    name: 'staff',
    rules: [{ name: 'none', limit: 1, subjects: ['size:assets:wiki'] }],
  });
  await world.put('/admin/quota/groups/staff/users/bob');
  const limitOf = async (name: string) => {
    return z
      .object({ decision: z.object({ limit: z.number() }) })
      .parse(await world.get(`/admin/quota/explain?user=${name}&subject=size:repos:private`)).decision.limit;
  };
  const limits = async () => [await limitOf('alice'), await limitOf('bob'), await limitOf('acme')];
  const members = async () => {
    const shape = z.object({
      groups: z.array(z.object({ name: z.string(), users: z.array(z.string()) })),
    });
    const { groups } = shape.parse(await world.get('/admin/quota/policy'));
    return Object.fromEntries(groups.map(({ name, users }) => [name, users]));
  };

  const first = await file('first.csv', 'owner,limit\nAlice,1000\nbob,1000\nacme,-1\n');
  t.match(await start('import.py', 'write:admin', first), { code: 0, stdout: '3 limits are in force\n' });
  t.strictSame(await limits(), [1000, 1000, -1]);
  const second = await file('second.csv', 'owner,limit\nalice,2000\nbob,0\n');
  t.match(await start('import.py', 'write:admin', second), { code: 0, stdout: '2 limits are in force\n' });
  t.strictSame(await limits(), [2000, 0, -1]);
  const after = {
    staff: ['bob'],
    'limit-1000': [],
    'limit--1': ['acme'],
    'limit-2000': ['alice'],
    'limit-0': ['bob'],
  };
  t.strictSame(await members(), after);
  const wrong = await file('wrong.csv', 'owner,limit\nalice,3000\nbob,-2\n');
  t.match(await start('import.py', 'write:admin', wrong), { code: 1, stderr: /limit: expected whole bytes/ });
  t.strictSame(await members(), after, 'nothing of a file with a fault is in force');
});

t.test('who grew most this week comes first', async t => {
  const { world, start } = await open(t);
  await world.report('alice', lfs, 5000);
  await world.report('bob', lfs, 9000);
  await recorded(world);
  await remember(world, [1000, 2000, 3000, 4000, 5000]);
  const { code, stdout } = await start('growth.py', 'read:admin');
  t.equal(code, 0);
  t.match(stdout, /^\+4000 bytes: alice\n/);
  // Bob is in the list only if the daemon has recorded an hour since he was reported.
  t.notMatch(stdout, /^\+[1-9]\d* bytes: bob$/m, 'what was there before has not grown');
});

t.test('every program is run here', async t => {
  t.strictSame((await readdir(programs)).toSorted(), ['growth.py', 'import.py', 'warn.py']);
});
