/** Notifies a service manager by sd_notify(3), which uses NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. */

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { runProgram } from '../bounded/index.ts';
import { messageOf } from '../errors.ts';
import { jsonOf } from '../parsed.ts';
import { printable } from '../text.ts';
import type { Logger } from './logger.ts';

interface SupervisionOptions {
  /** The manager's variables are removed from it, so that no child takes them for its own. */
  readonly env: NodeJS.ProcessEnv;
  readonly pid: number;
  /** The gate's socket. */
  readonly socket: string;
  readonly log: Logger;
}

/** The manager gets a sign of life three times as often as it expects, so that one may be lost. */
const feedsPerTerm = 3;
/** Until the gate's first answer: its time limit, and the pause before the next question. */
const beforeReadyMs = { deadline: 1000, pause: 100 };
const longestStatus = 300;

/** Assignments as sd_notify(3) knows them, such as `READY=1`. */
type Notice = readonly string[];

const tellMs = 2000;

/**
 * Asks the gate, and notifies the service manager by the program systemd-notify: Node has no datagram sockets
 * of this kind.
 *
 * Sends one notification at a time, in order, each with a time limit. A newer one replaces one that waits, so
 * that no queue grows if the manager does not listen. Only the first failure is logged, and failures
 * have no other effect.
 */
export class Supervision {
  /** The environment of systemd-notify; null if there is no service manager. */
  readonly #manager: Readonly<Record<string, string>> | null;
  readonly #socket: string;
  /** Null if the manager has no watchdog. */
  readonly #feedMs: number | null;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isReady = false;
  #isStopping = false;
  #isSilent = false;
  /** The notification that waits while another is sent. */
  #next: Notice | null = null;
  /** The sending under way; null: none. */
  #telling: Promise<void> | null = null;
  #hasFailed = false;

  constructor({ env, pid, socket, log }: SupervisionOptions) {
    const { NOTIFY_SOCKET = '', WATCHDOG_USEC, WATCHDOG_PID, PATH = '/usr/bin:/bin' } = env;
    delete env.NOTIFY_SOCKET;
    delete env.WATCHDOG_USEC;
    delete env.WATCHDOG_PID;
    const isForUs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(pid);
    const termMs = isForUs ? Number(WATCHDOG_USEC ?? 0) / 1000 : 0;
    this.#manager = NOTIFY_SOCKET === '' ? null : { NOTIFY_SOCKET, PATH };
    this.#socket = socket;
    this.#feedMs = termMs > 0 ? termMs / feedsPerTerm : null;
    this.#log = log;
  }

  /** Has to be called when the sockets are open: begins to ask the gate, and to report its answers. */
  begin(): void {
    if (this.#manager !== null) void this.#look();
  }

  reloading(): void {
    if (this.#isReady && !this.#isStopping) this.#tell(['RELOADING=1', 'STATUS=Reads its configuration']);
  }

  reloaded(): void {
    if (this.#isReady && !this.#isStopping) this.#tell(['READY=1', 'STATUS=Answers']);
  }

  stopping(): void {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#tell(['STOPPING=1', 'STATUS=Finishes open requests, then stops']);
  }

  /** Resolves when the last notification is sent, within some seconds. */
  async close(): Promise<void> {
    await this.#telling;
  }

  /** Asks the gate and reports its answer: until the first answer, and then as the watchdog needs it. */
  async #look(): Promise<void> {
    const deadlineMs = (this.#isReady ? this.#feedMs : null) ?? beforeReadyMs.deadline;
    const answer = await askGate(this.#socket, deadlineMs);
    if (this.#isStopping) return;
    if ('failure' in answer) this.#miss(answer.failure);
    else this.#answered(answer.reasons);
    const pauseMs = this.#isReady ? this.#feedMs : beforeReadyMs.pause;
    if (pauseMs !== null) this.#timer = setTimeout(() => void this.#look(), pauseMs).unref();
  }

  #answered(reasons: readonly string[]): void {
    this.#isSilent = false;
    const told = reasons.length === 0 ? 'Answers' : `Answers, but ${reasons.map(printable).join('; ')}`;
    const notice = [`STATUS=${told.slice(0, longestStatus)}`, 'WATCHDOG=1'];
    // A notification that is being sent is as good a sign of life.
    if (!this.#isReady) this.#tell(['READY=1', ...notice]);
    else if (this.#telling === null) this.#tell(notice);
    this.#isReady = true;
  }

  /** Sends nothing to the manager, so that its time limit or watchdog acts. */
  #miss(why: string): void {
    if (this.#isSilent) return;
    this.#isSilent = true;
    this.#log.error(
      { socket: this.#socket, why },
      'the gate does not answer softquota itself; is [server] SOCKET the one that the service manager opened?',
    );
  }

  #tell(notice: Notice): void {
    if (this.#manager === null) return;
    this.#next = notice;
    this.#telling ??= this.#tellAll(this.#manager);
  }

  async #tellAll(env: Readonly<Record<string, string>>): Promise<void> {
    while (this.#next !== null) {
      const notice = this.#next;
      this.#next = null;
      try {
        const { status, complaint } = await runProgram('systemd-notify', notice, { env, timeoutMs: tellMs });
        if (status !== 0) throw new Error(`it ended with ${status}: ${complaint}`);
      } catch (error) {
        if (!this.#hasFailed)
          this.#log.error(
            { err: error },
            'systemd-notify fails: the service manager is not told how softquota is',
          );
        this.#hasFailed = true;
      }
    }
    this.#telling = null;
  }
}

type GateAnswer =
  /** The gate answers; the reasons why its answers are unreliable, or none. */
  | { readonly reasons: readonly string[] }
  /** There is no answer in time, or one that is not the gate's. */
  | { readonly failure: string };

const health = z.object({ reasons: z.array(z.string()) });

/** Asks the gate over a connection of its own, as a hook would ask. Never rejects. */
async function askGate(socketPath: string, deadlineMs: number): Promise<GateAnswer> {
  const signal = AbortSignal.timeout(deadlineMs);
  const asked = request({ socketPath, path: '/readyz', agent: false, signal });
  // `once` below rejects with the error.
  asked.on('error', () => {}).end();
  try {
    const [response]: IncomingMessage[] = await once(asked, 'response');
    if (response === undefined) throw new TypeError('a response comes with its event');
    const answer = health.safeParse(jsonOf(await text(response)));
    if (answer.success) return { reasons: answer.data.reasons };
    return { failure: `an answer with status ${response.statusCode} that is not the gate's` };
  } catch (error) {
    return { failure: messageOf(error) };
  }
}
