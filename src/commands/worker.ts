/** `softquota worker`: the part that writes into repositories, as the user that git runs as. */

import { type Command, Option } from 'commander';
import type { Config } from '../config/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { Guard, type SharedPlace, type WorkerOptions, writeShared } from '../git/index.ts';
import { keepHeapSmall } from '../heap.ts';
import type { Log } from '../log.ts';
import type { Exit } from './exit.ts';
import { type ConfigOption, configFrom, withConfigOption } from './settings.ts';

interface WorkerCommandOptions extends ConfigOption {
  readonly shared?: string;
}

export function addWorker(program: Command, exit: Exit): void {
  withConfigOption(program.command('worker'))
    .summary('keep the hooks and collect garbage in every repository, as the user that git runs as')
    .description(
      'Runs in the foreground as the user that git runs as, and never as root. With [hooks] KEEP = true it puts the ' +
        'hooks into each new repository in the storage, within a second, and puts them back if something removes ' +
        'them. With [reclaim] RUN it measures the unreachable data of each repository, and deletes it with RUN = gc. ' +
        'It reports to the daemon on TRUSTED_SOCKET, and continues while the daemon does not answer. ' +
        'It reads the configuration at its start. SIGTERM and SIGINT stop it.',
    )
    .addOption(
      new Option(
        '--shared <dir>',
        'directory of the one file that the stubs in the repositories run; as of softquota hooks install',
      ).env('SOFTQUOTA_SHARED_HOOKS'),
    )
    .action(async (options: WorkerCommandOptions) => exit(await work(options)));
}

async function work(options: WorkerCommandOptions): Promise<number> {
  if (process.geteuid?.() === 0) {
    throw new SoftquotaError(
      'not_permitted',
      'the worker does not run as root, because users can write into repositories: run it as the user that git runs as, ' +
        'such as with: runuser -u git -- softquota worker',
    );
  }
  const config = configFrom(options);
  keepHeapSmall();
  const { createLogger } = await import('../service/index.ts');
  const { Worker } = await import('../git/index.ts');
  const { log, flush } = createLogger(config.log);
  process.stderr.on('error', () => {});
  const stopAsked = new Promise<string>(resolve => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
  const { storages, scan, server, hooks, forge } = config;
  const worker = new Worker({
    trustedSocket: server.trustedSocket,
    storages,
    exclude: scan.exclude,
    isForge: forge?.kind === 'gitea' || forge?.kind === 'forgejo',
    guard: hooks.keep ? await guardFor(config, options.shared) : null,
    reclaim: await reclaimFor(config, log),
    log,
  });
  const started = worker
    .start()
    .then(() => log.info({ keep: hooks.keep }, 'the worker has looked at all repositories'));
  log.info({ signal: await Promise.race([stopAsked, started.then(() => stopAsked)]) }, 'the worker stops');
  await worker.close();
  await flush();
  return exitCodes.done;
}

async function reclaimFor({ reclaim }: Config, log: Pick<Log, 'warn'>): Promise<WorkerOptions['reclaim']> {
  const { run, expireMs } = reclaim;
  if (run === 'never') return null;
  const { findGit } = await import('../git/index.ts');
  const git = await findGit();
  if (git.is === 'version') {
    return { run, expireMs, gitVersion: git.version };
  }
  log.warn({ why: git.why }, 'unreachable objects are neither measured nor collected');
  return null;
}

async function guardFor({ server }: Config, place: string | undefined): Promise<Guard> {
  const shared: SharedPlace | null =
    place === undefined || place === 'none' ? (place ?? null) : await writeShared(place);
  return Guard.open({ socket: server.socket, ...(shared === null ? {} : { shared }) });
}
