/** `softquota auth`, and what it does to a user's quota groups. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { savedSource } from '../../src/wire/index.ts';
import { Server } from './server.ts';

// Each command is a process, on whatever host.
t.setTimeout(600_000);

const company = {
  name: 'company',
  openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
  client_id: 'softquota',
  client_secret: 'client-secret-that-nobody-may-see',
  quota_group_claim_name: 'groups',
  quota_group_map: { staff: ['gold'], guests: ['silver'] },
  quota_group_map_removal: true,
};

async function addSource(server: Server): Promise<string> {
  for (const name of ['gold', 'silver']) await server.admin('/admin/quota/groups', { body: { name } });
  const made = await server.ask('admin', '/api/v1/admin/auths', { body: company });
  return String(savedSource.parse(JSON.parse(made.text)).id);
}

t.test('claims in a file do what a sign-in does with them, for one user or for many', async t => {
  const server = await Server.open(t);
  t.match(await server.softquota('auth list'), { code: 0, stdout: /No sources/ });
  await addSource(server);
  t.match(await server.softquota('auth list'), {
    code: 0,
    stdout: /company .*127\.0\.0\.1:2 .*yes .*groups .*on/,
  });
  for (const name of ['alice', 'bob']) await server.done('user create', name);

  const one = await server.file('alice.json', '{"sub": "1", "groups": "staff, guests"}');
  const sync = 'auth sync company';
  const tried = await server.done(`${sync} ${one} --user alice --try`);
  t.equal(tried, 'alice: +gold +silver; in gold, silver\n');
  t.match(await server.done('group show gold'), /^(?!.*alice)/s);
  t.match(await server.done(`${sync} ${one} --user alice`), /^alice: \+gold \+silver/);
  t.match(await server.done(`${sync} ${one} --user alice`), /nothing changes; in gold, silver/);

  const many = join(server.folder, 'many.json');
  const users = [
    { user: 'alice', claims: { groups: [] } },
    { user: 'nobody', claims: { groups: [] } },
    { user: 'bob', claims: { groups: ['guests'] } },
  ];
  await writeFile(many, users.map(user => `${JSON.stringify(user)}\n`).join(''));
  t.match(await server.softquota(`${sync} ${many}`), {
    code: 1,
    stdout: 'alice: -gold -silver; in no group\nbob: +silver; in silver\n',
    stderr: /^softquota: nobody: there is no user nobody/,
  });
  await writeFile(many, JSON.stringify(users.slice(2)));
  const json = await server.json(`${sync} ${many}`);
  t.match(json, [{ user: 'bob', outcome: 'synchronized', groups: ['silver'], added: [] }]);

  await writeFile(many, '{"user": "bob"}\n');
  t.match(await server.softquota(`${sync} ${many}`), { code: 2, stderr: /line 1: claims/ });
  await writeFile(many, '{"user"');
  t.match(await server.softquota(`${sync} ${many}`), { code: 2, stderr: /line 1: not valid JSON/ });
  const another = await server.softquota(`auth sync another ${one} --user bob`);
  t.match(another, { code: 1, stderr: /no such source: another/ });
});
