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

const forges = ['gitea', 'forgejo', 'gogs', 'gitlab', 'soft-serve'] as const;
const names = {
  gitea: 'Gitea',
  forgejo: 'Forgejo',
  gogs: 'Gogs',
  gitlab: 'GitLab',
  'soft-serve': 'soft-serve',
};

/** Chapters, in the order of docs/README.md; pages by their path below docs/. */
const chapters: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    Manual: '/docs/README',
    'Install on a real server': '/docs/install',
    'Plain git over ssh': '/docs/install#over-ssh',
    'Plain git over http': '/docs/install#over-http',
    gitolite: '/docs/install#with-gitolite',
    'In a container': '/docs/docker',
    'In Kubernetes': '/docs/kubernetes',
    'What init recognises': '/docs/init',
    'Quick reference': '/docs/quick-reference',
    'A refused push': '/docs/refused',
  },
  'Guides: limits': {
    'Limit owners, groups and files': '/docs/policy',
    'Limit courses, labs and staff': '/docs/policy#a-university-courses-labs-and-staff',
    'What others limit': '/docs/policy#what-others-limit',
    'Users, organizations, tokens': '/docs/users',
    'More space for a time': '/docs/requests',
    'Your identity provider': '/docs/oauth',
    'Use the web UI': '/docs/web',
    "Take over Forgejo's quotas": '/docs/from-forgejo',
  },
  'Guides: pushes and uploads': {
    'Refuse pushes: the hooks': '/docs/hooks',
    'Refuse pushes in a forge': '/docs/forges/hooks',
    'Refuse before the upload': '/docs/receive-pack',
    'Count what is about to come': '/docs/precise',
    'Let a proxy ask before uploads': '/docs/uploads',
    'What is asked, by server': '/docs/forges/uploads',
    'Ask from your own program': '/docs/programs',
    ...Object.fromEntries(forges.map(forge => [names[forge], `/docs/forges/${forge}`])),
    'The quota in their pages': '/docs/forges/pages',
    'Sign-in by a forge': '/docs/forges/sign-in',
  },
  'Guides: operating': {
    'Run it as a service': '/docs/systemd',
    'Free space': '/docs/reclaim',
    'When the disk fills': '/docs/disk',
    'Tell people: webhooks and mail': '/docs/notices',
    'Watch it with Prometheus': '/docs/metrics',
    'See how usage grows': '/docs/history',
    'Move to Redis': '/docs/redis',
    'Back up and restore': '/docs/backup',
    Upgrade: '/docs/upgrade',
    'By symptom': '/docs/troubleshooting',
    'Scripts for the API': '/docs/scripts',
  },
  Reference: {
    Configuration: '/docs/configuration',
    Commands: '/docs/commands',
    'HTTP API': '/docs/api',
    'The gate': '/docs/gate',
    Events: '/docs/events',
    'Findings of doctor': '/docs/doctor',
    Errors: '/docs/errors',
  },
  Explanation: {
    'What counts': '/docs/measuring',
    'When something fails': '/docs/reliability',
    'Security model': '/docs/security',
    'Report a vulnerability': '/SECURITY',
    Sizing: '/docs/sizing',
    Performance: '/docs/performance',
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
