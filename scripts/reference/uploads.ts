/**
 * docs/forges/uploads.md: the requests of each preset that are asked about, and what cannot be asked about.
 */

import { type PresetName, presetNames } from '../../src/layout/index.ts';
import { gitRoutes, type PresetRoute, presetRoutes } from '../../src/layout/uploads/presets.ts';

const introduction = `# Uploads by server

These are the requests that a reverse proxy asks softquota about, for each \`[gate] PRESET\`: the route, its methods,
the owner whose usage grows, and the kind of data. In a route, \`*\` is any name, \`**\` any number of names, and
\`{size}\` the bytes that come. Routes are below \`[gate] BASE\`, except those of container registries (\`/v2/\`), which
are at the root of the host. [uploads.md](../uploads.md) has the configuration of the proxy. Requests that only read
or delete are never asked about. A push is asked about by [the hooks](hooks.md), and so is a change that the server
itself makes by a push: edits in the browser, the API for files, merges, wiki pages.

What names no owner in its address cannot be asked about. softquota measures it afterwards, and refuses the next
upload of an owner over the limit.
`;

interface Server {
  readonly title: string;
  /** The requests that grow storage and cannot be asked about. */
  readonly unasked: readonly string[];
}

const giteaUnasked = [
  'artifacts, logs and summaries of Actions (`/api/actions_pipeline/…`, `/twirp/…`): the address has the number of the run only',
  "new repositories of one's own, forks, transfers, repositories from a template, migrations (`/repo/create`, `/repo/migrate`, `/api/v1/user/repos`, `/api/v1/repos/migrate`, `…/fork`, `…/forks`, `…/_fork/…`, `…/generate`, `…/transfer`): the owner is in the body, or is the user who acts",
  'mirrors that are synchronized by schedule, or by the button in the settings',
  'LFS over ssh (`git-lfs-transfer`)',
];

const servers: Readonly<Record<PresetName, Server>> = {
  gitea: { title: 'Gitea', unasked: giteaUnasked },
  forgejo: { title: 'Forgejo', unasked: giteaUnasked },
  gitlab: {
    title: 'GitLab',
    unasked: [
      'everything of a project that is named by its number instead of its path',
      'artifacts and logs of CI (`/api/v4/jobs/…`), secure files, Terraform states',
      'new projects, forks, imports, transfers, snippets: the owner is in the body',
      'mirrors that are synchronized by schedule; what the dependency proxy stores while somebody reads',
    ],
  },
  gogs: {
    title: 'Gogs',
    unasked: [
      'attachments of issues and releases (`/issues/attachments`, `/releases/attachments`): the address names nobody',
      "new repositories of one's own, forks, migrations (`/repo/create`, `/repo/fork/…`, `/repo/migrate`, `/api/v1/user/repos`, `/api/v1/repos/migrate`): the owner is in the body, or is the user who acts",
      'mirrors that are synchronized by schedule',
    ],
  },
  verdaccio: {
    title: 'Verdaccio',
    unasked: [
      'packages without a scope',
      "a change of a package's list of versions (`…/-rev/…`), as `npm unpublish` makes it",
    ],
  },
  distribution: {
    title: 'Container registries (CNCF Distribution, `docker-registry`)',
    unasked: ['manifests, which have a few kilobytes; an upload that has begun goes on'],
  },
  lfs: { title: 'LFS servers', unasked: ['LFS over ssh (`git-lfs-transfer`)'] },
  'git-http': { title: 'git over http', unasked: [] },
};

const seen = {
  lfs: '`git lfs push` shows the reason',
  packages: 'the client shows [the reason](../uploads.md#what-the-client-shows)',
  containers: '`denied:` and the reason',
  other: '403, and the reason as JSON',
} as const;

export function uploadsReference(): string {
  return introduction + presetNames.map(section).join('') + early();
}

function section(preset: PresetName): string {
  const { title, unasked } = servers[preset];
  const routes: readonly PresetRoute[] = presetRoutes[preset];
  const left = unasked.map(each => `- ${each}\n`).join('');
  const none = routes.length === 0 ? 'Nothing, unless `EARLY` is on.\n' : '';
  const cannot = left === '' ? '' : `\nNot asked about:\n\n${left}`;
  return `\n## ${title}\n\n\`PRESET = ${preset}\`\n\n${none || table(routes)}${cannot}`;
}

function early(): string {
  return `\n## With EARLY\n\nWith \`EARLY = true\`, each preset of a git server asks about this, too:\n\n${table(gitRoutes)}`;
}

function table(routes: readonly PresetRoute[]): string {
  const rows = routes.flatMap(route =>
    route.urls.map(url => {
      const { methods, subject, part } = route;
      const isGrowing = subject !== 'none';
      const owner = /\{owner\}/.test(url) ? '`{owner}`' : 'none';
      const cells = isGrowing
        ? [
            owner,
            subjectWords(subject) + (part === 'later' ? ', by limits of a push and a file alone' : ''),
            shownFor(url, subject),
          ]
        : ['', 'grows nothing: not asked about', ''];
      return `| \`${url}\` | ${methods.join(', ')} | ${cells.join(' | ')} |\n`;
    }),
  );
  return `| route | method | owner | subject | what the user sees |\n|---|---|---|---|---|\n${rows.join('')}`;
}

function subjectWords(subject: PresetRoute['subject']): string {
  return subject === 'repository' ? "the repository's own: public or private" : `\`${subject}\``;
}

function shownFor(url: string, subject: PresetRoute['subject']): string {
  if (url.includes('git-receive-pack')) return '`remote:` and the reason';
  if (url.includes('lfs/objects/')) return seen.lfs;
  if (url.startsWith('/v2/')) return seen.containers;
  return subject === 'size:assets:packages:all' ? seen.packages : seen.other;
}
