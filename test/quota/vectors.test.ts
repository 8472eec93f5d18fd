/** The recorded and derived decisions of vectors/evaluation.json, every one, in both modes. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import {
  decide,
  explain,
  type Group,
  isLeaf,
  isSubject,
  type Leaf,
  type QuotaSettings,
  type RuleSubject,
  usageOf,
} from '../../src/quota/index.ts';
import { plainSettings, standing } from './arbitraries.ts';

interface VectorGroup {
  readonly name: string;
  readonly rules: readonly {
    readonly name: string;
    readonly limit: number;
    readonly subjects: readonly string[];
  }[];
}

interface VectorCase {
  readonly groups: readonly VectorGroup[];
  readonly defaultGroups?: readonly VectorGroup[];
  readonly defaultTotal: number;
  readonly used: Readonly<Record<string, number>>;
  readonly subject: string;
  readonly reachedDeny: boolean;
  readonly exceededDefault: boolean;
}

// The shape is that of the file, which the cases below walk through whole.
const vectors: { readonly cases: readonly VectorCase[]; readonly ladder: readonly VectorCase[] } = JSON.parse(
  readFileSync(new URL('../vectors/evaluation.json', import.meta.url), 'utf8'),
);

function ruleSubject(text: string): RuleSubject {
  if (text === 'none' || isSubject(text)) return text;
  throw new Error(`${text} is no subject`);
}

function groupOf(vector: VectorGroup): Group {
  const rules = vector.rules.map(rule => ({
    name: rule.name,
    limitBytes: rule.limit,
    subjects: rule.subjects.map(ruleSubject),
  }));
  return { name: vector.name, rules };
}

function answer(one: VectorCase, modes: Pick<QuotaSettings, 'refuseWhen' | 'uncovered'>): boolean {
  const bytes: Partial<Record<Leaf, number>> = {};
  for (const [leaf, size] of Object.entries(one.used)) {
    if (!isLeaf(leaf)) throw new Error(`${leaf} is no leaf`);
    bytes[leaf] = size;
  }
  if (!isSubject(one.subject)) throw new Error(`${one.subject} is no subject`);
  const question = {
    settings: { ...plainSettings, ...modes, totalBytes: one.defaultTotal },
    standing: standing(one.groups.map(groupOf), (one.defaultGroups ?? []).map(groupOf)),
    usage: usageOf(bytes),
    subject: one.subject,
  };
  const decision = decide(question);
  if (explain(question).decision.allowed !== decision.allowed) throw new Error('explained otherwise');
  return decision.allowed;
}

for (const part of ['cases', 'ladder'] as const) {
  t.test(`every recorded question of "${part}" has its recorded answer, in both modes`, async t => {
    t.ok(vectors[part].length > 0);
    for (const one of vectors[part]) {
      const answers = {
        exceededDefault: answer(one, { refuseWhen: 'exceeded', uncovered: 'default' }),
        reachedDeny: answer(one, { refuseWhen: 'reached', uncovered: 'deny' }),
      };
      const { exceededDefault, reachedDeny } = one;
      if (answers.exceededDefault !== exceededDefault || answers.reachedDeny !== reachedDeny) {
        t.same(answers, { exceededDefault, reachedDeny }, JSON.stringify(one));
      }
    }
  });
}
