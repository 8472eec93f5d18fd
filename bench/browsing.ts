/** A page in Chromium: what its first load brings, and when what is asked for there can be seen. */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { signInLink } from '../src/wire/index.ts';
import type { CDPSession, Page } from '../test/e2e/browser.ts';
import { answerOf, msOf } from './questions.ts';

/** A link that signs in as this administrator, who is made. */
export async function signInLinkOf(admin: string, username: string): Promise<string> {
  await msOf(admin, '/api/v1/admin/users', { method: 'POST', body: { username, is_admin: true } });
  const path = `/api/v1/users/${username}/sign-in-link`;
  const { text } = await answerOf(admin, path, { method: 'POST', body: {} });
  return signInLink.parse(JSON.parse(text)).url;
}

export interface FirstLoad {
  /** Bytes that came over the wire, heads included. */
  readonly bytes: number;
  readonly requests: number;
  /** From the beginning of the navigation until the first row can be seen. */
  readonly firstRowMs: number;
}

/** All from the event on. */
const drawing = z.object({
  drawnMs: z.number(),
  /** The question that was answered with what is drawn; null where the page asked nobody. */
  askedMs: z.number().nullable(),
  answeredMs: z.number().nullable(),
  /** The rows are in the page, and not drawn yet. */
  thereMs: z.number(),
});

export type Drawing = z.infer<typeof drawing>;

const drawn = readFileSync(new URL('./drawn.js', import.meta.url), 'utf8');

export class Browsing {
  readonly page: Page;
  readonly #cdp: CDPSession;
  /** The bytes of each request that is not cancelled, by its id; null while it is under way. */
  readonly #requests = new Map<string, number | null>();

  private constructor(page: Page, cdp: CDPSession) {
    this.page = page;
    this.#cdp = cdp;
    cdp.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (!request.url.startsWith('data:')) this.#requests.set(requestId, null);
    });
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      if (this.#requests.has(requestId)) this.#requests.set(requestId, encodedDataLength);
    });
    cdp.on('Network.loadingFailed', ({ requestId }) => this.#requests.delete(requestId));
  }

  static async of(page: Page): Promise<Browsing> {
    const cdp = await page.createCDPSession();
    await cdp.send('Network.enable');
    await page.evaluateOnNewDocument(drawn);
    return new Browsing(page, cdp);
  }

  /**
   * Goes there as somebody who was never there, and resolves once all that was asked for before the first row
   * has come.
   */
  async firstLoad(url: string): Promise<FirstLoad> {
    await this.#open(url);
    const firstRowMs = z.number().parse(await this.page.evaluate('firstRow'));
    const ids = [...this.#requests.keys()];
    const isUnderWay = () => ids.some(id => this.#requests.get(id) === null);
    while (isUnderWay()) await this.page.evaluate('new Promise(requestAnimationFrame)');
    const sizes = ids.flatMap(id => this.#requests.get(id) ?? []);
    return { bytes: sizes.reduce((sum, bytes) => sum + bytes, 0), requests: sizes.length, firstRowMs };
  }

  /**
   * Goes there as somebody who was never there; gives how long it takes until nothing is still on its way.
   */
  async wholePageMs(url: string): Promise<number> {
    await this.#open(url);
    return z.number().parse(await this.page.evaluate('wholePage'));
  }

  async #open(url: string): Promise<void> {
    await this.page.goto('about:blank');
    await this.#cdp.send('Network.clearBrowserCache');
    await this.page.bringToFront();
    this.#requests.clear();
    await this.page.goto(url, { waitUntil: 'domcontentloaded' });
  }

  /**
   * Does something that is one event there, and resolves once these are the rows that can be seen, by their
   * names.
   */
  async untilDrawn(event: 'keydown' | 'click' | 'change', rows: readonly string[], act: () => Promise<void>) {
    // It is under way before the event, and ends after it.
    const watch = `void (globalThis.drawing = untilDrawn('${event}', ${JSON.stringify(rows.join(' '))}))`;
    await this.page.evaluate(watch);
    await act();
    return drawing.parse(await this.page.evaluate('drawing'));
  }

  /** Heap of the page after a garbage collection, in MB. */
  async heapMb(): Promise<number> {
    await this.#cdp.send('HeapProfiler.collectGarbage');
    const { JSHeapUsedSize = Number.NaN } = await this.page.metrics();
    return JSHeapUsedSize / 1e6;
  }
}
