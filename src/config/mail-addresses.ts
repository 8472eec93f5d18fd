/** Kinds of values that name a mailbox. */

import { z } from 'zod';
import { textKind, type ValueType } from './kinds.ts';

const mailbox = /^[^\s@<>,;:"()[\]\\]{1,64}@[A-Za-z0-9.-]{1,253}$/;

/** `root@git.example` */
export const mailAddress: ValueType<string> = textKind(
  z
    .string()
    .trim()
    .refine(text => mailbox.test(text), 'not a mail address'),
  'Write a mail address such as root@git.example',
);

/** `root@git.example` or `softquota <root@git.example>` */
export const senderAddress: ValueType<string> = textKind(
  z
    .string()
    .trim()
    .refine(text => isSender(text), 'not a mail address'),
  'Write a mail address such as quota@git.example, or softquota <quota@git.example>',
);

function isSender(text: string): boolean {
  const [, name, address = ''] = /^([^<>\p{Cc}]{1,100})<([^<>]{1,320})>$/u.exec(text) ?? [];
  return mailbox.test(name === undefined ? text : address);
}
