/** One story over each way in which git reaches a server: git's environment differs, the answer does not. */

import t from 'tap';
import { Clone, objectsIn } from './clone.ts';
import { counted } from './count.ts';
import { must } from './run.ts';
import { Server } from './server.ts';
import { type Transport, transports } from './transports.ts';

const owners = Object.keys(transports).map((_, at) => `owner${at}`);
const server = await Server.open(t, { repositories: owners.map(owner => `${owner}/app`) });

for (const [at, [name, open]] of Object.entries(transports).entries()) {
  t.test(`over ${name} a push passes, the next is refused with the reason, cleaning up helps`, async t => {
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
  });
}

t.test('in a repository of SHA-256, the word of a deletion is enough for pushes to pass again', async t => {
  const bare = await server.repository('bob/app', 'sha256');
  await server.installHooks();
  const clone = await Clone.of(server, bare, { format: 'sha256' });
  await clone.commit(900_000);
  t.equal((await clone.push()).code, 0);
  await clone.git('checkout', '-q', '-b', 'more');
  await clone.commit(2_000_000);
  t.equal((await clone.push(['more', 'main:refs/heads/spare'])).code, 0);
  await server.usageIs('bob', used => used > 2_900_000);
  t.equal((await clone.push(['--delete', 'more'])).code, 0);
  await must('git', ['-C', bare, 'gc', '-q', '--prune=now']);
  // Deleting is not asked about, but told.
  t.equal((await clone.push(['--delete', 'spare'])).code, 0);
  await server.usageIs('bob', used => used < 1_000_000);
  await clone.git('checkout', '-q', 'main');
  await clone.commit(2000);
  t.equal((await clone.push()).code, 0);
});
