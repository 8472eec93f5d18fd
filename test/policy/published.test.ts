/** The published policies in examples/policies: a table of who is refused or warned of what. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readPolicyFile } from '../../src/commands/policy-file.ts';
import {
  compileGroup,
  decide,
  type Leaf,
  noUsage,
  type Rule,
  type Subject,
  standingIn,
  type Usage,
  usageOf,
  warning,
} from '../../src/quota/index.ts';
import { settings } from '../ledger/world.ts';

const folder = fileURLToPath(new URL('../../examples/policies/', import.meta.url));
const files = readdirSync(folder).filter(name => name.endsWith('.json'));

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;
const git = 'size:repos:private';
const lfs = 'size:git:lfs';
const packages = 'size:assets:packages:all';
const releases = 'size:assets:attachments:releases';

interface Case {
  /** The kind of data that comes. */
  readonly subject: Subject & Leaf;
  /** The bytes that the owner stores, by kind. */
  readonly stores?: Partial<Record<Leaf, number>>;
  /** The bytes of the repository that grows, by kind. */
  readonly repository?: Partial<Record<Leaf, number>>;
  /** The bytes of the members of the owner's group together, by kind. */
  readonly pool?: Partial<Record<Leaf, number>>;
  readonly push?: number;
  readonly file?: number;
}

type Outcome = 'allowed' | `refused by ${string}` | `warned by ${string}`;

const table: readonly (readonly [file: string, group: string, asked: Case, outcome: Outcome])[] = [
  ['github', 'github-free', { subject: git, push: GiB, file: 50 * MiB }, 'allowed'],
  ['github', 'github-free', { subject: git, push: GiB, file: 50 * MiB + 1 }, 'warned by github-file-warning'],
  ['github', 'github-free', { subject: git, push: GiB, file: 100 * MiB }, 'warned by github-file-warning'],
  ['github', 'github-free', { subject: git, push: GiB, file: 100 * MiB + 1 }, 'refused by github-file'],
  ['github', 'github-free', { subject: git, push: 2 * GiB + 1, file: 1 }, 'refused by github-push'],
  ['github', 'github-free', { subject: git, repository: { [git]: 11 * GiB } }, 'warned by github-repository'],
  ['github', 'github-free', { subject: lfs, stores: { [lfs]: 10 * GiB + 1 } }, 'refused by github-lfs'],
  ['github', 'github-free', { subject: lfs, file: 3 * GiB }, 'refused by github-lfs-file'],
  [
    'github',
    'github-free',
    { subject: packages, stores: { [packages]: 501 * MiB } },
    'refused by github-packages',
  ],
  ['github', 'github-free', { subject: releases, file: 3 * GiB }, 'refused by github-release-file'],
  [
    'gitlab-com',
    'gitlab-free',
    { subject: git, repository: { [git]: 6 * GiB, [lfs]: 5 * GiB } },
    'refused by gitlab-free-project',
  ],
  ['gitlab-com', 'gitlab-free', { subject: git, repository: { [git]: 6 * GiB }, file: 100 * MiB }, 'allowed'],
  ['gitlab-com', 'gitlab-free', { subject: git, file: 101 * MiB }, 'refused by gitlab-file'],
  [
    'gitlab-com',
    'gitlab-paid',
    { subject: git, repository: { [git]: 100 * GiB }, file: 101 * MiB },
    'allowed',
  ],
  ['gitlab-com', 'gitlab-paid', { subject: git, push: 6 * GiB }, 'refused by gitlab-push'],
  [
    'bitbucket-cloud',
    'bitbucket-free',
    { subject: git, repository: { [git]: 3 * GiB } },
    'warned by bitbucket-repository-warning',
  ],
  [
    'bitbucket-cloud',
    'bitbucket-free',
    { subject: git, repository: { [git]: 4 * GiB + 1 } },
    'refused by bitbucket-repository',
  ],
  ['bitbucket-cloud', 'bitbucket-free', { subject: git, push: 3700 * MiB }, 'refused by bitbucket-push'],
  [
    'bitbucket-cloud',
    'bitbucket-free',
    { subject: lfs, stores: { [lfs]: 2 * GiB } },
    'refused by bitbucket-lfs-free',
  ],
  ['bitbucket-cloud', 'bitbucket-standard', { subject: lfs, stores: { [lfs]: 2 * GiB } }, 'allowed'],
  [
    'bitbucket-cloud',
    'bitbucket-premium',
    { subject: lfs, stores: { [lfs]: 11 * GiB } },
    'refused by bitbucket-lfs-premium',
  ],
  ['codeberg', 'codeberg', { subject: git, stores: { [git]: 751 * MiB } }, 'refused by codeberg-git'],
  ['codeberg', 'codeberg', { subject: git, stores: { [git]: 101 * MiB } }, 'warned by codeberg-private'],
  [
    'codeberg',
    'codeberg',
    { subject: lfs, stores: { [lfs]: GiB, [packages]: GiB } },
    'refused by codeberg-assets',
  ],
  ['codeberg', 'codeberg', { subject: lfs, stores: { [lfs]: GiB, [git]: GiB } }, 'allowed'],
  ['hugging-face', 'hf-free', { subject: lfs, stores: { [lfs]: 101e9 } }, 'refused by hf-free'],
  [
    'hugging-face',
    'hf-pro',
    { subject: lfs, stores: { [lfs]: 101e9 }, file: 201e9 },
    'warned by hf-file-advice',
  ],
  ['hugging-face', 'hf-pro', { subject: lfs, file: 501e9 }, 'refused by hf-file'],
  [
    'azure-devops',
    'azure-organization',
    { subject: git, repository: { [git]: 11 * GiB } },
    'warned by azure-repository-advice',
  ],
  [
    'azure-devops',
    'azure-organization',
    { subject: git, repository: { [git]: 251 * GiB } },
    'refused by azure-repository',
  ],
  ['azure-devops', 'azure-organization', { subject: git, push: 6 * GiB }, 'refused by azure-push'],
  ['azure-devops', 'azure-organization', { subject: git, file: 101 * MiB }, 'warned by azure-file'],
  [
    'azure-devops',
    'azure-organization',
    { subject: packages, pool: { [packages]: 3 * GiB } },
    'refused by azure-packages',
  ],
  ['codecommit', 'codecommit', { subject: git, file: 2 * GiB }, 'allowed'],
  ['codecommit', 'codecommit', { subject: git, file: 2 * GiB + 1 }, 'refused by codecommit-file'],
  ['sourcehut', 'sourcehut', { subject: git, repository: { [git]: 3584 * MiB } }, 'allowed'],
  [
    'sourcehut',
    'sourcehut',
    { subject: git, repository: { [git]: 4 * GiB } },
    'warned by sourcehut-repository',
  ],
  ['anu', 'anu-teaching', { subject: git, stores: { [git]: 4 * GiB } }, 'allowed'],
  ['anu', 'anu-teaching', { subject: git, stores: { [git]: 4700 * MiB } }, 'warned by anu-teaching-warning'],
  ['anu', 'anu-teaching', { subject: git, stores: { [git]: 6 * GiB } }, 'refused by anu-teaching'],
  ['anu', 'anu-research', { subject: git, stores: { [git]: 40 * GiB } }, 'allowed'],
  ['anu', 'anu-research', { subject: git, stores: { [git]: 51 * GiB } }, 'refused by anu-research'],
  [
    'uni-hamburg',
    'hamburg',
    { subject: git, stores: { [git]: 90 * GiB }, repository: { [git]: 19 * GiB } },
    'allowed',
  ],
  ['uni-hamburg', 'hamburg', { subject: git, repository: { [git]: 21 * GiB } }, 'refused by hamburg-project'],
  ['kit', 'kit', { subject: git, repository: { [git]: GiB + 1 } }, 'refused by kit-project'],
  ['lrz', 'lrz', { subject: lfs, file: 3 * GiB }, 'refused by lrz-lfs-file'],
  ['lrz', 'lrz', { subject: lfs, stores: { [lfs]: 26 * GiB } }, 'refused by lrz-lfs'],
  ['lrz', 'lrz', { subject: git, stores: { [git]: 26 * GiB } }, 'allowed'],
];

t.test('each published policy says its date and its sources, and is in the list of them', async t => {
  t.equal(files.length, 12);
  const list = readFileSync(`${folder}README.md`, 'utf8');
  for (const file of files) {
    const { about } = JSON.parse(readFileSync(folder + file, 'utf8')) as { about: readonly string[] };
    t.match(about.join('\n'), /\b20\d\d\b/, file);
    t.match(about.join('\n'), /^Source: .*^No rule can say: /ms, file);
    t.match(list, `[${file}](${file})`);
    t.ok(
      table.some(([name]) => `${name}.json` === file),
      file,
    );
  }
});

t.test('the published policies refuse and warn as their hosts do', async t => {
  for (const [file, group, asked, outcome] of table)
    t.equal(outcomeOf(file, group, asked), outcome, `${file} ${group} ${JSON.stringify(asked)}`);
});

function outcomeOf(file: string, name: string, asked: Case): Outcome {
  const { rules = [], groups = [] } = readPolicyFile(`${folder}${file}.json`);
  const named = groups.find(group => group.name === name)?.rules ?? [];
  const ruleOf = (each: string): Rule => {
    const rule = rules.find(other => other.name === each);
    if (rule === undefined) throw new Error(`${each} is not there`);
    const { limit, subjects, per, mode } = rule;
    if (subjects === undefined || subjects === null) throw new Error(`${each} has no subjects`);
    return {
      name: each,
      limitBytes: limit,
      subjects,
      ...(per === undefined || per === null || per === 'owner' ? {} : { per }),
      ...(mode === 'warn' ? { mode } : {}),
    };
  };
  const standing = standingIn({ assigned: [compileGroup({ name, rules: named.map(ruleOf) })], defaults: [] });
  const { subject, stores, repository = {}, pool = {}, push = 1, file: largest = 1 } = asked;
  const kept = (bytes: Partial<Record<Leaf, number>> | undefined): Usage =>
    bytes === undefined ? noUsage : usageOf(bytes);
  const nothing = { reserved: null, unreachable: null };
  const decision = decide({
    settings: { ...settings, totalBytes: -1, warnAt: [] },
    standing,
    usage: kept(stores),
    subject,
    repository: { name: 'alice/app', usage: kept(repository), ...nothing },
    pools: () => ({ usage: kept(pool), ...nothing }),
    incoming: { bytes: push, largest: { bytes: largest } },
  });
  if (!decision.allowed) return `refused by ${decision.rule}`;
  if (decision.by !== 'rule' || decision.warned === undefined) return 'allowed';
  if (warning(settings, 'alice', subject, decision) === null) throw new Error('a warning has no words');
  return `warned by ${decision.warned.rule}`;
}
