/** `ssh git@host quota`: what a user sees over ssh, by git-shell and as a command of gitolite. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { run } from './run.ts';
import { Server } from './server.ts';

/** A home with the command, as the manual says, and a server that it asks. */
async function open(t: Test) {
  const server = await Server.open(t, {
    repositories: ['alice/app'],
    ini: { server: { ROOT_URL: 'https://git.example/quota/' }, hooks: { CONTACT: null } },
  });
  const home = join(server.folder, 'home');
  const commands = join(home, 'git-shell-commands');
  await mkdir(commands, { recursive: true });
  t.match(await server.softquota(['hooks', 'install', '--programs', commands]), { code: 0 });
  return { server, home, command: join(commands, 'quota') };
}

t.test('a user reads usage, limit and the address of My usage over ssh', async t => {
  const { server, home } = await open(t);
  const ssh = (line: string) =>
    run('git-shell', ['-c', line], { cwd: home, env: { HOME: home, LOGNAME: 'git' } });
  t.match(await ssh('quota alice'), {
    code: 0,
    stdout: /^alice uses \d+(\.\d+)? kB of 1 MB \(\d %\)\.\nMy usage: https:\/\/git\.example\/quota\/mine\n$/,
    stderr: '',
  });
  const clone = await server.filled('alice/app', 1_500_000);
  t.match(await ssh('quota alice'), { code: 0, stdout: /^Quota exceeded: alice uses 1\.5\d* MB of 1 MB/ });
  await clone.commit(1000);
  const { stderr } = await clone.push();
  t.match(stderr, /^remote: To ask for more space: https:\/\/git\.example\/quota\/mine\s*$/m);
  t.match(await ssh('quota'), {
    code: 1,
    stdout: '',
    stderr: 'softquota: no such owner: git\nsoftquota: name an owner: ssh git@HOST quota OWNER\n',
  });
  t.match(await ssh('quota nobody'), { code: 1, stderr: /^softquota: no such owner: nobody\n/ });
});

t.test('under gitolite it shows the user of the key, whoever is asked about', async t => {
  const { command } = await open(t);
  const env = { GL_USER: 'alice', LOGNAME: 'git' };
  t.match(await run(command, ['bob'], { env }), { code: 0, stdout: /^alice uses \d/ });
});

t.test('without a daemon it says so', async t => {
  const { server, command } = await open(t);
  await server.stop();
  t.match(await run(command, ['alice'], {}), {
    code: 1,
    stderr: 'softquota: the quota cannot be shown: the daemon does not answer.\n',
  });
});
