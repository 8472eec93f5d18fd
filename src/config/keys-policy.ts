/** The keys of what is allowed, and of what people are told. */

import { z } from 'zod';
import { keysOfSection } from './key.ts';
import * as kind from './kinds.ts';

const groupName = kind.textKind(z.string(), 'Write a name');

const quotaKey = keysOfSection('quota');

export const quota = {
  enabled: quotaKey('ENABLED', kind.flag, {
    text: 'false',
    doc: 'Whether anything is ever refused. While false, everything is measured and everything allowed.',
    reloads: true,
    of: config => config.quota.enabled,
  }),
  defaultGroups: quotaKey(
    'DEFAULT_GROUPS',
    kind.listOf(groupName, 'Write names of groups with commas between'),
    {
      words: 'none',
      doc: 'The groups that apply to owners with no group of their own, and where none of their rules covers the data. Names of groups that do not exist are passed over.',
      example: 'everybody',
      reloads: true,
      of: config => config.quota.defaultGroups,
    },
  ),
  refuseWhen: quotaKey('REFUSE_WHEN', kind.oneOf(['exceeded', 'reached']), {
    text: 'exceeded',
    doc: 'When a limit refuses: `exceeded` when more is used than the limit, `reached` when as much is. A limit of 0 always refuses.',
    reloads: true,
    of: config => config.quota.refuseWhen,
  }),
  uncovered: quotaKey('UNCOVERED', kind.oneOf(['default', 'deny']), {
    text: 'default',
    doc: "What happens to data that no rule of an owner's groups covers: `default` asks the default groups, then `[quota.default]`; `deny` refuses.",
    reloads: true,
    of: config => config.quota.uncovered,
  }),
  mode: quotaKey('MODE', kind.oneOf(['enforce', 'report']), {
    text: 'enforce',
    doc: '`enforce` refuses; `report` decides and records in the same way, but lets everything through.',
    reloads: true,
    of: config => config.quota.mode,
  }),
  warnAt: quotaKey(
    'WARN_AT',
    kind.listOf(
      kind.wholeNumber(1, 100),
      'Write whole percents from 1 to 100 with commas between, such as 80, 90',
    ),
    {
      text: '80, 90',
      doc: 'Percents of a limit from which on pushers are warned. Empty: nobody is.',
      reloads: true,
      of: config => config.quota.warnAt,
    },
  ),
};

const totalKey = keysOfSection('quota.default');

export const quotaDefault = {
  total: totalKey('TOTAL', kind.limit, {
    text: '-1',
    doc: 'What one owner may store in all: a size such as 500M, 10G or 1.5GiB, or -1 for no limit. k, M, G, T, P are powers of 1000; Ki, Mi, Gi, Ti, Pi of 1024.',
    reloads: true,
    of: config => config.quota.totalBytes,
  }),
};

const usersKey = keysOfSection('users');

export const users = {
  autoCreate: usersKey('AUTO_CREATE', kind.flag, {
    text: 'false',
    doc: 'Whether putting an unknown name into a group creates that user; else it is refused.',
    of: config => config.users.autoCreate,
  }),
  case: usersKey('CASE', kind.oneOf(['fold', 'keep']), {
    text: 'fold',
    doc: 'Whether `Alice` and `alice` are one owner (`fold`) or two (`keep`); of ASCII letters only.',
    of: config => (config.users.foldCase ? 'fold' : 'keep'),
  }),
};

const hooksKey = keysOfSection('hooks');

export const hooks = {
  contact: hooksKey('CONTACT', kind.optional(kind.line), {
    words: 'none',
    doc: 'The last line of a refusal: words, a link, whatever helps the pusher.',
    example: 'Ask for more: https://git.example/quota',
    reloads: true,
    of: config => config.hooks.contact,
  }),
};

const eventsKey = keysOfSection('events');

export const events = {
  keep: eventsKey('KEEP', kind.duration, {
    text: '90d',
    doc: 'How long refusals, thresholds come to and changes of policy are remembered: s, m, h, d or w after a whole number. What is older goes within an hour.',
    reloads: true,
    of: config => config.events.keepMs,
  }),
};
