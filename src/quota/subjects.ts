/**
 * The tree of subjects: the kinds of data that rules limit.
 *
 * Bytes are measured under leaves. A set of leaves is a bit mask, bit `i` standing for
 * `leaves[i]`, so that the bytes of overlapping subjects are each counted once.
 */

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

/** The subject directly above each but the whole, those above first. */
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

/** Every subject, the whole first, each before what lies below it. */
export const subjects: readonly Subject[] = ['size:all', ...Object.keys(parents)].filter(isSubject);

const leafIndexes: ReadonlyMap<string, number> = new Map(leaves.map((leaf, index) => [leaf, index]));

export function isLeaf(text: string): text is Leaf {
  return leafIndexes.has(text);
}

/** Tells whether the units of a leaf are git repositories, which are pushed to. */
export function isRepository(leaf: Leaf): boolean {
  return leaf === 'size:repos:public' || leaf === 'size:repos:private' || leaf === 'size:assets:wiki';
}

export function leafIndex(leaf: Leaf): number {
  return leaves.indexOf(leaf);
}

/** The subject and all above it, nearest first. */
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

/** The leaves below a subject (itself, if it is one) as a bit mask; `none` has none. */
export function leafMask(subject: RuleSubject): number {
  return masks.get(subject) ?? 0;
}

/** The fewest subjects that together hold exactly these leaves. */
export function subjectsWithin(mask: number): readonly Subject[] {
  let left = mask;
  return subjects.filter(subject => {
    const below = leafMask(subject);
    if ((left & below) !== below) return false;
    left &= ~below;
    return true;
  });
}
