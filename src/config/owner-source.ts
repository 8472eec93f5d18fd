/** The kind of `[storage.*] OWNER`: how a unit's owner is told. */

import { z } from 'zod';
import type { OwnerSource } from '../layout/index.ts';
import { nameFault } from '../quota/index.ts';
import { type ValueType, valueTypeOf } from './kinds.ts';

/** `section.key` or `section.any thing.key`, as git-config(1) has it. */
const gitKey = /^[A-Za-z0-9-]+\.(?:[^\p{Cc}]+\.)?[A-Za-z][A-Za-z0-9-]*$/u;

export const ownerSource: ValueType<OwnerSource> = valueTypeOf(
  z.string().transform((text, context) => {
    const written = text.trim();
    const by = /^\S*/u.exec(written)?.[0] ?? '';
    const source = sourceOf(by.toLowerCase(), written.slice(by.length).trimStart());
    if (typeof source !== 'string') return source;
    context.addIssue(source);
    return z.NEVER;
  }),
  'Write path, file NAME (a file in the unit), git-config KEY, fixed NAME or forge',
  source => {
    switch (source.by) {
      case 'path':
      case 'forge':
        return source.by;
      case 'git-config':
        return `git-config ${source.key}`;
      default:
        return `${source.by} ${source.name}`;
    }
  },
);

/** The source, or what is wrong with it. */
function sourceOf(by: string, argument: string): OwnerSource | string {
  switch (by) {
    case 'path':
    case 'forge':
      return argument === '' ? { by } : `text after ${by}`;
    case 'file':
      return isFileName(argument) ? { by, name: argument } : 'not the name of a file in the unit';
    case 'git-config':
      return gitKey.test(argument) ? { by, key: argument } : 'not a key of git-config';
    case 'fixed': {
      const fault = nameFault(argument);
      return fault === null ? { by, name: argument } : `not an owner's name: it ${fault}`;
    }
    default:
      return 'not a known way to find the owner';
  }
}

function isFileName(text: string): boolean {
  return /^[^/\0]+$/.test(text) && text !== '.' && text !== '..';
}
