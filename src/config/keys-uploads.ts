/** The keys of the gate for uploads. They are known and checked; what they ask for comes with a later version. */

import { z } from 'zod';
import { isSubject } from '../quota/index.ts';
import { webAddress } from './addresses.ts';
import { keysOf } from './key.ts';
import * as kind from './kinds.ts';

const missing = 'the gate for uploads is not available in this version; leave it out';

const gateKey = keysOf('gate');

export const gate = {
  headers: gateKey('HEADERS', kind.optional(kind.oneOf(['original', 'forwarded'])), {
    words: 'none',
    doc: "Which of a proxy's headers say what was asked: `original` (nginx) or `forwarded` (Caddy, Traefik).",
    missing,
  }),
  preset: gateKey(
    'PRESET',
    kind.optional(
      kind.textKind(
        z
          .string()
          .trim()
          .regex(/^[\w-]{1,64}$/, 'not a name'),
        "Write a forge's name",
      ),
    ),
    { words: 'none', doc: "A forge's ready-made list of addresses.", missing },
  ),
  early: gateKey('EARLY', kind.flag, {
    text: 'false',
    doc: 'Whether a push over http is refused before it is sent.',
    missing,
  }),
};

const entryKey = keysOf('gate.*');

/** Of every `[gate.NAME]`. */
export const gateEntry = {
  order: entryKey('ORDER', kind.optional(kind.wholeNumber(0, 1_000_000)), {
    words: 'none',
    doc: 'Its place among the others; the smallest is asked first.',
    missing,
  }),
  url: entryKey(
    'URL',
    kind.optional(
      kind.textKind(
        z
          .string()
          .trim()
          .regex(/^\/[^\s?#]*$/, 'not a path of addresses'),
        'Write a path such as /api/packages/{owner}/**',
      ),
    ),
    { words: 'none', doc: 'The addresses it is about.', missing },
  ),
  methods: entryKey(
    'METHODS',
    kind.listOf(
      kind.textKind(z.string().regex(/^[A-Za-z-]+$/, 'not a method'), 'Write a method'),
      'Write methods with commas between, such as PUT, POST',
    ),
    { words: 'none', doc: 'The methods that grow something.', missing },
  ),
  subject: entryKey(
    'SUBJECT',
    kind.optional(
      kind.textKind(
        z.string().trim().refine(isSubject, 'not a subject'),
        'Write a subject such as size:assets:packages:all',
      ),
    ),
    { words: 'none', doc: 'What grows.', missing },
  ),
};

const lfsKey = keysOf('lfs');

export const lfs = {
  upstream: lfsKey('UPSTREAM', kind.optional(webAddress), {
    words: 'none',
    doc: 'The LFS server that batch requests are passed on to.',
    secret: 'password',
    missing: 'the LFS proxy is not available in this version; leave it out',
  }),
};
