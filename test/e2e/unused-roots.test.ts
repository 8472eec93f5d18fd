/** Parts of PATH that are not there yet: GitLab's `@snippets` and `@pools`, and one that is mistyped. */

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from './ask.ts';
import { Server } from './server.ts';

const hash = 'ab/cd/abcd';

t.test('what GitLab makes later is waited for, and counts within five seconds when it comes', async t => {
  const server = await Server.open(t, { started: false });
  const git = join(server.folder, 'git');
  const all = ['@hashed', '@snippets', '@pools', '@mistyped'].map(kind => `${git}/${kind}/*/*/{repo}.git`);
  await server.configure({ 'storage.repos': { PATH: all.join(', '), OWNER: 'fixed team' } });
  const first = await server.repository(`@hashed/${hash}`);
  await server.start();
  await server.scan();
  t.equal(await server.reasons(), '', '/readyz is 200');
  const found = async () => {
    const findings = JSON.parse((await server.softquota('doctor --json')).stdout);
    return findings
      .filter(({ code }: { code: string }) => /^root_|unread/.test(code))
      .map(({ code, message }: Record<string, string>) => `${code} ${message}`);
  };
  const mistyped = `root_unused storage root ${git}/@mistyped: it is not there, so its PATH matches nothing yet`;
  t.strictSame(await found(), [mistyped]);
  for (const kind of ['@snippets', '@pools']) {
    const before = await server.usage('team');
    await cp(first, join(git, kind, `${hash}.git`), { recursive: true });
    const since = performance.now();
    await until(async () => ((await server.usage('team')) > before ? true : null));
    t.ok(performance.now() - since < 5000, `${kind}: after ${Math.round(performance.now() - since)} ms`);
  }
  await server.scan();
  t.equal(await server.reasons(), '');
  t.strictSame(await found(), [mistyped]);
});
