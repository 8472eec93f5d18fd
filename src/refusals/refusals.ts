/** Keeps the file as true as the ledger is. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Away, Ledger } from '../ledger/index.ts';
import { doubtAbout, rightsOf, writeWhole } from './file.ts';
import { headerLine, isRefused, refusedLines } from './lines.ts';

export interface RefusalsOptions {
  readonly ledger: Ledger;
  /** `[server] SOCKET`, also where the service manager made it. */
  readonly socket: string;
  /** The mode that the socket will have; its own counts once it is there. */
  readonly socketMode: number;
  /** Owners' names compare without the case of ASCII letters. */
  readonly foldCase: boolean;
  readonly log: { error(fields: object, message: string): void; info(fields: object, message: string): void };
  /** Between two writings, at least; a second unless given. */
  readonly pauseMs?: number;
  /** Before it is tried again what could not be done; ten seconds unless given. */
  readonly retryMs?: number;
}

/** A long file takes long to write; most of the time goes to other things. */
const restFactor = 4;
/** Owners are looked at for so long at a time. */
const sliceMs = 5;

/** Where it is published what is refused at this socket. */
export function refusedFile(socket: string): string {
  return `${socket.replace(/\.sock$/, '')}.refused`;
}

export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #file: string;
  /** Owners whose decisions may have changed since they were looked at. */
  readonly #pending = new Set<string>();
  /** The keys of owners who are refused something. */
  readonly #refused = new Set<string>();
  #everybodyPending = false;
  /** The file says something else than `refused` does. */
  #outdated = true;
  #unwatch: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  /** On the monotonic clock. */
  #restUntil = 0;
  #trouble: Away | null = null;

  constructor(options: RefusalsOptions) {
    this.#options = options;
    this.#file = refusedFile(options.socket);
  }

  /** From now on the file is kept. Only the daemon that serves the socket may start this. */
  start(): void {
    this.#unwatch ??= this.#options.ledger.watch(ownerKey => this.#note(ownerKey));
    this.#note(null);
  }

  /** Null while the file can be written and relied on. */
  get trouble(): Away | null {
    return this.#trouble;
  }

  /** Resolves once the file says all that is so by now, or could not be written. */
  async published(): Promise<void> {
    if (this.#round !== null) await this.#round;
    if (this.#isDue && this.#unwatch !== null) await this.#begin();
  }

  /** Writes what is not written yet, and leaves the file to the hooks. */
  async close(): Promise<void> {
    await this.published();
    this.#unwatch?.();
    this.#unwatch = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  get #isDue(): boolean {
    return this.#everybodyPending || this.#pending.size > 0 || this.#outdated;
  }

  #note(ownerKey: string | null): void {
    if (ownerKey === null) {
      this.#everybodyPending = true;
      // Written in any case, so that a reload tries anew what was in doubt.
      this.#outdated = true;
    } else {
      this.#pending.add(ownerKey);
    }
    this.#wake();
  }

  #wake(): void {
    if (this.#timer !== null || this.#round !== null || this.#unwatch === null || !this.#isDue) return;
    const waitMs = Math.max(this.#restUntil - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#begin(), waitMs).unref();
  }

  #begin(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#round ??= this.#publish().finally(() => {
      this.#round = null;
      this.#wake();
    });
    return this.#round;
  }

  async #publish(): Promise<void> {
    const { pauseMs = 1000, retryMs = 10_000 } = this.#options;
    const began = performance.now();
    let restMs = pauseMs;
    try {
      await this.#look();
      if (this.#outdated) await this.#write();
    } catch (error) {
      restMs = retryMs;
      this.#failed(error instanceof Error ? error.message : String(error));
    }
    const ended = performance.now();
    this.#restUntil = ended + Math.max(restMs, restFactor * (ended - began));
  }

  /** Brings `refused` up to date, a slice at a time. */
  async #look(): Promise<void> {
    const { ledger } = this.#options;
    if (this.#everybodyPending) {
      this.#everybodyPending = false;
      for (const { key } of ledger.ownerRecords()) this.#pending.add(key);
    }
    let sliceEnd = performance.now() + sliceMs;
    for (const ownerKey of this.#pending) {
      this.#pending.delete(ownerKey);
      const was = this.#refused.has(ownerKey);
      const is = isRefused(ledger, ownerKey);
      if (is) this.#refused.add(ownerKey);
      else this.#refused.delete(ownerKey);
      this.#outdated ||= was || is;
      if (performance.now() < sliceEnd) continue;
      await nextTurn();
      sliceEnd = performance.now() + sliceMs;
    }
  }

  async #write(): Promise<void> {
    const { socket, socketMode } = this.#options;
    this.#outdated = false;
    try {
      await writeWhole(this.#file, this.#lines(), await rightsOf(socket, socketMode));
    } catch (error) {
      this.#outdated = true;
      throw error;
    }
    const doubt = await doubtAbout(this.#file);
    if (doubt !== null) this.#failed(doubt);
    else this.#succeeded();
  }

  /** As it is when each is written: what changes meanwhile is pending again. */
  *#lines(): Generator<string> {
    const { ledger, foldCase } = this.#options;
    yield headerLine(Date.now(), foldCase);
    for (const ownerKey of this.#refused) yield* refusedLines(ledger, ownerKey);
  }

  #failed(reason: string): void {
    if (this.#trouble?.reason === reason) return;
    this.#trouble = { since: this.#trouble?.since ?? Date.now(), reason };
    const { log } = this.#options;
    log.error({ file: this.#file, reason }, 'what is refused cannot be published');
  }

  #succeeded(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#options.log.info({ file: this.#file }, 'what is refused is published again');
  }
}
