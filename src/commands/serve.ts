/** `softquota serve` and `softquota worker`: the daemon, and the part that writes into repositories. */

import { Option } from 'commander';
import { type Config, type LoadedConfig, loadAgain, printConfig } from '../config/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import type { WorkerOptions } from '../git/index.ts';
import { keepHeapSmall } from '../heap.ts';
import type { Log } from '../log.ts';
import { apiCommand } from './api-command.ts';
import { type ConfigOption, configFrom, loadedFrom, whereIs } from './settings.ts';
import { print } from './streams.ts';

/** Time for an orderly stop after SIGTERM; then the process ends anyway. */
const stopMs = 4500;

const addServe = apiCommand<never, { checkConfig?: boolean; printConfig?: boolean }>('serve', {
  summary: 'run the daemon',
  description:
    'Runs the daemon in the foreground: measures what every owner stores and answers on its sockets. ' +
    'SIGHUP makes it read the configuration again; SIGTERM and SIGINT stop it.',
  options: [
    new Option('--check-config', 'only check the configuration: exit 0, or 78 with all errors'),
    new Option('--print-config', 'only print the configuration in force, secrets masked'),
  ],
  hasNoJson: true,
  run: options => {
    const loaded = loadedFrom(options);
    if (options.printConfig === true) print(printConfig(loaded));
    else if (options.checkConfig === true) print('The configuration has no errors.\n');
    else return serve(options, loaded);
    return exitCodes.done;
  },
});

async function serve(options: ConfigOption, loaded: LoadedConfig): Promise<number> {
  const { config } = loaded;
  let inForce = loaded;
  let isReloadAsked = false;
  // Until the daemon runs, a SIGHUP waits: without a listener it would end the process.
  let reload = () => {
    isReloadAsked = true;
  };
  process.on('SIGHUP', () => reload());
  keepHeapSmall();
  const { Daemon } = await import('../daemon/index.ts');
  const { createLogger, Supervision } = await import('../service/index.ts');
  const { log, flush } = createLogger(config.log);
  let daemon: Pick<Awaited<ReturnType<typeof Daemon.start>>, 'endThreads'> | null = null;
  /** Ends the process in any case: a thread that a disk blocks would block `process.exit` for ever. */
  const leave = async (status: number) => {
    const isHeld = daemon !== null && (await daemon.endThreads()) > 0;
    if ((await flush()) === 'hangs' || isHeld) process.kill(process.pid, 'SIGKILL');
    process.exit(status);
  };
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'internal error (please report it)');
    void leave(exitCodes.internal);
  });
  // An unhandled rejection leaves everything else intact, so the daemon continues.
  process.on('unhandledRejection', error => {
    log.error({ err: error }, 'internal error (please report it); the daemon continues');
  });
  // The daemon also continues if nobody reads its log.
  process.stderr.on('error', () => {});
  const stopAsked = asksToStop();
  let status: number = exitCodes.done;
  const socketLost = (error: unknown) => {
    const mend = 'with systemd: systemctl restart softquota.socket softquota-trusted.socket';
    log.fatal(
      { err: error },
      `a socket is gone and cannot be made anew: the daemon has to be started (${mend})`,
    );
    status = exitCodes.internal;
    stopAsked.resolve('none');
  };
  const { env, pid } = process;
  const supervision = new Supervision({ env, pid, socket: config.server.socket, log });
  try {
    const started = await Daemon.start({ config, written: loaded, env, log, socketLost });
    daemon = started;
    supervision.begin();
    reload = () => {
      supervision.reloading();
      const again = loadAgain(whereIs(options), inForce);
      // A reader of the log that is stuck delays no answer, as one of standard error would.
      for (const note of again.notes) log.warn(note);
      if (again.ok) inForce = again;
      started.reload(again);
      supervision.reloaded();
    };
    if (isReloadAsked) reload();
    log.info({ signal: await stopAsked.promise }, 'softquota stops');
    supervision.stopping();
    setTimeout(() => {
      log.error('a part of the daemon did not stop in time and is abandoned');
      void leave(status);
    }, stopMs).unref();
    const hangingThreads = await started.stop();
    await supervision.close();
    if (hangingThreads > 0) {
      log.error(
        { hangingThreads },
        'a disk never answered; all data is stored, and the process kills itself',
      );
      await flush();
      process.kill(process.pid, 'SIGKILL');
    }
    return await leave(status);
  } catch (error) {
    if (error instanceof SoftquotaError) log.fatal({ code: error.code, err: error.cause }, error.message);
    else log.fatal({ err: error }, 'internal error (please report it)');
    return await leave(error instanceof SoftquotaError ? error.exitCode : exitCodes.internal);
  }
}

/** Resolves with the signal that asks this process to stop. */
function asksToStop(): PromiseWithResolvers<string> {
  const asked = Promise.withResolvers<string>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => asked.resolve(signal));
  return asked;
}

interface WorkerCommandOptions extends ConfigOption {
  readonly onError?: string;
  readonly lastFor?: string;
}

const addWorker = apiCommand<never, WorkerCommandOptions>('worker', {
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
  const git = await import('../git/index.ts');
  const { log, flush } = createLogger(config.log);
  process.stderr.on('error', () => {});
  const stopAsked = asksToStop();
  const { storages, scan, server, hooks, forge, reclaim } = config;
  const worker = new git.Worker({
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
  log.info(
    { signal: await Promise.race([stopAsked.promise, started.then(() => stopAsked.promise)]) },
    'the worker stops',
  );
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
  const { findClient, parsePolicies } = await import('../git/index.ts');
  const client = await findClient();
  if (client === null)
    throw new SoftquotaError('configuration', 'neither nc nor curl asks at a socket as the hooks need it');
  return { socket: server.socket, client, ...parsePolicies(options) };
}

export const serviceCommands = { serve: addServe, worker: addWorker };
