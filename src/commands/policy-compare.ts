/**
 * `softquota policy compare`: a Forgejo and softquota are asked the same, and the differences are explained.
 */

import { z } from 'zod';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { leaves, ownerKey, type Subject, subjects, type Usage } from '../quota/index.ts';
import { formatBytes, formatCount, printable } from '../text/index.ts';
import { explanation, quotaInfo, user } from '../wire/index.ts';
import { type DaemonClient, pathStep } from './client.ts';
import {
  compared,
  isUnexplained,
  type Ours,
  type PolicyDifference,
  type Theirs,
  type UsageReason,
} from './compared.ts';
import { Forgejo, type ForgejoOption, type ForgejoOwner } from './forgejo.ts';
import type { DecisionReason } from './forgejo-decision.ts';
import { printJson } from './output.ts';
import { progressShower } from './progress.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

export interface CompareOptions extends ForgejoOption {
  readonly json?: boolean;
  /** Only these; all without it. */
  readonly owner?: readonly string[];
  /** `[quota.default] TOTAL` of that server, in bytes; -1 unless given. */
  readonly total?: number;
}

/** Owners that are asked about at a time. */
const together = 4;
const pageSize = 1000;
const mostShown = 200;

/** Resolves with the exit status: 0, or 1 where a difference has no reason that is known. */
export async function comparePolicies(client: DaemonClient, options: CompareOptions): Promise<number> {
  const forgejo = new Forgejo(options);
  const wanted = options.owner?.map(name => ownerKey(name, true));
  const isWanted = (name: string) => wanted?.includes(ownerKey(name, true)) ?? true;
  const theirs = (await forgejo.owners()).filter(({ name }) => isWanted(name));
  const ours = (await ownersHere(client)).filter(isWanted);
  const known = new Set(theirs.map(({ name }) => ownerKey(name, true)));
  const here = new Set(ours.map(name => ownerKey(name, true)));
  for (const name of options.owner ?? []) {
    if (known.has(ownerKey(name, true)) || here.has(ownerKey(name, true))) continue;
    throw new SoftquotaError('not_found', `neither server knows the owner ${printable(name)}`);
  }
  const show = progressShower();
  const found: PolicyDifference[][] = [];
  const waiting = theirs.entries();
  let done = 0;
  const ask = async (): Promise<void> => {
    for (const [index, owner] of waiting) {
      const isHere = here.has(ownerKey(owner.name, true));
      found[index] = isHere
        ? await differencesOf(client, forgejo, owner, options)
        : [unknownHere(owner.name)];
      done += 1;
      show(`${formatCount(done)} of ${formatCount(theirs.length)} owners compared`);
    }
  };
  try {
    await Promise.all(Array.from({ length: together }, ask));
  } finally {
    show(null);
  }
  const only = ours.filter(name => !known.has(ownerKey(name, true))).map(unknownThere);
  const differences = [...found.flat(), ...only];
  const unexplained = differences.filter(isUnexplained).length;
  if (options.json === true) {
    printJson({ from: forgejo.address, owners: theirs.length, differences, unexplained });
  } else print(comparisonText(forgejo.address, theirs.length, differences, unexplained));
  return unexplained === 0 ? exitCodes.done : exitCodes.refused;
}

async function ownersHere(client: DaemonClient): Promise<readonly string[]> {
  const names: string[] = [];
  for (let page = 1; ; page++) {
    const path = `/admin/users?page=${page}&limit=${pageSize}`;
    const found = z.array(user).parse(await client.get({ path }));
    names.push(...found.map(({ username }) => username));
    if (found.length < pageSize) return names;
  }
}

async function differencesOf(
  client: DaemonClient,
  forgejo: Forgejo,
  owner: ForgejoOwner,
  { total = -1 }: CompareOptions,
): Promise<PolicyDifference[]> {
  let theirs: Theirs;
  try {
    theirs = await theirsOf(forgejo, owner);
  } catch (error) {
    // A user who may not sign in is nobody in whose name one can ask; the others can be.
    if (!(error instanceof SoftquotaError) || !ofOne.has(error.code)) throw error;
    return [{ owner: owner.name, what: 'not_asked', message: error.message, reasons: ['unexplained'] }];
  }
  return [...compared(owner.name, theirs, await oursOf(client, owner.name), total)];
}

const ofOne: ReadonlySet<string> = new Set(['not_permitted', 'not_found']);

async function theirsOf(forgejo: Forgejo, owner: ForgejoOwner): Promise<Theirs> {
  const { usage, groups } = await forgejo.quotaOf(owner.name);
  const allowed = new Map<Subject, boolean>();
  for (const subject of subjects) allowed.set(subject, await forgejo.allows(owner, subject));
  return { usage, groups, allowed };
}

async function oursOf(client: DaemonClient, name: string): Promise<Ours> {
  const path = `/admin/users/${pathStep(name)}/quota`;
  const { used } = quotaInfo.parse(await client.get({ path }));
  const explanations = new Map<Subject, z.infer<typeof explanation>>();
  for (const subject of subjects) {
    const query = new URLSearchParams({ user: name, subject });
    const call = { path: `/admin/quota/explain?${query}` };
    explanations.set(subject, explanation.parse(await client.get(call)));
  }
  return { usage: usageIn(used), explanations };
}

function usageIn({ size: { repos, git, assets } }: z.infer<typeof quotaInfo>['used']): Usage {
  const { attachments, artifacts, packages, wiki } = assets;
  const bytes = {
    'size:repos:public': repos.public,
    'size:repos:private': repos.private,
    'size:git:lfs': git.LFS,
    'size:assets:attachments:issues': attachments.issues,
    'size:assets:attachments:releases': attachments.releases,
    'size:assets:artifacts': artifacts,
    'size:assets:packages:all': packages.all,
    'size:assets:wiki': wiki,
  };
  return leaves.map(leaf => bytes[leaf]);
}

function unknownHere(owner: string): PolicyDifference {
  return { owner, what: 'owner', theirs: true, ours: false, reasons: ['unknown_here'] };
}

function unknownThere(owner: string): PolicyDifference {
  return { owner, what: 'owner', theirs: false, ours: true, reasons: ['unknown_there'] };
}

const words: Readonly<Record<DecisionReason | UsageReason | 'unknown_here' | 'unknown_there', string>> = {
  usage: 'the figures differ',
  overlap: 'Forgejo counts bytes twice where the subjects of a rule overlap',
  policy: 'rules, groups, members or [quota.default] TOTAL differ',
  enabled: '[quota] ENABLED is false here',
  refuse_when: '[quota] REFUSE_WHEN = exceeded here; Forgejo refuses when the limit is reached',
  uncovered: '[quota] UNCOVERED = default here; Forgejo refuses what no rule covers',
  measured_otherwise:
    "Forgejo has the size of git's objects as of the last push; softquota has all files as of the last walk",
  counted_once: 'softquota counts an object once for each owner, Forgejo each time it is used',
  not_counted_there: 'Forgejo does not count wikis',
  not_counted_here: 'nothing of this kind is counted here: [forge] or a [storage.*] section is missing',
  unknown_here: 'softquota has never heard of this owner',
  unknown_there: 'that server does not list this owner',
  unexplained: 'unexplained',
};

function comparisonText(
  from: string,
  owners: number,
  differences: readonly PolicyDifference[],
  unexplained: number,
): string {
  const asked = `${formatCount(owners)} ${owners === 1 ? 'owner' : 'owners'} of ${printable(from)}`;
  if (differences.length === 0) return `No difference for ${asked}.\n`;
  // What has no reason is what somebody has to look at.
  const ordered = [
    ...differences.filter(isUnexplained),
    ...differences.filter(difference => !isUnexplained(difference)),
  ];
  const columns = ['OWNER', 'WHAT', 'FORGEJO', 'HERE', 'REASON'].map(title => ({ title }));
  const shown = table(columns, ordered.slice(0, mostShown).map(rowOf));
  const more = differences.length - mostShown;
  const left = more > 0 ? `… and ${formatCount(more)} more; --json shows all\n` : '';
  const count = `${formatCount(differences.length)} ${differences.length === 1 ? 'difference' : 'differences'}`;
  const open = unexplained === 0 ? 'all explained' : `${formatCount(unexplained)} unexplained`;
  return `${shown}${left}\n${count} for ${asked}: ${open}.\n`;
}

function rowOf(difference: PolicyDifference): readonly string[] {
  const { owner, what } = difference;
  if (what === 'not_asked') return [owner, 'all', 'no answer', '', difference.message];
  const reason = difference.reasons.map(each => words[each]).join('; ');
  switch (what) {
    case 'owner':
      return [owner, 'owner', knownText(difference.theirs), knownText(difference.ours), reason];
    case 'usage':
      return [
        owner,
        difference.subject,
        formatBytes(difference.theirs),
        formatBytes(difference.ours),
        reason,
      ];
    case 'decision':
      return [
        owner,
        `may add ${difference.subject}`,
        difference.theirs ? 'yes' : 'no',
        difference.ours ? 'yes' : 'no',
        reason,
      ];
  }
}

function knownText(isKnown: boolean): string {
  return isKnown ? 'known' : 'unknown';
}
