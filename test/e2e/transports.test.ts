/** One story over each way in which git reaches a server: git's environment differs, the answer does not. */

import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { Clone, objectsIn } from './clone.ts';
import { counted } from './count.ts';
import { must } from './run.ts';
import { Server } from './server.ts';
import { type Transport, transports } from './transports.ts';

const owners = Object.keys(transports).map((_, at) => `owner${at}`);
const server = await Server.open(t, { repositories: owners.map(owner => `${owner}/app`) });

for (const [at, [name, open]] of Object.entries(transports).entries()) {
  t.test(
    `over ${name} the first push passes, the second is refused with the reason, and cleaning up helps`,
    async t => {
      const owner = `owner${at}`;
      const bare = server.path(`${owner}/app`);
      const transport: Transport = await open(t, server);
      const clone = await Clone.of(server, transport.url(bare), { env: transport.env });
      await clone.commit(3_000_000);
      const first = await clone.push();
      t.equal(first.code, 0, first.stderr);
      t.equal(first.said, '');
      const there = await counted(bare);
      await server.usageIs(owner, bytes => bytes === there);

      await clone.git('checkout', '-q', '--orphan', 'small');
      await clone.git('rm', '-q', '-r', '--cached', '.');
      await clone.commit(1000);
      const before = await objectsIn(bare);
      const second = await clone.push(['small']);
      t.not(second.code, 0);
      t.match(second.said, /^Quota exceeded: owner\d uses 3\.\d+ MB of 1 MB \(30\d %\)\.$/m);
      t.match(second.stderr, /pre-receive hook declined/);
      t.strictSame(await objectsIn(bare), before, 'nothing of it stays');

      await must('git', ['-C', bare, 'symbolic-ref', 'HEAD', 'refs/heads/small']);
      t.equal((await clone.push(['--delete', 'main'])).code, 0);
      await must('git', ['-C', bare, 'gc', '-q', '--prune=now']);
      t.equal((await server.ask('gate', '/v1/changed', { body: { path: bare } })).status, 202);
      await server.usageIs(owner, bytes => bytes < 1_000_000);
      t.match(await clone.push(['small']), { code: 0, said: '' });
    },
  );
}

t.test(
  'core.hooksPath of the whole server asks for each repository by its own path, and runs its own hooks after',
  async t => {
    const server = await Server.open(t, { repositories: [] });
    const [alice, bob] = [await server.repository('alice/app'), await server.repository('bob/app')];
    const hooks = join(server.folder, 'hooks');
    await mkdir(hooks);
    t.match(await server.softquota(['hooks', 'install', '--hooks-path', hooks]), { code: 0 });
    for (const bare of [alice, bob]) await must('git', ['-C', bare, 'config', 'core.hooksPath', hooks]);
    const own = join(alice, 'hooks', 'pre-receive');
    await mkdir(join(alice, 'hooks'), { recursive: true });
    await writeFile(own, '#!/bin/sh\necho "own hook of $(basename "$PWD")"\n');
    await chmod(own, 0o755);

    const clone = await Clone.of(server, alice);
    await clone.commit(2_000_000);
    t.match(await clone.push(), { code: 0, said: 'own hook of app.git' });
    await server.usageIs('alice', bytes => bytes > 2_000_000);
    await clone.commit(10);
    const second = await clone.push();
    t.equal(second.code, 1);
    t.match(second.said, /Quota exceeded: alice/);
    t.notMatch(second.said, /own hook/, 'what is refused goes no further');
    await clone.git('remote', 'set-url', 'origin', bob);
    t.equal((await clone.push()).code, 0, 'bob is another owner');
  },
);
