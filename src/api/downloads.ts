/**
 * Streams long lists as CSV at the speed of the client.
 *
 * Only the lines that are on their way are in memory. The number of simultaneous downloads is limited. The
 * server disconnects a client that reads nothing for a while.
 */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text.ts';

export class Downloads {
  readonly #most: number;
  #count = 0;

  constructor(most = 8) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Resolves when everything is sent or the client has disconnected. Throws `busy` before it sends anything.
   */
  async send(request: Request, response: Response, lines: Iterable<string> | AsyncIterable<string>) {
    if (this.#count >= this.#most) {
      const message = `${this.#most} downloads are under way, which is the limit; try again soon`;
      throw new SoftquotaError('busy', message);
    }
    response.status(200).set('Content-Type', 'text/csv; charset=utf-8');
    if (request.method === 'HEAD') return void response.end();
    this.#count += 1;
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
