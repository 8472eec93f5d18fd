/**
 * Draws every page of the web UI for docs/screenshots: on a desk in light colours, on a phone in dark ones,
 * of long pages the top. What they show is a server of the day's own (pictured-server.ts), in a mount
 * namespace that is gone afterwards.
 *
 * In:   nothing; root, since it mounts; after scripts/prepare-tests.
 * Out: docs/screenshots/*.webp. Exit: 0, or 1 and why.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../bench/processes.ts';
import { startRedis } from '../bench/redis.ts';
import { localAdminClient } from '../src/commands/client.ts';
import { addressOf, signInLink } from '../src/wire/index.ts';
import { ask } from '../test/e2e/ask.ts';
import { type Running as Browser, type Page, program, puppeteer } from '../test/e2e/browser.ts';
import { organizations, pictured, picturedFleet, sockets } from './pictured-server.ts';

const out = fileURLToPath(new URL('../docs/screenshots/', import.meta.url));
const rootUrl = 'http://git.example/quota/';
const own = 'in a namespace of its own';

/** Becomes this script again, with a host name, /srv and /var/lib that nobody else sees. */
const enter = `
set -e
hostname git.example
mkdir "$1/srv" "$1/lib"
mount --bind "$1/srv" /srv
mount --bind "$1/lib" /var/lib
mkdir /var/lib/softquota
exec "$2" "$3" '${own}'
`;

interface Picture {
  readonly address: string;
  /** Action on the page before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
}

/** Pages of each user, by the names of their pictures. */
const visits: Readonly<Record<string, Readonly<Record<string, Picture>>>> = {
  nobody: { 'sign-in': { address: addressOf('signIn') } },
  root: {
    overview: { address: addressOf('overview') },
    owners: { address: addressOf('owners') },
    owner: { address: addressOf('owner', 'alice') },
    repositories: { address: addressOf('repositories') },
    groups: { address: addressOf('groups') },
    group: { address: addressOf('group', 'free') },
    rules: { address: addressOf('rules') },
    rule: { address: addressOf('rule', 'ten-gigabytes') },
    'rule-edited': { address: addressOf('rule', 'ten-gigabytes'), act: editRule },
    policy: { address: addressOf('policy') },
    requests: { address: addressOf('requests') },
    scans: { address: addressOf('scans') },
    events: { address: addressOf('events') },
    notices: { address: addressOf('notices') },
    tokens: { address: addressOf('tokens') },
    'tokens-of-alice': { address: `${addressOf('tokens')}?user=alice` },
    sources: { address: addressOf('auths') },
    'source-tried': { address: addressOf('auths'), act: trySource },
    help: { address: addressOf('help') },
  },
  alice: {
    mine: { address: addressOf('mine') },
    organization: { address: addressOf('organization', 'acme') },
    'my-tokens': { address: addressOf('myTokens') },
  },
};

const looks = [
  { width: 1280, scheme: 'light', ending: '', most: 1500 },
  { width: 360, scheme: 'dark', ending: '-phone', most: 1200 },
] as const;

const [, , place] = process.argv;
if (place === own) await draw();
else process.exitCode = await inNamespace();

async function inNamespace(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'sq-'));
  const given = [folder, process.execPath, fileURLToPath(import.meta.url)];
  const child = spawn('unshare', ['--mount', '--uts', 'sh', '-c', enter, 'sh', ...given], {
    stdio: 'inherit',
  });
  const [code] = await once(child, 'close');
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
  return code === 0 ? 0 : 1;
}

async function draw(): Promise<void> {
  const port = await freePort();
  const browser = await puppeteer.launch({
    executablePath: program,
    headless: 'shell',
    args: ['--no-sandbox', `--host-resolver-rules=MAP git.example:80 127.0.0.1:${port}, MAP * ~NOTFOUND`],
  });
  try {
    await mkdir(out, { recursive: true });
    await drawServer(browser, port);
    await drawFleet(browser, port);
  } finally {
    await browser.close();
  }
}

async function drawServer(browser: Browser, port: number): Promise<void> {
  const daemon = await pictured(rootUrl, port);
  try {
    await rule();
    for (const [user, pictures] of Object.entries(visits)) await visit(browser, user, pictures);
  } finally {
    await daemon.stop();
  }
}

async function drawFleet(browser: Browser, port: number): Promise<void> {
  const redis = await startRedis('/var/lib/softquota/redis');
  try {
    const daemons = await picturedFleet(rootUrl, port, redis.port);
    try {
      await send('POST', '/admin/users', { username: 'root', is_admin: true });
      await visit(browser, 'root', { hosts: { address: addressOf('hosts') } });
    } finally {
      await daemons.stop();
    }
  } finally {
    await redis.stop();
  }
}

type Method = 'GET' | 'PATCH' | 'POST' | 'PUT';

async function send(method: Method, path: string, body?: unknown): Promise<unknown> {
  return localAdminClient({ server: { adminSocket: sockets.admin } }).get({ method, path, body });
}

async function rule(): Promise<void> {
  await send('POST', '/admin/users', { username: 'root', is_admin: true });
  for (const name of organizations) await send('PATCH', `/admin/users/${name}`, { type: 'organization' });
  await send('PUT', '/admin/orgs/acme/members/alice', { role: 'owner' });
  await send('PUT', '/admin/orgs/acme/members/dora', { role: 'member' });
  const group = (name: string, ...rules: readonly object[]) =>
    send('POST', '/admin/quota/groups', { name, rules });
  await group(
    'free',
    { name: 'ten-gigabytes', limit: 10e9, subjects: ['size:all'] },
    { name: 'artifacts', limit: 5e9, subjects: ['size:assets:artifacts'] },
  );
  await group('research', { name: 'forty-gigabytes', limit: 40e9, subjects: ['size:all'] });
  await group(
    'companies',
    { name: 'fifty-gigabytes', limit: 50e9, subjects: ['size:all'] },
    { name: 'artifacts-of-companies', limit: 8e9, subjects: ['size:assets:artifacts'] },
  );
  const into = (group: string, ...names: readonly string[]) =>
    Promise.all(names.map(name => send('PUT', `/admin/quota/groups/${group}/users/${name}`)));
  await into('free', 'alice', 'bob', 'carol', 'dora', 'emil', 'grace', 'hedy');
  await into('research', 'field-station', 'lab');
  await into('companies', 'acme');
  for (let count = 0; count < 4; count++) {
    await ask(sockets.gate, '/v1/check', { body: { path: '/srv/git/alice/site.git', actor: 'alice' } });
  }
  await send('POST', '/admin/auths', {
    name: 'company',
    openid_connect_auto_discovery_url: 'https://login.example/realms/git',
    client_id: 'softquota',
    quota_group_claim_name: 'groups',
    quota_group_map: { staff: ['companies'], guests: ['free'] },
    is_active: true,
  });
  await send('POST', '/users/alice/tokens', { name: 'backup script', scopes: ['read:user'] });
}

async function visit(browser: Browser, user: string, pictures: Readonly<Record<string, Picture>>) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  if (user !== 'nobody') {
    await page.goto(signInLink.parse(await send('POST', `/users/${user}/sign-in-link`)).url);
    await page.waitForFunction('!location.pathname.endsWith("/sign-in")');
  }
  for (const [name, { address, act }] of Object.entries(pictures)) {
    for (const { width, scheme, ending, most } of looks) {
      await page.setViewport({ width, height: 640 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(new URL(address, rootUrl).href);
      await isDrawn(page);
      await act?.(page);
      await isDrawn(page);
      const height = await page.evaluate('document.documentElement.scrollHeight');
      await page.screenshot({
        path: `${join(out, name + ending)}.webp`,
        type: 'webp',
        quality: 60,
        captureBeyondViewport: true,
        clip: { x: 0, y: 0, width, height: Math.min(Number(height), most) },
      });
    }
  }
  await context.close();
}

async function isDrawn(page: Page): Promise<void> {
  await page.waitForFunction('document.querySelector("h1") && !document.querySelector(".skeleton")');
}

async function editRule(page: Page): Promise<void> {
  await page.locator('main ::-p-text(Edit)').click();
  await page.locator('::-p-aria(Limit)').fill('8 GB');
  await page.waitForFunction(`document.querySelector('.effect')?.innerText.includes('newly')`);
}

async function trySource(page: Page): Promise<void> {
  await page.locator('main ::-p-text(Edit)').click();
  await page.locator('::-p-aria(User)').fill('dora');
  const claims = { sub: '8c1f', preferred_username: 'dora', groups: ['staff', 'choir'] };
  await page
    .locator('::-p-aria([name="Claims (payload of an ID token, JSON)"])')
    .fill(JSON.stringify(claims, null, 2));
  await page.locator('button[type=submit]::-p-text(Test)').click();
  await page.waitForFunction(`document.body.innerText.includes('Groups afterwards')`);
}
