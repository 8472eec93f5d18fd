/**
 * Sends long lists as lines of CSV, as fast as they are taken.
 *
 * No more of a list is in memory than is on its way. There are only so many at a time, and an asker who takes
 * nothing for a while is left.
 */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';

export interface DownloadLimits {
  readonly most: number;
  /** Milliseconds without a byte taken after which the download is given up. */
  readonly quietMs: number;
}

const usualLimits: DownloadLimits = { most: 8, quietMs: 30_000 };

export class Downloads {
  readonly #limits: DownloadLimits;
  #count = 0;

  constructor(limits: DownloadLimits = usualLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** Resolves when all is sent, or the asker left. Throws `busy`, before anything is sent. */
  async send(request: Request, response: Response, lines: Iterable<string> | AsyncIterable<string>) {
    const { most, quietMs } = this.#limits;
    if (this.#count >= most) {
      throw new SoftquotaError('busy', `${most} downloads are under way, which is the limit; try again soon`);
    }
    response.status(200).set('Content-Type', 'text/csv; charset=utf-8');
    if (request.method === 'HEAD') return void response.end();
    this.#count += 1;
    response.setTimeout(quietMs, () => response.destroy());
    try {
      await pipeline(Readable.from(lines), response);
    } catch (error) {
      // Bytes that were sent cannot be taken back: a broken connection says that it is not all.
      if (!response.destroyed) throw error;
    } finally {
      this.#count -= 1;
    }
  }
}

type Cell = string | number | boolean | null;

export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  const shown = printable(cell);
  // Spreadsheets calculate what begins so, quoted or not; an apostrophe before it makes it text.
  const text = /^\s*[=+\-@|%＝＋－＠]/.test(shown) ? `'${shown}` : shown;
  return /[",\s;']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
