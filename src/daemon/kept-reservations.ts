/**
 * Reservations survive a restart: whoever took one goes on with the upload meanwhile.
 *
 * They are in a file of DATA_PATH, a line each, written at most once a second and when the daemon ends. A
 * daemon that is killed loses those of the last second. Where the file cannot be written or read, the log
 * says so, and the daemon answers all the same.
 */

import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { messageOf, systemCode } from '../errors.ts';
import { publishFile } from '../gate/index.ts';
import type { KeptReservation, Reservations } from '../ledger/index.ts';
import type { Log } from '../log.ts';

const whole = z.number().int().min(0);
const line = z.strictObject({
  id: z.string().min(1).max(1000),
  ownerKey: z.string(),
  mask: whole,
  bytes: whole,
  end: z.enum(['reported', 'landed', 'grown']),
  unit: z.string().nullable(),
  hasLanded: z.boolean(),
  endsAt: whole,
});

export interface KeptReservationsOptions {
  readonly reservations: Pick<Reservations, 'kept' | 'restoreKept' | 'version'>;
  readonly dataPath: string;
  readonly log: Pick<Log, 'error'>;
  /** Between two writings; a second unless given. */
  readonly pauseMs?: number;
}

export class KeptReservations {
  readonly #options: KeptReservationsOptions;
  readonly #file: string;
  readonly #timer: NodeJS.Timeout;
  /** The version that the file has. */
  #written: number;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;

  /** Takes what the file holds. */
  constructor(options: KeptReservationsOptions) {
    this.#options = options;
    this.#file = join(options.dataPath, 'reservations');
    this.#read();
    this.#written = options.reservations.version;
    this.#timer = setInterval(() => void this.save(), options.pauseMs ?? 1000).unref();
  }

  /** Resolves once the file has what is reserved by now, or could not be written. */
  save(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.save();
  }

  #read(): void {
    try {
      const lines = readFileSync(this.#file, 'utf8').split('\n');
      this.#options.reservations.restoreKept(
        lines.filter(each => each !== '').map(each => line.parse(JSON.parse(each))),
      );
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') this.#failed('cannot be read, so they are forgotten', error);
    }
  }

  async #write(): Promise<void> {
    const { reservations } = this.#options;
    const { version } = reservations;
    if (version === this.#written) return;
    const kept = reservations.kept();
    try {
      if (kept.length === 0) await rm(this.#file, { force: true });
      else await publishFile(this.#file, linesOf(kept), { mode: 0o600, gid: null });
      this.#written = version;
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#failed('cannot be written, so a restart forgets them', error);
      this.#isFailing = true;
    }
  }

  #failed(what: string, error: unknown): void {
    const about = { file: this.#file, reason: messageOf(error) };
    this.#options.log.error(about, `the reservations ${what}`);
  }
}

function* linesOf(kept: readonly KeptReservation[]): Generator<string> {
  for (const each of kept) yield `${JSON.stringify(each)}\n`;
}
