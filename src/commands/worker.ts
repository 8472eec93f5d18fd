/** `softquota worker`: the part that writes into repositories, as the user that git runs as. */

import { Option } from 'commander';
import type { Config } from '../config/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { findClient, parsePolicies, type WorkerOptions } from '../git/index.ts';
import { keepHeapSmall } from '../heap.ts';
import type { Log } from '../log.ts';
import { apiCommand } from './api-command.ts';
import { type ConfigOption, configFrom } from './settings.ts';

interface WorkerCommandOptions extends ConfigOption {
  readonly onError?: string;
  readonly lastFor?: string;
}

export const addWorker = apiCommand<never, WorkerCommandOptions>('worker', {
  summary: 'keep the hooks and collect garbage in every repository, as the user that git runs as',
  description:
    'Runs in the foreground as the user that git runs as, and never as root. With [hooks] KEEP = true it puts the ' +
    'hooks into each new repository in the storage, within a second, and puts them back if something removes ' +
    'them. With [reclaim] RUN it measures the unreachable data of each repository, and deletes it with RUN = gc. ' +
    'For the daemon it judges refused pushes that would make a repository smaller, and it removes what broken ' +
    'pushes leave behind. It connects to TRUSTED_SOCKET, and continues while the daemon is away. ' +
    'It reads the configuration at its start. SIGTERM and SIGINT stop it.',
  options: [
    new Option('--on-error <policy>', 'of the hooks that it puts in; as of softquota hooks install'),
    new Option('--last-for <age>', 'of the hooks that it puts in; as of softquota hooks install'),
  ],
  hasNoJson: true,
  run: work,
});

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
  const { storages, scan, server, hooks, forge, reclaim } = config;
  const worker = new Worker({
    trustedSocket: server.trustedSocket,
    storages,
    exclude: scan.exclude,
    isForge: forge?.kind === 'gitea' || forge?.kind === 'forgejo',
    hooks: hooks.keep ? await hooksFor(config, options) : null,
    gits: await gitsFor(config, log),
    isAlone: reclaim.alone,
    reclaim: reclaim.run === 'never' ? null : { run: reclaim.run, expireMs: reclaim.expireMs },
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

async function gitsFor({ reclaim }: Config, log: Pick<Log, 'warn'>): Promise<WorkerOptions['gits']> {
  const { findGits } = await import('../git/index.ts');
  const { gits, faults } = await findGits(reclaim.gits);
  for (const { program, why } of faults)
    log.warn({ git: program, why }, 'a git of [reclaim] GIT is not used');
  if (gits.length === 0)
    log.warn({}, 'no push is judged, and unreachable objects are neither measured nor collected');
  return gits;
}

async function hooksFor({ server }: Config, options: WorkerCommandOptions): Promise<WorkerOptions['hooks']> {
  const client = await findClient();
  if (client === null)
    throw new SoftquotaError('configuration', 'neither nc nor curl asks at a socket as the hooks need it');
  return { socket: server.socket, client, ...parsePolicies(options) };
}
