/** The playground's story, and that it would tell when something went another way. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { temporaryFolder } from '../temporary-folder.ts';
import { launcher } from './daemon.ts';
import { plainEnvironment, type Run, run } from './run.ts';

/** From the checkout, as `npx softquota playground --exit` is; with `path` before all other programs. */
function play(folder: string, path = ''): Promise<Run> {
  const cwd = new URL('../..', import.meta.url).pathname;
  const args = [launcher, 'playground', '--exit', '--dir', join(folder, 'world')];
  return run(process.execPath, args, { cwd, env: { HOME: folder, PATH: path + plainEnvironment.PATH } });
}

t.test('playground --exit plays the story, exits 0, and needs no second terminal', async t => {
  const { code, stdout, stderr, elapsedMs } = await play(temporaryFolder(t));
  t.equal(code, 0, stdout + stderr);
  t.match(stdout, /remote: Quota warning: bob uses/);
  t.match(stdout, /remote: Quota exceeded: alice uses .* of 1 MB/);
  t.match(
    stdout,
    /Removing these frees the most space in this repository: *\nremote: +90\d kB {2}branch videos/,
  );
  t.match(stdout, /How to free it: http:\/\/127\.0\.0\.1:\d+\/space\/alice\?repo=site/);
  t.notMatch(stdout, /git\.example/, 'every address leads somewhere');
  t.match(stdout, /\[deleted\](.|\n)*The same push passes now(.|\n)*main -> main/);
  t.match(stdout, /Every step went as described\.\n$/);
  // Ten seconds where nothing else runs.
  t.ok(elapsedMs < 120_000, `${Math.round(elapsedMs)} ms`);
});

t.test('its links open it signed in: one as its administrator, one as who is over the limit', async t => {
  const folder = temporaryFolder(t);
  const args = [launcher, 'playground', '--dir', join(folder, 'world')];
  const cwd = new URL('../..', import.meta.url).pathname;
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...plainEnvironment, HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const links: string[] = [];
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    lines += 1;
    if (line.startsWith('    http://')) links.push(line.trim());
    if (line.includes('Ctrl-C')) break;
  }
  t.equal(links.length, 2);
  // npm start prints three more, about packages and the build.
  t.ok(lines < 37, `${lines} lines`);
  const signIn = async (link = '') => {
    const { origin, hash } = new URL(link);
    const answer = await fetch(new URL('/api/v1/session', origin), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: origin },
      body: JSON.stringify({ code: hash.replace('#code=', '') }),
    });
    return { status: answer.status, who: await answer.json() };
  };
  const [administrator = '', owner] = links;
  const page = await fetch(administrator, { headers: { Accept: 'text/html' } });
  t.match(await page.text(), /<base href="\/">/);
  t.match(await signIn(administrator), { status: 201, who: { login: 'admin', is_admin: true } });
  t.match(await signIn(owner), { status: 201, who: { login: 'alice', is_admin: false } });
  t.match(await signIn(administrator), { status: 401 });
});

t.test('where a step goes another way it says which, and exits with 1', async t => {
  const folder = temporaryFolder(t);
  const bin = join(folder, 'bin');
  await mkdir(bin);
  // A git that pushes without asking anybody.
  const wrong = `#!/bin/sh
PATH=\${PATH#*:}
[ "$1" != push ] || exec git push --receive-pack='git -c core.hooksPath=/nowhere receive-pack'
exec git "$@"
`;
  await writeFile(join(bin, 'git'), wrong);
  await chmod(join(bin, 'git'), 0o755);
  const { code, stderr, stdout } = await play(folder, `${bin}:`);
  t.equal(code, 1, stdout + stderr);
  t.match(stderr, /a step did not go as described: this command should show Quota warning/);
});
