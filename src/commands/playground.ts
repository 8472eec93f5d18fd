/** `softquota playground`: a small world to try. */

import type { Command } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { isCheckout } from '../package.ts';
import type { World } from '../playground/index.ts';
import { signInLink } from '../wire/index.ts';
import { localAdminClient } from './client.ts';
import type { Exit } from './exit.ts';
import { withUnreadConfigOption } from './settings.ts';
import { print, tell } from './streams.ts';

const administrator = 'admin';
/** Who has something to see there: the story refuses her push. */
const overLimit = 'alice';

interface PlaygroundOptions {
  readonly dir: string;
  readonly exit?: boolean;
}

export function addPlayground(program: Command, exit: Exit): void {
  withUnreadConfigOption(program.command('playground'))
    .summary('try softquota in a small world')
    .description(
      'Makes repositories and LFS files of three owners, one below, one near and one over the limit, starts a\n' +
        'daemon on them, prints links that open its web UI signed in, and lines to copy: pushes that pass, one\n' +
        'that is refused, the cleaning up.',
    )
    .option('--dir <directory>', 'where; a playground that is there is made anew', 'var/playground')
    .option('--exit', 'play the story and stop')
    .addHelpText('after', '\nExit status with --exit: 0 all went as told, 1 it did not.')
    .action(async (options: PlaygroundOptions) => exit(await run(options)));
}

async function run({ dir, exit }: PlaygroundOptions): Promise<number> {
  const { makeWorld, play, startDaemon, story } = await import('../playground/index.ts');
  print(`Making a small world in ${dir} …\n`);
  const world = await makeWorld(dir);
  const daemon = await startDaemon(world);
  const command = isCheckout() ? 'npx softquota' : 'softquota';
  const scenes = story(world, command);
  try {
    if (exit === true) {
      await play(scenes, print);
      print('All of it went as told.\n');
      return exitCodes.done;
    }
    await printLinks(world, `${command} sign-in-link --config ${dir}/app.ini`);
    print('Try these in another terminal, one after the other:\n\n');
    for (const { title, line } of scenes) print(`    # ${title}\n    ${line}\n\n`);
    print(`Its log is ${dir}/daemon.log. Ctrl-C ends it.\n`);
    await Promise.race([asked(), daemon.ended]);
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'conflict') throw error;
    tell(`softquota: the story went another way: ${error.message}\n`);
    return exitCodes.refused;
  } finally {
    await daemon.stop();
    await world.clear();
  }
}

/** Makes an administrator of the world, and prints links to its web UI. */
async function printLinks({ adminSocket }: World, another: string): Promise<void> {
  const client = localAdminClient({ server: { adminSocket } });
  const body = { username: administrator, is_admin: true };
  await client.get({ method: 'POST', path: '/admin/users', body });
  const linkFor = async (name: string) =>
    signInLink.parse(await client.get({ method: 'POST', path: `/users/${name}/sign-in-link` })).url;
  print(
    `The daemon runs. Its web UI, signed in as ${administrator}, its administrator:\n\n    ${await linkFor(administrator)}\n\n` +
      `As ${overLimit} sees it, in a private window:\n\n    ${await linkFor(overLimit)}\n\n` +
      `Each link is good once, for ten minutes; ${another} --user ${administrator} makes another.\n\n`,
  );
}

/** Resolves when somebody wants it to end. */
function asked(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
}
