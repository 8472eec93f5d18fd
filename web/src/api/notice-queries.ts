/** Notices: where they go, what waits or is dead, trials; and whether one wants mails oneself. */

import type { MailWish, NoticeList, NoticesSentAgain, NoticeTest } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { queryOf, refresh } from './client.ts';

const path = ['admin', 'quota', 'notices'] as const;

/** The page shows so many deliveries. */
export const mostDeliveries = 200;

export const noticesQuery = queryOf<NoticeList>(path, { query: { limit: mostDeliveries } });

/** Gives how many; null: all dead ones. */
export async function sendAgain(id: string | null): Promise<number> {
  const step = id === null ? [] : [id];
  const { count } = await ask<NoticesSentAgain>([...path, ...step, 'send-again'], { method: 'POST' });
  await refresh();
  return count;
}

/** `address`: for mail; empty: all administrators. */
export function sendTest(to: string, address: string): Promise<NoticeTest> {
  const body = { to, ...(address === '' ? {} : { address }) };
  return ask<NoticeTest>([...path, 'test'], { method: 'POST', body });
}

const own = ['user', 'quota', 'notices'] as const;

export const mailWishQuery = queryOf<MailWish>(own, { everyMs: null });

export async function wantMail(mail: boolean): Promise<void> {
  await ask(own, { method: 'PATCH', body: { mail } });
  await refresh();
}
