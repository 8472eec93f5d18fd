/** The keys of asking for more than the limit. */

import { parseSize } from '../text/index.ts';
import type { AutoGrantSetting } from './config.ts';
import { key, keysOf } from './key.ts';
import * as kind from './kinds.ts';

/** `2G for 30d, once in 90d`. */
const autoGrant: kind.ValueType<AutoGrantSetting> = {
  expected: 'Write a size, for how long, and how often, such as 2G for 30d, once in 90d',
  parse: text => {
    const parts = partsOf(text);
    if (parts === null) return { ok: false, problem: 'not understood' };
    const { size, life, pause } = parts;
    const bytes = parseSize(size);
    if (!bytes.ok) return { ok: false, problem: `faulty: the size "${size}" is ${bytes.reason}` };
    if (bytes.bytes < 1) return { ok: false, problem: `faulty: the size "${size}" grants nothing` };
    const forMs = kind.duration.parse(life);
    if (!forMs.ok) return { ok: false, problem: `faulty: "${life}" after "for" is ${forMs.problem}` };
    if (forMs.value > longestMs)
      return { ok: false, problem: 'faulty: an allowance lasts for at most 3650d' };
    const everyMs = kind.duration.parse(pause);
    if (!everyMs.ok)
      return { ok: false, problem: `faulty: "${pause}" after "once in" is ${everyMs.problem}` };
    return { ok: true, value: { bytes: bytes.bytes, forMs: forMs.value, everyMs: everyMs.value } };
  },
  print: ({ bytes, forMs, everyMs }) =>
    `${kind.limit.print(bytes)} for ${kind.duration.print(forMs)}, once in ${kind.duration.print(everyMs)}`,
};

/** A size may have commas, and so the last one ends the first half; null: it is not in this form. */
function partsOf(
  text: string,
): { readonly size: string; readonly life: string; readonly pause: string } | null {
  const comma = text.lastIndexOf(',');
  const words = (part: string) => part.split(' ').filter(word => word !== '');
  const first = words(text.slice(0, Math.max(comma, 0)));
  const [once, within, ...pause] = words(text.slice(comma + 1));
  const at = first.findIndex(word => word.toLowerCase() === 'for');
  if (at < 0 || `${once} ${within}`.toLowerCase() !== 'once in') return null;
  return { size: first.slice(0, at).join(' '), life: first.slice(at + 1).join(' '), pause: pause.join(' ') };
}

/** The longest time of an allowance. */
const longestMs = 3650 * 86_400_000;

export const requests = keysOf('requests', config => config.requests, {
  enabled: key('ENABLED', kind.flag, {
    text: 'true',
    doc: 'Decides whether owners can ask for more space, on their page of the web UI and over the API.',
    reloads: true,
  }),
  autoGrant: key('AUTO_GRANT', kind.optional(autoGrant), {
    words: 'none',
    doc: 'Requests of at most this size and for at most this time are granted at once, to each owner once in the last of the three; all others wait for an administrator.',
    example: '2G for 30d, once in 90d',
    reloads: true,
  }),
});
