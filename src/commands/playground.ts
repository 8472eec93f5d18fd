/** `softquota playground`: a small world to try. */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { packageDirectory } from '../package.ts';
import { shellQuoted } from '../text.ts';
import { apiCommand } from './api-command.ts';
import { localAdminClient } from './client.ts';
import type { World } from './playground-world.ts';
import { unreadConfig } from './settings.ts';
import { print, tellNote } from './streams.ts';

const administrator = 'admin';

interface PlaygroundOptions {
  readonly dir: string;
  readonly exit?: boolean;
}

export const addPlayground = apiCommand<never, PlaygroundOptions>('playground', {
  summary: 'try softquota in a small world',
  description:
    'Creates repositories and LFS files of three owners, one below, one near and one over the limit, and starts a ' +
    'daemon and a worker for them. Prints links that open the web UI signed in, and commands to copy: a push with a ' +
    'warning, a refused push, and how the same push passes. With --exit it runs these commands itself.',
  config: unreadConfig,
  options: [
    new Option('--dir <directory>', 'its directory; an existing playground there is replaced').default(
      'var/playground',
    ),
    new Option('--exit', 'run the story and stop'),
  ],
  after: '\nExit status with --exit: 0 every step went as described, 1 a step did not.',
  hasNoJson: true,
  run,
});

async function run({ dir, exit }: PlaygroundOptions): Promise<number> {
  const { makeWorld, overLimit, play, startPrograms, story } = await import('./playground-world.ts');
  print(`Creating a small world in ${dir} …\n`);
  const world = await makeWorld(dir);
  const programs = await startPrograms(world);
  const command = ownCommand();
  const scenes = story(world, command);
  try {
    if (exit === true) {
      await play(world, scenes, print);
      print('Every step went as described.\n');
      return exitCodes.done;
    }
    await printLinks(world, overLimit, `${command} sign-in-link --config ${dir}/app.ini`);
    print('Try these in another terminal, one after the other:\n\n');
    for (const { title, line } of scenes) print(`    # ${title}\n    ${line}\n\n`);
    print(`Its logs are ${dir}/daemon.log and worker.log. Ctrl-C ends it.\n`);
    const asked = ['SIGINT', 'SIGTERM', 'SIGHUP'].map(signal => once(process, signal));
    await Promise.race([...asked, programs.ended]);
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'conflict') throw error;
    tellNote(`a step did not go as described: ${error.message}`);
    return exitCodes.refused;
  } finally {
    await programs.stop();
    await world.clear();
  }
}

/** The shell command that starts softquota; a path if an unpacked tarball is not on the search path. */
function ownCommand(): string {
  const isCheckout = existsSync(new URL('tsconfig.json', packageDirectory));
  if (isCheckout) return 'npx softquota';
  const folders = (process.env.PATH ?? '').split(':').filter(isAbsolute);
  const program = fileURLToPath(new URL('bin/softquota', packageDirectory));
  if (folders.some(folder => existsSync(join(folder, 'softquota'))) || !existsSync(program))
    return 'softquota';
  return shellQuoted(program);
}

/** Creates an administrator, and prints links to the web UI. */
async function printLinks({ adminSocket }: World, owner: string, another: string): Promise<void> {
  const client = localAdminClient({ server: { adminSocket } });
  const body = { username: administrator, is_admin: true };
  await client.get({ method: 'POST', path: '/admin/users', body });
  const linkFor = async (name: string) =>
    (await client.get<{ readonly url: string }>({ method: 'POST', path: `/users/${name}/sign-in-link` })).url;
  print(
    `softquota is running. Its web UI, signed in as the administrator ${administrator}:\n\n    ${await linkFor(administrator)}\n\n` +
      `The web UI as ${owner} sees it (open it in a private window):\n\n    ${await linkFor(owner)}\n\n` +
      `Each link works once, within ten minutes. This creates another one: ${another} --user ${administrator}\n\n`,
  );
}
