/**
 * The tree of subjects, the kinds of data that rules limit; an owner's usage by subject; and names of owners:
 * how they compare, and which names are invalid. Names come from directories, requests and tokens, so a
 * stranger may have chosen them.
 *
 * Each byte belongs to one leaf. A set of leaves is a bit mask, with bit `i` for `leaves[i]`, so that
 * overlapping subjects count each byte once. Sizes are whole numbers of bytes up to 2^53 - 1; a larger sum is
 * an error, never a rounded number.
 */

import { SoftquotaError } from '../errors.ts';

export const leaves = [
  'size:repos:public',
  'size:repos:private',
  'size:git:lfs',
  'size:assets:attachments:issues',
  'size:assets:attachments:releases',
  'size:assets:artifacts',
  'size:assets:packages:all',
  'size:assets:wiki',
] as const;

export type Leaf = (typeof leaves)[number];

/** The subject directly above each subject except `size:all`; parents come before their children. */
const parents = {
  'size:git:all': 'size:all',
  'size:repos:all': 'size:git:all',
  'size:repos:public': 'size:repos:all',
  'size:repos:private': 'size:repos:all',
  'size:git:lfs': 'size:git:all',
  'size:assets:all': 'size:all',
  'size:assets:attachments:all': 'size:assets:all',
  'size:assets:attachments:issues': 'size:assets:attachments:all',
  'size:assets:attachments:releases': 'size:assets:attachments:all',
  'size:assets:artifacts': 'size:assets:all',
  'size:assets:packages:all': 'size:assets:all',
  'size:assets:wiki': 'size:assets:all',
} as const;

export type Subject = 'size:all' | keyof typeof parents;

/** A subject that a rule can name, or `none`, which matches nothing. */
export type RuleSubject = Subject | 'none';

export function isSubject(text: string): text is Subject {
  return text === 'size:all' || Object.hasOwn(parents, text);
}

/** All subjects; each comes before those below it. */
export const subjects: readonly Subject[] = ['size:all', ...Object.keys(parents)].filter(isSubject);

const leafIndexes: ReadonlyMap<string, number> = new Map(leaves.map((leaf, index) => [leaf, index]));

export function isLeaf(text: string): text is Leaf {
  return leafIndexes.has(text);
}

/** Tells whether the units of a leaf are git repositories. */
export function isRepository(leaf: Leaf): boolean {
  return leaf === 'size:repos:public' || leaf === 'size:repos:private' || leaf === 'size:assets:wiki';
}

export function leafIndex(leaf: Leaf): number {
  return leaves.indexOf(leaf);
}

/** Returns the subject and all subjects above it, nearest first. */
export function withAncestors(subject: Subject): readonly Subject[] {
  const chain: Subject[] = [subject];
  for (let at = subject; at !== 'size:all'; ) {
    at = parents[at];
    chain.push(at);
  }
  return chain;
}

const masks: ReadonlyMap<string, number> = new Map(
  subjects.map(subject => [
    subject,
    leaves.reduce(
      (mask, leaf, index) => (withAncestors(leaf).includes(subject) ? mask | (1 << index) : mask),
      0,
    ),
  ]),
);

/** Returns the leaves below a subject (or the leaf itself) as a bit mask; 0 for `none`. */
export function leafMask(subject: RuleSubject): number {
  return masks.get(subject) ?? 0;
}

/** Returns the leaves below any of these subjects as a bit mask. */
export function leafMaskOf(named: readonly RuleSubject[]): number {
  return named.reduce((mask, subject) => mask | leafMask(subject), 0);
}

/** Returns the fewest subjects that together have exactly these leaves. */
export function subjectsWithin(mask: number): readonly Subject[] {
  let left = mask;
  return subjects.filter(subject => {
    const below = leafMask(subject);
    if ((left & below) !== below) return false;
    left &= ~below;
    return true;
  });
}

export type Usage = readonly number[];

export const noUsage: Usage = Object.freeze(leaves.map(() => 0));

/** Converts bytes by leaf to usage; other leaves have 0 bytes. */
export function usageOf(bytes: Readonly<Partial<Record<Leaf, number>>>): Usage {
  return leaves.map(leaf => bytes[leaf] ?? 0);
}

/** Returns `a + b`; throws `sum_too_large` above 2^53 - 1. */
export function addBytes(a: number, b: number): number {
  const sum = a + b;
  if (!Number.isSafeInteger(sum)) {
    throw new SoftquotaError('sum_too_large', `${a} and ${b} bytes together pass 2^53 - 1 bytes`);
  }
  return sum;
}

/** Returns null if `known` throws `sum_too_large`: no decision is possible then. */
export function exactly<Known>(known: () => Known): Known | null {
  try {
    return known();
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
    throw error;
  }
}

/** Returns the bytes of the leaves in `mask`; throws `sum_too_large` above 2^53 - 1. */
export function bytesUnder(usage: Usage, mask: number): number {
  const sum = roughBytesUnder(usage, mask);
  if (sum > Number.MAX_SAFE_INTEGER) {
    throw new SoftquotaError('sum_too_large', 'the bytes of these subjects together pass 2^53 - 1');
  }
  return sum;
}

/** Returns the bytes of the leaves in `mask`, at most 2^53 - 1. */
export function cappedBytesUnder(usage: Usage, mask: number): number {
  return Math.min(roughBytesUnder(usage, mask), Number.MAX_SAFE_INTEGER);
}

/** Returns the bytes of all leaves, at most 2^53 - 1. */
export function totalOf(usage: Usage): number {
  return cappedBytesUnder(usage, leafMask('size:all'));
}

/** Not exact above 2^53 - 1. */
function roughBytesUnder(usage: Usage, mask: number): number {
  let sum = 0;
  for (let index = 0; index < usage.length; index++) {
    if ((mask & (1 << index)) !== 0) sum += usage[index] ?? 0;
  }
  return sum;
}

/** Returns usage in the shape that clients of Forgejo read, and additionally wikis; all numbers are bytes. */
export function asTree(usage: Usage) {
  const bytes = (leaf: Leaf) => usage[leafIndex(leaf)] ?? 0;
  return {
    size: {
      repos: { public: bytes('size:repos:public'), private: bytes('size:repos:private') },
      git: { LFS: bytes('size:git:lfs') },
      assets: {
        attachments: {
          issues: bytes('size:assets:attachments:issues'),
          releases: bytes('size:assets:attachments:releases'),
        },
        artifacts: bytes('size:assets:artifacts'),
        packages: { all: bytes('size:assets:packages:all') },
        wiki: bytes('size:assets:wiki'),
      },
    },
  };
}

/**
 * Returns the key by which names of owners compare: Unicode NFC, and with `foldCase` ASCII letters in lower
 * case. The key of a key is the same key.
 */
export function ownerKey(name: string, foldCase: boolean): string {
  // A fast path: nearly all names are plain, and each check calls this.
  if (plainKey.test(name)) return name;
  const composed = name.normalize('NFC');
  if (!foldCase) return composed;
  // Composes again: h with a line below has a composed character, H with a line below has none.
  return composed.replace(/[A-Z]+/g, letters => letters.toLowerCase()).normalize('NFC');
}

/** Matches names that are their own keys. */
const plainKey = /^[a-z0-9._-]*$/;

export const longestName = 255;

/** Returns the fault of a field with a name, with the name of the field; empty: it is valid. */
export function nameFaults(field: string, name: string): readonly string[] {
  const fault = nameFault(name);
  return fault === null ? [] : [`${field}: ${fault}`];
}

/**
 * Returns the reason why a name of an owner, rule, group or token is invalid; null: it is valid. The reason
 * fits after a colon: `not a name: it is empty`.
 */
export function nameFault(name: string): string | null {
  if (name === '') return 'it is empty';
  const tooLong = `it is longer than ${longestName} characters`;
  // A character has at most two UTF-16 units, so a much too long name needs no closer look.
  if (name.length > 2 * longestName) return tooLong;
  if (name.trim() === '') return 'it has only spaces';
  if (name === '.' || name === '..') return `it is "${name}", which stands for a directory`;
  if (!name.isWellFormed()) return 'it is not well-formed Unicode';
  if (/\p{Cc}/u.test(name)) return 'it has control characters';
  if (name.length > longestName && [...name].length > longestName) return tooLong;
  return null;
}
