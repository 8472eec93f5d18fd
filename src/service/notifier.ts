/**
 * Tells the service manager, by the program systemd-notify: Node has no datagram sockets of this kind.
 *
 * One telling at a time, in the order of what happened, each bounded. What waits behind one is replaced by
 * what is newer, so that a manager who does not listen never makes a queue. A telling that fails is logged,
 * once, and has no other consequence here.
 */

import { runProgram } from '../bounded/index.ts';
import type { Logger } from './logger.ts';

/** Assignments as sd_notify(3) knows them, such as `READY=1`. */
type Notice = readonly string[];

const tellMs = 2000;

export class Notifier {
  readonly #env: Readonly<Record<string, string>>;
  readonly #log: Logger;
  #next: Notice | null = null;
  #telling: Promise<void> | null = null;
  #hasFailed = false;

  /** `socket`: what the manager gave as NOTIFY_SOCKET. */
  constructor(socket: string, searchPath: string, log: Logger) {
    this.#env = { NOTIFY_SOCKET: socket, PATH: searchPath };
    this.#log = log;
  }

  tell(notice: Notice): void {
    this.#next = notice;
    this.#telling ??= this.#tellAll();
  }

  /** Unless something else is being told, which is as good a sign of life. */
  tellInPassing(notice: Notice): void {
    if (this.#telling === null) this.tell(notice);
  }

  /** Resolves once nothing is being told any more. */
  async close(): Promise<void> {
    await this.#telling;
  }

  async #tellAll(): Promise<void> {
    while (this.#next !== null) {
      const notice = this.#next;
      this.#next = null;
      await this.#run(notice);
    }
    this.#telling = null;
  }

  async #run(notice: Notice): Promise<void> {
    try {
      const ended = await runProgram('systemd-notify', notice, { env: this.#env, timeoutMs: tellMs });
      if (ended.status !== 0) throw new Error(`it ended with ${ended.status}: ${ended.complaint}`);
    } catch (error) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      this.#log.error(
        { err: error },
        'systemd-notify fails: the service manager is not told how softquota is',
      );
    }
  }
}
