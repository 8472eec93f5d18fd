/** A program that reports its units in whole sets, until it reports no more. */

import t from 'tap';
import { Server } from './server.ts';

const packages = 'size:assets:packages:all';

function lines(owner: string, count: number, bytes: number): string {
  return Array.from({ length: count }, (_, number) =>
    JSON.stringify({ owner, subject: packages, unit: `npm/package-${number}`, bytes }),
  )
    .map(line => `${line}\n`)
    .join('');
}

async function put(server: Server, lines: string, query = ''): Promise<number> {
  const question = { method: 'PUT', body: Buffer.from(lines) };
  return (await server.ask('trusted', `/v1/sources/registry${query}`, question)).status;
}

t.test(
  'a source that reports no more is told by check, log and doctor, and goes when it is deleted',
  async t => {
    const server = await Server.open(t);
    t.equal(await put(server, lines('alice', 3, 1000), '?stale_after=1'), 200);
    await server.daemon.logged(/^what a source reported is older than it may become/);
    const { text } = await server.ask('gate', `/v1/check?owner=alice&subject=${packages}`);
    t.match(JSON.parse(text), { allowed: true, used: 3000, stale: true });
    t.match((await server.softquota('usage alice')).stdout, /stale/);
    t.match((await server.softquota('usage alice')).stdout, /npm\/package-0 /);
    const doctor = await server.softquota('doctor --json');
    const findings: { code: string; message: string; mend: string }[] = JSON.parse(doctor.stdout);
    const found = findings.find(({ code }) => code === 'source_stale');
    t.match(found, {
      message: /^the source registry last reported at .*, but should report every 1 s: its figures are stale/,
    });
    t.equal(await server.reasons(), '', 'the daemon itself is ready');

    t.equal(await put(server, lines('alice', 3, 1000), '?stale_after=600'), 200);
    await server.daemon.logged(/^a source reports again$/);
    t.equal((await server.ask('trusted', '/v1/sources/registry', { method: 'DELETE' })).status, 204);
    t.equal(await server.usage('alice'), 0);
    t.strictSame(JSON.parse((await server.ask('trusted', '/v1/sources')).text), { sources: [] });
  },
);
