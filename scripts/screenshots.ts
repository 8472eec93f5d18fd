/**
 * Draws every page of the web UI for docs/screenshots: whole on a desk in light colours, the top on a phone in dark ones. The world that
 * they show is the playground's with some more in it; it is made, and taken away again.
 *
 * In:   nothing; the web UI is to be built, and Chromium to be there. Out: docs/screenshots/*.png. Exit: 0, or 1 and why.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer, { type Browser } from 'puppeteer-core';
import { localAdminClient } from '../src/commands/client.ts';
import { makeWorld, startDaemon, type World } from '../src/playground/index.ts';
import { leaves } from '../src/quota/index.ts';
import { addressOf, signInLink } from '../src/wire/index.ts';
import { ask } from '../test/e2e/ask.ts';

const out = fileURLToPath(new URL('../docs/screenshots/', import.meta.url));

/** Whose pages, each with a name of its picture and an address. */
const visits = {
  admin: {
    overview: addressOf('overview'),
    owners: addressOf('owners'),
    owner: addressOf('owner', 'alice'),
    groups: addressOf('groups'),
    group: addressOf('group', 'free'),
    rules: addressOf('rules'),
    rule: addressOf('rule', 'one-megabyte'),
    policy: addressOf('policy'),
    scans: addressOf('scans'),
    events: addressOf('events'),
    hosts: addressOf('hosts'),
    tokens: `${addressOf('tokens')}?user=alice`,
    sources: addressOf('auths'),
  },
  alice: {
    mine: addressOf('mine'),
    organization: addressOf('organization', 'acme'),
    'my-tokens': addressOf('myTokens'),
  },
} as const;

const sizes = {
  desk: { width: 1280, scheme: 'light', ending: '' },
  phone: { width: 360, scheme: 'dark', ending: '-phone' },
} as const;

const folder = await mkdtemp(join(tmpdir(), 'sq-'));
const world = await makeWorld(join(folder, 'playground'));
const daemon = await startDaemon(world);
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  await furnish(world);
  await mkdir(out, { recursive: true });
  for (const [user, pages] of Object.entries(visits)) await visit(browser, user, pages);
} finally {
  await browser.close();
  await daemon.stop();
  await world.clear();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
}

async function send(
  method: 'GET' | 'PATCH' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
): Promise<unknown> {
  return localAdminClient({ server: { adminSocket: world.adminSocket } }).get({ method, path, body });
}

async function furnish({ directory, adminSocket }: World): Promise<void> {
  const trusted = adminSocket.replace('admin.sock', 'trusted.sock');
  for (const [index, owner] of ['acme', 'bob', 'carol', 'dora', 'emil'].entries()) {
    for (const [at, subject] of leaves.entries()) {
      const bytes = (((index * 5 + at * 3) % 7) + 1) * 9_000;
      await ask(trusted, '/v1/units', { body: { owner, subject, unit: `${subject} of ${owner}`, bytes } });
    }
  }
  await send('POST', '/admin/users', { username: 'admin', is_admin: true });
  await send('PATCH', '/admin/users/acme', { type: 'organization' });
  await send('PUT', '/admin/orgs/acme/members/alice', { role: 'owner' });
  const rule = { name: 'one-megabyte', limit: 1_000_000, subjects: ['size:all'] };
  const media = { name: 'media', limit: 200_000, subjects: ['size:git:lfs', 'size:assets:attachments:all'] };
  await send('POST', '/admin/quota/groups', { name: 'free', rules: [rule, media] });
  await send('POST', '/admin/quota/groups', {
    name: 'unlimited',
    rules: [{ ...rule, name: 'all', limit: -1 }],
  });
  for (const user of ['alice', 'bob', 'dora']) await send('PUT', `/admin/quota/groups/free/users/${user}`);
  await send('PUT', '/admin/quota/groups/unlimited/users/acme');
  const path = join(directory, 'git', 'alice', 'site.git');
  for (let count = 0; count < 3; count++)
    await ask(world.socket, '/v1/check', { body: { path, actor: 'alice' } });
  await send('POST', '/admin/auths', {
    name: 'company',
    openid_connect_auto_discovery_url: 'https://login.example/realms/git',
    client_id: 'softquota',
    quota_group_claim_name: 'groups',
    quota_group_map: { staff: ['unlimited'], guests: ['free', 'guests'] },
    is_active: false,
  });
  await send('POST', '/users/alice/tokens', { name: 'backup script', scopes: ['read:user'] });
}

async function visit(browser: Browser, user: string, pages: Readonly<Record<string, string>>): Promise<void> {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const link = new URL(signInLink.parse(await send('POST', `/users/${user}/sign-in-link`)).url);
  await page.goto(link.href);
  await page.waitForFunction('!location.pathname.endsWith("/sign-in")');
  for (const [name, address] of Object.entries(pages)) {
    for (const { width, scheme, ending } of Object.values(sizes)) {
      await page.setViewport({ width, height: 800 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(new URL(address, new URL('./', link)).href);
      await page.waitForFunction('document.querySelector("h1") && !document.querySelector(".skeleton")');
      await page.screenshot({
        path: join(out, `${name}${ending}.png`),
        fullPage: true,
        optimizeForSpeed: false,
      });
    }
  }
  await context.close();
}
