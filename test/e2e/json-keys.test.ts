/** One case in all JSON that commands print: snake_case, as the API and the gate have it. */

import t, { type Test } from 'tap';
import { oddKeys } from '../api/keys.ts';
import { commandLines, leafCommands, oneWebhook } from './command-lines.ts';
import { Gitolite } from './gitolite.ts';
import { Server } from './server.ts';

t.setTimeout(300_000);

/** Commands of several hosts; store-commands.test.ts looks at what they print. */
const ofSeveral = ['host list', 'host forget'];

/** Fails where a command prints no JSON, or a key that is not snake_case. */
async function mustBeSnake(t: Test, server: Server, line: string): Promise<void> {
  const { stdout, stderr } = await server.softquota(line);
  let json: unknown;
  try {
    json = JSON.parse(stdout);
  } catch {
    t.fail(`${line} prints no JSON: ${stdout}${stderr}`);
    return;
  }
  t.strictSame(oddKeys(json), [], line);
}

t.test('every command with --json prints keys in snake_case', async t => {
  const server = await Server.open(t, {
    repositories: ['alice/app'],
    ini: { quota: { MODE: 'report' }, ...oneWebhook },
  });
  const commands = [...(await leafCommands())]
    .filter(([, { options }]) => options.some(({ long }) => long === '--json'))
    .map(([name]) => name)
    .filter(name => !ofSeveral.includes(name));
  const left = new Set(commands);
  for (const line of await commandLines(server)) {
    const name = commands.find(each => `${line} `.startsWith(`${each} `));
    if (name === 'restore') {
      await server.done(`backup ${server.folder}/saved.json`);
      await server.stop();
    }
    if (name !== undefined) await mustBeSnake(t, server, `${line} --json`);
    else if (line === 'backup -' || line === 'policy export') await mustBeSnake(t, server, line);
    else if (/^(group|member) /.test(line)) await server.done(line);
    left.delete(name ?? '');
  }
  t.strictSame([...left], [], 'all of them were run');
});

t.test('so do the hooks of gitolite', async t => {
  const server = await Server.open(t, { started: false });
  const gitolite = await Gitolite.open(t, server);
  for (const command of ['install', 'status', 'remove'])
    await mustBeSnake(t, server, `hooks ${command} --gitolite ${gitolite.home} --json`);
});
