/**
 * `/admin/quota/notices`: deliveries that wait or failed, and trials. `/user/quota/notices`: mails to a user.
 */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { type Caller, profileOf, setMailWanted, wantsMail } from '../../identity/index.ts';
import { isoTime } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const path = '/admin/quota/notices';
const mostRows = 1000;

const listQuery = z.strictObject({
  state: z.enum(['pending', 'dead']).optional().meta({ description: 'Only these.' }),
  limit: z.coerce.number<string>().int().min(1).max(mostRows).default(100),
});

export function noticeRoutes(services: ApiServices): readonly Route[] {
  const { notices } = services;
  return [
    route('get', 'listNotices', path, {
      summary: 'Where notices go, and what waits or could not be delivered, the newest first',
      description:
        'What was delivered is not listed. Addresses of webhooks and secrets are never shown. A notice that waits is ' +
        'tried again by itself, with growing waits.',
      query: listQuery,
      answer: { status: 200, description: 'The places, and the first deliveries', schema: wire.noticeList },
      handle: ({ query: { state, limit } }) => ({
        places: notices.places(),
        deliveries: notices
          .deliveries()
          .filter(([, delivery]) => state === undefined || delivery.state === state)
          .slice(0, limit)
          .map(([id, { notice, to, state: is, attempts, nextAt, fault }]) => ({
            id,
            notice: notice.id,
            type: notice.type,
            at: isoTime(notice.at),
            to: to.via === 'webhook' ? to.name : to.address,
            via: to.via,
            owner: notice.owner,
            message: notice.message,
            state: is,
            attempts,
            next_at: is === 'dead' ? null : isoTime(nextAt),
            fault,
          })),
        forgotten: notices.forgotten,
      }),
    }),
    route('post', 'testNotices', `${path}/test`, {
      summary: 'Send a trial to a webhook or by mail, and say what became of it',
      description: 'It is sent at once and once, past what waits. A trial has the type `test`.',
      body: wire.noticeTestOrder,
      faults: [404],
      answer: {
        status: 200,
        description: 'Whether it was delivered, and else why not',
        schema: wire.noticeTest,
      },
      handle: async ({ body: { to, address } }) => {
        const fault = await notices.test(to, address ?? null);
        return { to, delivered: fault === null, fault };
      },
    }),
    route('post', 'sendAllNoticesAgain', `${path}/send-again`, {
      summary: 'Send all dead notices again',
      faults: [503],
      answer: { status: 200, description: 'How many', schema: wire.noticesSentAgain },
      handle: async () => ({ count: await notices.sendAgain(null) }),
    }),
    route('post', 'sendNoticeAgain', `${path}/{id}/send-again`, {
      summary: 'Send a dead notice again',
      faults: [404, 409, 503],
      answer: { status: 200, description: 'One', schema: wire.noticesSentAgain },
      handle: async named => ({ count: await notices.sendAgain(named.params.id) }),
    }),
    ...ownRoutes(services),
  ];
}

function ownRoutes({ documents, notices }: ApiServices): readonly Route[] {
  const own = '/user/quota/notices';
  const shown = (id: number) => ({
    mail: wantsMail(documents.snapshot, id),
    address: profileOf(documents.snapshot, id).email,
    sends: notices.places().some(({ via }) => via === 'mail'),
  });
  return [
    route('get', 'getMailWish', own, {
      tag: 'own',
      summary: 'Whether you get mails about your own quota',
      access: { area: 'user', to: 'read' },
      faults: [404],
      answer: { status: 200, description: 'The wish, and the address', schema: wire.mailWish },
      handle: (_input, { caller }) => shown(ownIdOf(caller)),
    }),
    route('patch', 'setMailWish', own, {
      tag: 'own',
      summary: 'Get mails about your own quota, or no more of them',
      access: { area: 'user', to: 'write' },
      body: wire.mailWishEdit,
      faults: [404],
      answer: { status: 200, description: 'The wish, and the address', schema: wire.mailWish },
      handle: async ({ body: { mail } }, { caller, change }) => {
        const id = ownIdOf(caller);
        await change(({ changes }) => setMailWanted(changes, id, mail, Date.now()));
        return shown(id);
      },
    }),
  ];
}

function ownIdOf({ ownerId }: Caller): number {
  if (ownerId !== null) return ownerId;
  throw new SoftquotaError('not_found', "this host's administrator is no user, and gets no mails");
}
