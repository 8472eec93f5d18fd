/**
 * The manual as a site: docs/ and the pages of the project that it leads to, with a search over all of it.
 *
 * VitePress needs Vite 5, which npm installs beside the Vite 8 of the web UI, for this build alone.
 */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const root = fileURLToPath(new URL('../..', import.meta.url));

const forges = ['gitea', 'forgejo', 'gogs', 'gitlab'] as const;
const names = { gitea: 'Gitea', forgejo: 'Forgejo', gogs: 'Gogs', gitlab: 'GitLab' };

/** Chapters, in the order in which an administrator needs them; pages by their path below docs/. */
const chapters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'First steps': {
    'On a real server': '/docs/install',
    'Plain git over ssh': '/docs/install#over-ssh',
    'Plain git over http': '/docs/install#over-http',
    gitolite: '/docs/install#with-gitolite',
    'Quick reference': '/docs/quick-reference',
    'What init recognises': '/docs/init',
    'The hooks': '/docs/hooks',
  },
  Forges: {
    ...Object.fromEntries(forges.map(forge => [names[forge], `/docs/forges/${forge}`])),
    'The quota in their pages': '/docs/forges/pages',
    'Sign-in by a forge': '/docs/forges/sign-in',
    'Hooks in a forge': '/docs/forges/hooks',
    'From Forgejo': '/docs/from-forgejo',
  },
  Uploads: {
    'LFS and uploads': '/docs/uploads',
    'Requests, by server': '/docs/forges/uploads',
    'Ending an upload early': '/docs/receive-pack',
    'Precise limits': '/docs/precise',
  },
  Policy: {
    'Rules and groups by example': '/docs/policy',
    'Users and tokens': '/docs/users',
    'Requests for more': '/docs/requests',
    'What counts': '/docs/measuring',
    'Sign-in with OAuth2': '/docs/oauth',
    'The web UI': '/docs/web',
  },
  Operating: {
    'As a service': '/docs/systemd',
    'In a container': '/docs/docker',
    'In Kubernetes': '/docs/kubernetes',
    'Several hosts: Redis': '/docs/redis',
    'Notices: webhooks and mail': '/docs/notices',
    'Metrics and alerts': '/docs/metrics',
    Events: '/docs/events',
    'Usage history': '/docs/history',
    'Freeing space': '/docs/reclaim',
    'A disk that does not fill': '/docs/disk',
    'Backup and restore': '/docs/backup',
    Sizing: '/docs/sizing',
    Performance: '/docs/performance',
    Upgrade: '/docs/upgrade',
  },
  Troubleshooting: {
    'By symptom': '/docs/troubleshooting',
    'Findings of doctor': '/docs/doctor',
    'When something fails': '/docs/reliability',
    'A refused push': '/docs/refused',
    'Security model': '/docs/security',
    'Report a vulnerability': '/SECURITY',
  },
  Reference: {
    Configuration: '/docs/configuration',
    Commands: '/docs/commands',
    'HTTP API': '/docs/api',
    'Scripts for the API': '/docs/scripts',
    'The gate': '/docs/gate',
    'Asking from a program': '/docs/programs',
    Errors: '/docs/errors',
  },
  'Changing softquota': {
    Architecture: '/docs/architecture',
    Modules: '/docs/reference/modules',
    'Keys in Redis': '/docs/reference/redis-keys',
    'Files of the flows': '/docs/reference/flows',
    Size: '/docs/reference/size',
    Contributing: '/CONTRIBUTING',
    Releasing: '/docs/releasing',
    Benchmarks: '/bench/README',
    Changes: '/CHANGELOG',
  },
};

/**
 * Tells a link to a file of the tree from one to a page, to a heading or to elsewhere. Throws if the file is
 * not there: VitePress looks only at links to pages.
 */
function isFile(link: string, page: string): boolean {
  if (/^(#|[a-z]+:)/.test(link) || /\.md(#.*)?$/.test(link)) return false;
  if (!existsSync(join(root, dirname(page), link))) throw new Error(`${page}: the link to ${link} is dead`);
  return true;
}

/** A link to the project's README leads to the front page, which it is. */
function onSite(link: string, page: string): string {
  const [path = '', heading] = link.split('#');
  if (join(dirname(page), path) !== 'README.md') return link;
  return heading === undefined ? '/' : `/#${heading}`;
}

export default defineConfig({
  title: 'softquota',
  description: 'A soft disk quota for any git server',
  lang: 'en',
  srcDir: '..',
  srcExclude: ['{.*,data,dist,hooks,node_modules,packaging,scripts,site,src,test,var,web}/**'],
  outDir: '../var/site',
  cacheDir: '../node_modules/.cache/vitepress',
  // Links lead the same ways as in the tree; the project's README is the front page.
  rewrites: { 'README.md': 'index.md' },
  markdown: {
    config: md => {
      // Other files of the tree are not on the site.
      md.core.ruler.push('as in the tree', ({ tokens, env }) => {
        for (const { children } of tokens) {
          const opened: boolean[] = [];
          for (const token of children ?? []) {
            // What stands in braces there is no expression of the site's.
            if (token.type === 'code_inline') token.attrSet('v-pre', '');
            if (token.type === 'link_open') {
              const link = token.attrGet('href') ?? '';
              opened.push(isFile(link, env.relativePath));
              token.attrSet('href', onSite(link, env.relativePath));
            }
            const isUnlinked = token.type === 'link_close' ? opened.pop() : opened.at(-1);
            if (isUnlinked === true && /^link_(open|close)$/.test(token.type)) token.type = 'text';
          }
        }
      });
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [{ text: 'Manual', link: '/docs/README' }],
    sidebar: Object.entries(chapters).map(([text, pages]) => ({
      text,
      items: Object.entries(pages).map(([name, link]) => ({ text: name, link })),
    })),
  },
});
