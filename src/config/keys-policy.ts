/** The keys of limits, requests, users, hooks, garbage and events. */

import { parseSize, writeSize } from '../text.ts';
import { key, keysOf } from './key.ts';
import * as kind from './kinds.ts';

const groupName = kind.textKind(() => null, 'Write a name');

/** Bytes, or null for the word `limit`. */
const sizeOrLimit: kind.ValueType<number | null> = {
  expected: 'Write a number and a unit, such as 500M, 10G or 1.5GiB, or limit',
  parse: text => {
    if (text.trim().toLowerCase() === 'limit') return { ok: true, value: null };
    const size = kind.limit.parse(text);
    return size.ok && size.value < 0 ? { ok: false, problem: 'below 0' } : size;
  },
  print: bytes => (bytes === null ? 'limit' : writeSize(bytes)),
};

export const quota = keysOf('quota', {
  enabled: key('ENABLED', kind.flag, {
    text: 'false',
    doc: '`true` enforces quotas. With `false`, everything is measured and everything is allowed.',
  }),
  defaultGroups: key('DEFAULT_GROUPS', kind.listOf(groupName, 'Write names of groups, separated by commas'), {
    doc: 'The groups that apply to owners who are in no group, and to data that no rule of their groups covers. Names of groups that do not exist are ignored.',
    example: 'everybody',
  }),
  refuseWhen: key('REFUSE_WHEN', kind.oneOf(['exceeded', 'reached']), {
    text: 'exceeded',
    doc: 'When a limit refuses: `exceeded` if usage is over the limit, `reached` if usage is at the limit or over it. A limit of 0 always refuses.',
  }),
  uncovered: key('UNCOVERED', kind.oneOf(['default', 'deny']), {
    text: 'default',
    doc: "What happens to data that no rule of an owner's groups covers: `default` uses the default groups, then `[quota.default]`; `deny` refuses it.",
  }),
  precise: key('PRECISE', kind.flag, {
    text: 'false',
    doc: '`true` counts the size of what is about to come: a push or an upload starts only if it fits below the limit. With `false`, one that starts below the limit finishes, however large it is.',
  }),
  garbage: key('GARBAGE', kind.oneOf(['bill', 'forgive']), {
    text: 'bill',
    doc: 'What counts of bytes in repositories that no ref reaches any more, such as those of a deleted branch: `bill` they count until they are deleted; `forgive` they do not count, up to GARBAGE_MOST. This needs the worker (`softquota worker`) and `[reclaim] RUN = measure` or `gc`.',
  }),
  garbageMostBytes: key('GARBAGE_MOST', sizeOrLimit, {
    text: 'limit',
    doc: 'The most that each limit forgives with `GARBAGE = forgive`: a size, or `limit` for as much as the limit itself. What an owner stores never passes the limit and this together by more than one push, or by the limit once more where pushes make repositories smaller.',
    example: '5G',
  }),
  graceMs: key('GRACE', kind.optional(kind.duration), {
    doc: 'How long an owner who comes over a limit by less than GRACE_MOST is warned before refusals begin: a whole number and s, m, h, d or w. It begins when the owner is first seen over that limit, and ends when the owner is below it again. A rule can have a grace of its own.',
    example: '7d',
  }),
  graceMost: key('GRACE_MOST', kind.graceMost, {
    text: '10 %',
    doc: 'How far a limit may be passed while GRACE runs: a percentage of the limit, or a size. What passes it by as much is refused at once.',
  }),
  mode: key('MODE', kind.oneOf(['enforce', 'report']), {
    text: 'enforce',
    doc: '`enforce` refuses; `report` decides and records in the same way, but allows everything. Single rules can be in report mode, too.',
  }),
  warnAt: key('WARN_AT', kind.percentages, {
    text: '80, 90',
    doc: 'Percentages of a limit at which pushers are warned. Empty: no warnings.',
  }),
});

export const quotaDefault = keysOf('quota.default', {
  totalBytes: key('TOTAL', kind.limit, {
    text: '-1',
    doc: 'The most that one owner may store in total: a size such as 500M, 10G or 1.5GiB, or -1 for no limit. k, M, G, T, P are powers of 1000; Ki, Mi, Gi, Ti, Pi of 1024.',
  }),
});

/** Bytes that are granted automatically, for how long, and the pause between two grants to one owner. */
interface AutoGrantSetting {
  readonly bytes: number;
  readonly forMs: number;
  readonly everyMs: number;
}

/** `2G for 30d, once in 90d`. */
const autoGrant: kind.ValueType<AutoGrantSetting> = {
  expected: 'Write a size, for how long, and how often, such as 2G for 30d, once in 90d',
  parse: text => {
    const parts = partsOf(text);
    if (parts === null) return { ok: false, problem: 'not understood' };
    const { size, life, pause } = parts;
    const bytes = parseSize(size);
    if (!bytes.ok) return { ok: false, problem: `faulty: the size "${size}" is ${bytes.problem}` };
    if (bytes.value < 1) return { ok: false, problem: `faulty: the size "${size}" grants nothing` };
    const forMs = kind.duration.parse(life);
    if (!forMs.ok) return { ok: false, problem: `faulty: "${life}" after "for" is ${forMs.problem}` };
    if (forMs.value > longestMs)
      return { ok: false, problem: 'faulty: an allowance lasts for at most 3650d' };
    const everyMs = kind.duration.parse(pause);
    if (!everyMs.ok)
      return { ok: false, problem: `faulty: "${pause}" after "once in" is ${everyMs.problem}` };
    return { ok: true, value: { bytes: bytes.value, forMs: forMs.value, everyMs: everyMs.value } };
  },
  print: ({ bytes, forMs, everyMs }) =>
    `${kind.limit.print(bytes)} for ${kind.duration.print(forMs)}, once in ${kind.duration.print(everyMs)}`,
};

/** Splits the text at its last comma, since a size may have commas; null if it has another form. */
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

const longestMs = 3650 * 86_400_000;

export const requests = keysOf('requests', {
  enabled: key('ENABLED', kind.flag, {
    text: 'true',
    doc: 'Decides whether owners can ask for more space, on their page of the web UI and over the API.',
  }),
  autoGrant: key('AUTO_GRANT', kind.optional(autoGrant), {
    doc: 'Requests of at most this size and for at most this time are granted at once, to each owner once in the last of the three; all others wait for an administrator.',
    example: '2G for 30d, once in 90d',
  }),
});

const letterCase = kind.oneOf(['fold', 'keep']);

const isFolded: kind.ValueType<boolean> = {
  expected: letterCase.expected,
  parse: text => {
    const parsed = letterCase.parse(text);
    return parsed.ok ? { ok: true, value: parsed.value === 'fold' } : parsed;
  },
  print: folded => (folded ? 'fold' : 'keep'),
};

export const users = keysOf('users', {
  autoCreate: key('AUTO_CREATE', kind.flag, {
    text: 'false',
    doc: 'With `true`, adding an unknown name to a group creates that user; with `false`, it is refused.',
  }),
  foldCase: key('CASE', isFolded, {
    text: 'fold',
    doc: 'Decides whether `Alice` and `alice` are one owner (`fold`) or two owners (`keep`). Only ASCII letters are folded.',
  }),
});

export const hooks = keysOf('hooks', {
  contact: key('CONTACT', kind.optional(kind.line), {
    doc: 'The last line of a refusal: a text or a link that helps the pusher. Without it, and with `[server] ROOT_URL`, it is the address of the page My usage, where users see what takes the space and ask for more.',
    example: 'To ask for more space: https://git.example/quota',
  }),
  keep: key('KEEP', kind.flag, {
    text: 'false',
    doc: 'Decides whether the worker (`softquota worker`, which runs as the user that git runs as) puts the hooks into each repository that appears, and puts them back where something takes them out. Restart the worker after a change.',
  }),
});

/** A span of time that is not shorter than this, in milliseconds. */
function durationOfAtLeast(shortestMs: number, shortest: string): kind.ValueType<number> {
  return {
    ...kind.duration,
    parse: text => {
      const parsed = kind.duration.parse(text);
      return parsed.ok && parsed.value < shortestMs
        ? { ok: false, problem: `shorter than ${shortest}` }
        : parsed;
    },
    expected: `Write at least ${shortest}: a whole number and s, m, h, d or w, such as 1h`,
  };
}

export const reclaim = keysOf('reclaim', {
  run: key('RUN', kind.oneOf(['never', 'measure', 'gc']), {
    text: 'measure',
    doc: 'What the worker (`softquota worker`) does about what no ref reaches any more: `never` nothing; `measure` it measures it, and keeps bitmaps where measuring takes long; `gc` it also deletes it, once it is older than EXPIRE. Repositories of a GitLab are never collected, since GitLab does that itself.',
  }),
  expireMs: key('EXPIRE', durationOfAtLeast(600_000, '10m'), {
    text: '1h',
    doc: 'How long something stays after nothing reaches it any more: a whole number and s, m, h, d or w, at least 10m. A push that is under way may still need it.',
  }),
  gits: key(
    'GIT',
    kind.listOf(
      kind.matching(
        /^(?:[^/]+|\/.+)$/,
        'neither a name nor an absolute path',
        'Write a name or an absolute path',
      ),
      'Write names or absolute paths of git, separated by commas',
    ),
    {
      text: 'git',
      doc: 'The programs of git that the worker may run: names in its PATH, or absolute paths, separated by commas. It uses the first that works (2.31 or later), and judges a push with the one that takes the push, where it is among these.',
    },
  ),
  alone: key('ALONE', kind.flag, {
    text: 'false',
    doc: 'Whether every process of git that takes pushes runs where the worker sees it, although the worker runs in a container. Then it removes what a broken push leaves behind at once, and not after an hour. Where it runs directly on the host, it knows that by itself.',
  }),
});

export const events = keysOf('events', {
  keepMs: key('KEEP', kind.duration, {
    text: '90d',
    doc: 'How long refusals, reached thresholds and policy changes are stored: a whole number and s, m, h, d or w. Older events are deleted within an hour.',
  }),
});
