import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const streams = fileURLToPath(new URL('../../src/commands/streams.ts', import.meta.url));

t.test('of what cannot be read the first places are named, and the others are counted', async t => {
  const told = (count: number) => {
    const program = `
      import { tellUnread } from ${JSON.stringify(streams)};
      tellUnread(Array.from({ length: ${count} }, (_, at) => ({ path: '/srv/' + at, reason: 'EACCES' })));`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    return stderr.trim().split('\n');
  };
  t.strictSame(told(1), ['softquota: /srv/0: EACCES']);
  t.equal(told(20).length, 20);
  t.strictSame(told(23).slice(19), [
    'softquota: /srv/19: EACCES',
    'softquota: … and 3 other places that could not be read',
  ]);
});
