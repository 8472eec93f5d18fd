/** The daemon as a process of its own, and its log as events. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from './run.ts';

/** Program as built, since it starts in half of the time that src/ takes. */
export const launcher = fileURLToPath(new URL('../../scripts/built.js', import.meta.url));

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface DaemonOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Command that runs it, the daemon's own command line following. */
  readonly through?: readonly string[];
}

/** For a configuration that is left as it was written: others may have its port. */
export const anyPort = { SOFTQUOTA__SERVER__HTTP_PORT: '0' } as const;

export class Daemon {
  readonly child: ChildProcess;
  readonly ended: Promise<Ending>;
  /** All that it wrote on standard error. */
  readonly written: string[] = [];
  readonly lines: LogLine[] = [];
  #waiting: {
    matches: (line: LogLine) => boolean;
    resolve: (line: LogLine) => void;
    reject: (e: Error) => void;
  }[] = [];

  constructor(config: string, { env = {}, through = [] }: DaemonOptions = {}) {
    const [command = process.execPath, ...args] = [
      ...through,
      process.execPath,
      launcher,
      'serve',
      '--config',
      config,
    ];
    this.child = spawn(command, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...plainEnvironment, ...env },
    });
    const { stderr } = this.child;
    if (stderr === null) throw new Error('a pipe was asked for');
    createInterface({ input: stderr }).on('line', text => this.#take(text));
    // Not "exit": what it wrote last is to be read before.
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      for (const { reject } of this.#waiting.splice(0))
        reject(new Error(`the daemon has ended:\n${this.log}`));
      return { code, signal };
    });
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  get log(): string {
    return this.written.join('\n');
  }

  /**
   * The first line like this, now or later; rejects where it ends without. Give `from` a length of `lines` to
   * look behind that only.
   */
  logged(matches: RegExp | ((line: LogLine) => boolean), from = 0): Promise<LogLine> {
    const isIt = matches instanceof RegExp ? (line: LogLine) => matches.test(line.msg) : matches;
    const found = this.lines.slice(from).find(isIt);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve, reject) => this.#waiting.push({ matches: isIt, resolve, reject }));
  }

  /** Ends it, however far it had come. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ending> {
    if (this.isRunning) {
      this.child.kill('SIGCONT');
      this.child.kill(signal);
    }
    return this.ended;
  }

  #take(text: string): void {
    this.written.push(text);
    let line: LogLine;
    try {
      line = JSON.parse(text);
    } catch {
      return; // words of Node's own, for the one who reads the log of a failed test
    }
    this.lines.push(line);
    const found = this.#waiting.filter(({ matches }) => matches(line));
    this.#waiting = this.#waiting.filter(each => !found.includes(each));
    for (const { resolve } of found) resolve(line);
  }
}
