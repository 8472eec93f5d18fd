/** Notices: their receivers, and the deliveries that wait or have failed. */

import { z } from 'zod';
import { emailPattern, isEmail, longestEmail } from '../text.ts';
import { component, names, strictComponent, text } from './bounds.ts';

const moment = z.string().nullable();

const noticePlace = component('NoticePlace', 'Where notices go.', {
  name: z.string().meta({ description: 'The name of a webhook, or `mail`.', example: 'chat' }),
  via: z.enum(['webhook', 'mail']).meta({ description: 'How it is sent.' }),
  events: names.meta({
    description: 'The notices that go there: `threshold`, `refusal`, `request` …; none of them: all.',
    example: ['threshold', 'fault'],
  }),
  pending: z.number().int().meta({ description: 'What waits to be delivered.' }),
  dead: z.number().int().meta({ description: 'What could not be delivered, and can be sent again.' }),
  sent: z.number().int().meta({ description: 'Delivered by this host since its daemon started.' }),
  failed: z.number().int().meta({ description: 'Attempts that failed since then.' }),
  last_sent_at: moment.meta({ description: 'ISO 8601; null: not since the daemon started.' }),
  last_fault: z.string().nullable().meta({
    description:
      'Why the newest notice that waits after an attempt, or is dead, was not taken; null: none is.',
    example: 'chat.example answered 500',
  }),
});

const noticeDelivery = component('NoticeDelivery', 'A notice on its way to one place.', {
  id: z.string().meta({
    description: 'The id of the delivery.',
    example: 't-000000007-5f1c0a9be2d4-0c2f6b1e',
  }),
  notice: z.string().meta({
    description: 'The id of the notice: `webhook-id` of every attempt.',
    example: 't-000000007-5f1c0a9be2d4',
  }),
  type: z.string().meta({ description: 'The kind of notice, such as `threshold`.', example: 'threshold' }),
  at: z.string().meta({ description: 'When it happened. ISO 8601.' }),
  to: z.string().meta({ description: 'The name of a webhook, or a mail address.', example: 'chat' }),
  via: z.enum(['webhook', 'mail']).meta({ description: 'How it is sent.' }),
  owner: z.string().nullable().meta({ description: 'The owner that it is about.' }),
  message: z.string().meta({ example: 'The limit is reached: alice uses 12.4 GB of 10 GB (124 %).' }),
  state: z
    .enum(['pending', 'dead'])
    .meta({ description: '`pending`: it is tried again by itself; `dead`: it was given up.' }),
  attempts: z.number().int().meta({ description: 'How often it was tried.' }),
  next_at: moment.meta({ description: 'The next attempt; null: none by itself.' }),
  fault: z.string().nullable().meta({
    description: 'Why the last attempt failed; null: there was none.',
    example: 'chat.example answered 500',
  }),
});

export const noticeList = component('NoticeList', {
  places: z.array(noticePlace).readonly().meta({ description: 'Where notices go.' }),
  deliveries: z
    .array(noticeDelivery)
    .readonly()
    .meta({ description: 'What waits or could not be delivered, the newest first.' }),
  forgotten: z.number().int().meta({
    description: 'Dead ones that were forgotten for want of room, since the daemon started.',
  }),
});

export const noticeTestOrder = strictComponent('NoticeTestOrder', {
  to: text.min(1).meta({ description: 'The name of a webhook, or `mail`.', example: 'chat' }),
  address: z
    .string()
    .max(longestEmail)
    .refine(isEmail, { error: 'expected an address such as alice@git.example' })
    .optional()
    .meta({
      description: 'For `mail`: where the mail goes; left out: to all administrators.',
      pattern: `^${emailPattern}$`,
      example: 'root@git.example',
    }),
});

export const noticeTest = component('NoticeTest', {
  to: z.string().meta({ description: 'The name of the webhook, or `mail`.' }),
  delivered: z.boolean().meta({ description: 'True if the receiver took it.' }),
  fault: z.string().nullable().meta({ description: 'Why not; null: it was.' }),
});

export const noticesSentAgain = z
  .object({ count: z.number().int().meta({ description: 'How many dead ones wait again.' }) })
  .meta({ id: 'NoticesSentAgain' });

export const mailWish = component('MailWish', {
  mail: z.boolean().meta({ description: 'Whether mails about the own quota are wanted.' }),
  address: z.string().meta({ description: 'Where they go; empty: no address is known.' }),
  sends: z.boolean().meta({ description: 'False: this server sends no mails to anybody.' }),
});

export const mailWishEdit = z
  .strictObject({ mail: z.boolean().meta({ description: 'Whether mails are wanted.' }) })
  .meta({ id: 'MailWishEdit' });

export type NoticeList = z.infer<typeof noticeList>;
export type NoticePlace = z.infer<typeof noticePlace>;
export type NoticeTest = z.infer<typeof noticeTest>;
export type NoticesSentAgain = z.infer<typeof noticesSentAgain>;
export type MailWish = z.infer<typeof mailWish>;
