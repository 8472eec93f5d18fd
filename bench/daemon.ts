/** The daemon as it is served: a process of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ScanReport, scanReport } from '../src/wire/index.ts';
import { environment, timed } from './processes.ts';

/** Program that a user runs. */
export const softquota = fileURLToPath(new URL('../scripts/built.js', import.meta.url));

export interface Server {
  readonly pid: number;
  readonly socket: string;
  /** From its start to its first answer. */
  readonly answeredMs: number;
  stop(): Promise<void>;
}

const readyWithinMs = 120_000;

/**
 * Environment that systemd/softquota.service and the image give the daemon; other programs beside it get the
 * same.
 */
const ofService = { MALLOC_ARENA_MAX: '2' } as const;

/** Resolves once the daemon answers; its first answer is that to `question`. */
export function startDaemon(config: string, question = '/healthz'): Promise<Server> {
  const directory = dirname(config);
  return startServer([softquota, 'serve', '--config', config], join(directory, 'data/gate.sock'), question);
}

/** Starts a program of Node's that serves HTTP at a socket. */
export function startServer(args: readonly string[], socket: string, question: string): Promise<Server> {
  return startProgram(process.execPath, args, socket, question);
}

/** Starts the least server on `node:http`, with one ready-made answer. */
export function startPlain(directory: string, answer = ''): Promise<Server> {
  const socket = join(directory, 'plain.sock');
  const program = fileURLToPath(new URL('./plain-server.ts', import.meta.url));
  return startServer([program, socket, answer], socket, '/');
}

/** Starts a program that serves HTTP at a socket. */
export async function startProgram(
  program: string,
  args: readonly string[],
  socket: string,
  question: string,
): Promise<Server> {
  const logFile = `${socket}.log`.replace('/data/', '/');
  const log = openSync(logFile, 'a');
  const begun = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', log, log], env: { ...environment, ...ofService } });
  closeSync(log);
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  const stop = async () => {
    if (isRunning(child)) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    process.off('exit', kill);
  };
  while ((await statusOf(socket, question)) !== 200) {
    if (!isRunning(child) || child.pid === undefined || performance.now() - begun > readyWithinMs) {
      await stop();
      throw new Error(`${args.join(' ')} does not answer:\n${readFileSync(logFile, 'utf8')}`);
    }
    await delay(1);
  }
  const answeredMs = performance.now() - begun;
  return { pid: child.pid ?? 0, socket, answeredMs, stop };
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** A full walk from now on, as a user asks for it; rejects unless it measured so many units. */
export function scan(config: string, units: number): Promise<ScanReport> {
  return scanned(config, units, ['--verify']);
}

/** A sweep from now on, as the schedule begins one; rejects unless it measured so many units. */
export function sweep(config: string, units: number): Promise<ScanReport> {
  return scanned(config, units, []);
}

async function scanned(config: string, units: number, how: readonly string[]): Promise<ScanReport> {
  const args = [softquota, 'scan', ...how, '--json', '--config', config];
  const { stdout } = await timed(process.execPath, args);
  const report = scanReport.parse(JSON.parse(stdout));
  if (report.progress.units !== units) {
    throw new Error(`the walk found ${report.progress.units} units where ${units} were made`);
  }
  return report;
}

/** The status of an answer; null where nobody answers. */
function statusOf(socketPath: string, path: string): Promise<number | null> {
  return new Promise(resolve => {
    const asked = request({ socketPath, path, agent: false }, response => {
      response.resume();
      resolve(response.statusCode ?? null);
    });
    asked.on('error', () => resolve(null));
    asked.end();
  });
}
