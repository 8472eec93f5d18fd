/**
 * Adds up the record of events, from the first on, to rules, groups and owners.
 *
 * Each event has to go on from what those before it left; the sum is what the policy has to be.
 */

import type { Test } from 'tap';
import type { Server } from '../e2e/server.ts';

interface Told {
  readonly id: string;
  readonly what: string;
  readonly name: string;
  readonly before: { readonly name?: string } | null;
  readonly after: { readonly name?: string } | null;
}

const kinds = ['rule', 'group', 'owner'];

export class PolicyRecord {
  readonly #t: Test;
  readonly #server: Server;
  /** By kind and name. */
  readonly #contents = new Map<string, unknown>();
  #last: string | null = null;

  constructor(t: Test, server: Server) {
    this.#t = t;
    this.#server = server;
  }

  /** Adds up what was told since it was read last. */
  async read(): Promise<Readonly<Record<string, unknown>>> {
    for (const { what, name, before, after } of (await this.#news()).reverse()) {
      if (!kinds.includes(what)) continue;
      // An owner may have been renamed.
      const was = `${what} ${before?.name ?? name}`;
      this.#t.strictSame(this.#contents.get(was) ?? null, before, `an event goes on from what ${was} was`);
      this.#contents.delete(was);
      if (after !== null) this.#contents.set(`${what} ${after.name ?? name}`, after);
    }
    return Object.fromEntries([...this.#contents].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Newest first. */
  async #news(): Promise<Told[]> {
    const news: Told[] = [];
    let next: string | null = '/api/v1/admin/quota/events?kind=policy&limit=1000';
    while (next !== null) {
      const { status, text, headers } = await this.#server.ask('admin', next);
      if (status !== 200) throw new Error(`${next}: ${status} ${text}`);
      const page: Told[] = JSON.parse(text);
      const known = page.findIndex(({ id }) => id === this.#last);
      news.push(...(known === -1 ? page : page.slice(0, known)));
      const older = /<([^>]+)>; rel="next"/.exec(String(headers.link))?.[1];
      const address: URL | null = known === -1 && older !== undefined ? new URL(older) : null;
      next = address === null ? null : address.pathname + address.search;
    }
    this.#last = news[0]?.id ?? this.#last;
    return news;
  }
}
