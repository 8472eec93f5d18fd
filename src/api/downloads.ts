/**
 * Streams long lists as CSV at the speed of the client.
 *
 * Only the lines that are on their way are in memory. The number of simultaneous downloads is limited, and a
 * client that reads nothing for a while is disconnected.
 */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text.ts';

export interface DownloadLimits {
  readonly most: number;
  /** Milliseconds after which a download is ended if the client reads nothing. */
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

  /**
   * Resolves when everything is sent or the client has disconnected. Throws `busy` before it sends anything.
   */
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
      // Nothing can be corrected after the first bytes: the broken connection shows that the list is
      // incomplete.
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
  // Spreadsheets evaluate a cell that begins like this, even if it is quoted. A leading apostrophe makes it
  // text.
  const text = /^\s*[=+\-@|%＝＋－＠]/.test(shown) ? `'${shown}` : shown;
  return /[",\s;']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
