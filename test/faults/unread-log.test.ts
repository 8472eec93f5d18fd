/**
 * Nobody reads what the daemon logs: it answers as before, ends in time, and tells what is missing once
 * somebody reads.
 */

import { Agent, request } from 'node:http';
import t, { type Test } from 'tap';
import { Server } from '../e2e/server.ts';

/** More lines than there is room for: a refused check is one. */
const checks = 12_000;

async function standingStill(t: Test) {
  const server = await Server.open(t, { ini: { 'quota.default': { TOTAL: '0' } } });
  const { stderr } = server.daemon.child;
  if (stderr === null) throw new Error('a pipe was asked for');
  stderr.pause();
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.teardown(() => agent.destroy());
  const check = () =>
    new Promise<number>((resolve, reject) => {
      const path = '/v1/check?owner=alice&subject=size:git:lfs&actor=somebody-with-a-long-name';
      const asked = request({ socketPath: server.socket('gate'), path, agent }, response => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      asked.on('error', reject).end();
    });
  const flood = async () => {
    const statuses = new Set<number>();
    for (let done = 0; done < checks; done += 100) {
      for (const status of await Promise.all(Array.from({ length: 100 }, check))) statuses.add(status);
    }
    return [...statuses];
  };
  return { server, stderr, flood };
}

t.test(
  'checks are answered while nobody reads the log, and it tells then how many lines are missing',
  async t => {
    const { server, stderr, flood } = await standingStill(t);
    t.strictSame(await flood(), [413]);
    stderr.resume();
    const { lines } = await server.daemon.logged(/^lines of the log were lost/);
    const refused = () => server.daemon.lines.filter(({ msg }) => msg === 'refused').length;
    t.equal(refused() + Number(lines), checks, 'none is missing without being counted');
    t.ok(refused() > 1000);
  },
);

t.test('a daemon whose log nobody reads ends when it is told to', async t => {
  const { server, flood } = await standingStill(t);
  await flood();
  const ended = new Promise<number | null>(resolve => server.daemon.child.once('exit', resolve));
  server.daemon.child.kill('SIGTERM');
  t.equal(await ended, 0);
});
