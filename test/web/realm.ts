/**
 * A world with something on every page of the administrators, and with names that would do harm if they were
 * not only text.
 */

import type { Test } from 'tap';
import { leaves } from '../../src/quota/index.ts';
import { addressOf } from '../../src/wire/pages.ts';
import { type Settings, World } from '../api/world.ts';

export const oddNames = {
  script: '<script>document.title="run"</script>',
  image: '<img src=x onerror=document.title="run">',
  quotes: `"quoted' & \`co\``,
  hebrew: 'מכסה',
  override: 'x\u202egnp.exe',
  emoji: '🦊 fox',
  address: 'a/b?c#d%20e',
  long: `${'endless'.repeat(14)}-${'a-name-that-does-not-end-'.repeat(4)}`,
} as const;

export const odd: readonly string[] = Object.values(oddNames);

export async function realm(t: Test, settings: Settings = {}): Promise<World> {
  const world = await World.open(t, { settings: { 'quota.default': { TOTAL: '20G' }, ...settings } });
  for (const [index, owner] of ['alice', 'bob', 'acme', ...odd].entries()) {
    for (const [at, leaf] of leaves.entries()) {
      const bytes = (((index * 37 + at * 11) % 17) + 1) * 100_000_000;
      await world.report(owner, leaf, bytes, `${leaf} of ${owner}`);
    }
  }
  const create = (path: string, body: object) => world.post(path, body);
  await create('/admin/quota/rules', { name: 'one-gigabyte', limit: 1e9, subjects: ['size:repos:all'] });
  await create('/admin/quota/groups', { name: 'free', rules: [{ name: 'one-gigabyte' }] });
  for (const name of odd) {
    await create('/admin/quota/rules', { name, limit: 1e10, subjects: ['size:all'] });
    await create('/admin/quota/groups', { name, rules: [{ name }] });
    const path = `/admin/quota/groups/${encodeURIComponent(name)}/users/${encodeURIComponent(name)}`;
    await world.put(path);
    await world.newToken(name, ['read:user']);
  }
  await world.put('/admin/quota/groups/free/users/bob');
  await world.must(204, 'PUT', `/admin/orgs/acme/members/${encodeURIComponent(oddNames.script)}`, {
    body: { role: 'owner' },
  });
  await world.gate('POST', '/v1/check', {
    owner: 'bob',
    subject: 'size:repos:private',
    actor: oddNames.script,
  });
  return world;
}

const lists = [
  ...(['overview', 'owners', 'groups', 'rules', 'policy', 'requests', 'scans', 'events'] as const),
  ...(['notices', 'hosts', 'repositories', 'help', 'tokens', 'auths'] as const),
];

/** Every page of the administrators, those of one thing for each of these names. */
export function administratorsPages(names: readonly string[]): readonly string[] {
  return [
    ...lists.map(page => addressOf(page)),
    ...names.flatMap(name => (['owner', 'group', 'rule'] as const).map(page => addressOf(page, name))),
    ...names.map(name => `tokens?user=${encodeURIComponent(name)}`),
  ];
}
