/** Keeps the file as true as the ledger is. */

import { messageOf } from '../errors.ts';
import { type Ledger, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { Away } from '../store/index.ts';
import { type FullDisks, headerLine, isRefused, type RefusalLedger, refusedLines } from './refusal-lines.ts';
import { doubtAbout, publishFile, rightsOf } from './refused-file.ts';

export interface RefusalsOptions {
  readonly ledger: RefusalLedger & Pick<Ledger, 'watch'>;
  readonly disks: FullDisks;
  /** `[server] SOCKET`, also where the service manager made it. */
  readonly socket: string;
  /** The mode that the socket will have; its own counts once it is there. */
  readonly socketMode: number;
  /** Owners' names compare without the case of ASCII letters. */
  readonly foldCase: boolean;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Between two writings, at least; a second unless given. */
  readonly pauseMs?: number;
  /** Before it is tried again what could not be done; ten seconds unless given. */
  readonly retryMs?: number;
}

/** Milliseconds between two writings, at most. The least `lastFor` of hooks is an hour. */
const refreshMs = 30 * 60_000;

/** Path of the list of refusals that is published for a socket. */
export function refusedFile(socket: string): string {
  return `${socket.replace(/\.sock$/, '')}.refused`;
}

export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #file: string;
  readonly #loop: ReconcileLoop;
  /** The keys of owners who are refused something. */
  readonly #refused = new Set<string>();
  /** The file says something else than `refused` does. */
  #outdated = true;
  #trouble: Away | null = null;
  #refresh: NodeJS.Timeout | null = null;

  constructor(options: RefusalsOptions) {
    const { ledger, pauseMs, retryMs } = options;
    this.#options = options;
    this.#file = refusedFile(options.socket);
    this.#loop = new ReconcileLoop({
      ledger,
      pauseMs,
      retryMs,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      finish: everybody => this.#finish(everybody),
      onFailed: error => this.#failed(messageOf(error)),
    });
  }

  /** From now on the file is kept. Only the daemon that serves the socket may start this. */
  start(): void {
    this.#loop.start();
    this.#refresh ??= setInterval(() => this.#loop.reconcileAll(), refreshMs).unref();
  }

  /** Disks have become full or have enough space again, or the file is gone. */
  lookAtAll(): void {
    this.#loop.reconcileAll();
  }

  /** Null while the file can be written and relied on. */
  get trouble(): Away | null {
    return this.#trouble;
  }

  /** Resolves once the file says all that is so by now, or could not be written. */
  published(): Promise<void> {
    return this.#loop.settled();
  }

  /** Writes what is not written yet, and leaves the file to the hooks. */
  close(): Promise<void> {
    if (this.#refresh !== null) clearInterval(this.#refresh);
    return this.#loop.close();
  }

  /** Brings `refused` up to date. */
  #reconcile(ownerKey: string): void {
    const was = this.#refused.has(ownerKey);
    const { ledger, disks } = this.#options;
    const is = isRefused(ledger, disks, ownerKey);
    if (is) this.#refused.add(ownerKey);
    else this.#refused.delete(ownerKey);
    this.#outdated ||= was || is;
  }

  async #finish(everybody: boolean): Promise<void> {
    // Written in any case when everybody was looked at, so that a reload tries again what was in doubt.
    if (this.#outdated || everybody) await this.#write();
  }

  async #write(): Promise<void> {
    const { socket, socketMode } = this.#options;
    this.#outdated = false;
    try {
      await publishFile(this.#file, this.#lines(), await rightsOf(socket, socketMode));
    } catch (error) {
      this.#outdated = true;
      throw error;
    }
    const doubt = await doubtAbout(this.#file);
    if (doubt !== null) this.#failed(doubt);
    else this.#succeeded();
  }

  /** Yields each line from the state at that moment: later changes are pending again. */
  *#lines(): Generator<string> {
    const { ledger, disks, foldCase } = this.#options;
    yield headerLine(Date.now(), foldCase);
    for (const ownerKey of this.#refused) yield* refusedLines(ledger, disks, ownerKey);
  }

  #failed(reason: string): void {
    if (this.#trouble?.reason === reason) return;
    this.#trouble = { since: this.#trouble?.since ?? Date.now(), reason };
    const { log } = this.#options;
    log.error({ file: this.#file, reason }, 'the list of refused owners cannot be written');
  }

  #succeeded(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#options.log.info({ file: this.#file }, 'the list of refused owners is written again');
  }
}
