import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { makeRule, member } from './world.ts';

t.test('a daemon that is refused its name has read no policy and written nothing', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one', isLive: true });
  one.fleet.start();
  await makeRule(one, 'total');
  const asked = new Set<string>();
  const twin = member(t, {
    ...{ address, host: 'one', token: 'another', isLive: true },
    through: store =>
      new Proxy(store, {
        get: (target, name: keyof typeof store) => {
          asked.add(name);
          return target[name];
        },
      }),
  });
  await t.rejects(twin, { code: 'configuration' });
  for (const name of ['policy', 'policySince', 'commit', 'replace', 'write', 'tellUsage'])
    t.notOk(asked.has(name), name);
});
