/** `softquota serve`: the daemon. */

import { Option } from 'commander';
import { type LoadedConfig, loadAgain, printConfig } from '../config/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { keepHeapSmall } from '../heap.ts';
import { apiCommand } from './api-command.ts';
import { type ConfigOption, loadedFrom, tellNotes, whereIs } from './settings.ts';
import { print } from './streams.ts';

/** Time for an orderly stop after SIGTERM; then the process ends anyway. */
const stopMs = 4500;

export const addServe = apiCommand<never, { checkConfig?: boolean; printConfig?: boolean }>('serve', {
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
  const stopAsked = Promise.withResolvers<string>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopAsked.resolve(signal));
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
    process.on('SIGHUP', () => {
      supervision.reloading();
      const again = loadAgain(whereIs(options), inForce);
      tellNotes(again);
      if (again.ok) inForce = again;
      started.reload(again);
      supervision.reloaded();
    });
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
