/**
 * The quota in the pages of a real Gitea, and signing in by it, in Chromium, set up as the manual says. Only the
 * long run builds it.
 */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { z } from 'zod';
import { until } from '../e2e/ask.ts';
import { Browser, type Tab } from '../e2e/browser.ts';
import { Server } from '../e2e/server.ts';
import { freePort, startNginx } from '../e2e/transports.ts';
import { RealForge } from './real-forge.ts';
import { namedStorages } from './storages.ts';

const files = fileURLToPath(new URL('../../docs/forges/pages', import.meta.url));

const source = z.object({ id: z.number(), redirect_uri: z.string(), warning: z.string().nullish() });
const application = z.object({ client_id: z.string(), client_secret: z.string() });

t.setTimeout(1_800_000);

t.test('a user signs in by the forge, and sees the quota on its pages while softquota is there', async t => {
  const server = await Server.open(t, { started: false });
  const folder = join(server.folder, 'gitea');
  const forge = await RealForge.start(t, { folder });
  const alice = await forge.user('alice');
  await forge.ask('POST', '/api/v1/admin/users/alice/repos', { name: 'app', auto_init: true });
  const own = await freePort();
  const below = (path: string, port: string) =>
    `location ${path} { proxy_pass http://127.0.0.1:${port}; proxy_set_header Host $http_host; }`;
  const locations = [below('/quota/', String(own)), below('/', new URL(forge.url).port)];
  const port = await startNginx(t, join(server.folder, 'nginx'), locations.join('\n'));
  const url = `http://127.0.0.1:${port}`;
  await server.configure({
    server: { HTTP_PORT: String(own), ROOT_URL: `${url}/quota/`, TRUSTED_PROXIES: '127.0.0.1' },
    forge: { KIND: 'gitea', CONFIG: forge.config },
    ...namedStorages(forge.repositories),
  });
  await server.start();
  const { config } = forge;
  await writeFile(config, (await readFile(config, 'utf8')).replace(/^ROOT_URL = .*$/m, `ROOT_URL = ${url}/`));
  for (const place of ['custom/public/assets', 'custom/templates/custom'])
    await mkdir(join(folder, place), { recursive: true });
  await cp(join(files, 'softquota.js'), join(folder, 'custom/public/assets/softquota.js'));
  await cp(join(files, 'footer.tmpl'), join(folder, 'custom/templates/custom/footer.tmpl'));
  await forge.restart();

  const asked = async (path: string, body: object, method = 'POST') => {
    const { status, text } = await server.ask('admin', path, { body, method });
    t.ok(status < 300, `${method} ${path}: ${text}`);
    return JSON.parse(text);
  };
  const { id, redirect_uri } = source.parse(
    await asked('/api/v1/admin/auths', {
      name: 'forge',
      openid_connect_auto_discovery_url: `${url}/`,
      client_id: 'later',
      trust_usernames: true,
    }),
  );
  const { client_id, client_secret } = application.parse(
    await forge.ask('POST', '/api/v1/user/applications/oauth2', {
      name: 'softquota',
      confidential_client: true,
      redirect_uris: [redirect_uri],
    }),
  );
  const path = `/api/v1/admin/auths/${id}`;
  t.notOk(source.parse(await asked(path, { client_id, client_secret }, 'PATCH')).warning);

  const tab = await (await Browser.open(t)).tab();
  // A Gitea without its front end complains of that.
  tab.page.on('dialog', dialog => dialog.accept());
  await signInAtForge(tab, url, alice);
  await tab.go(`${url}/alice/app`);
  t.equal(await tab.page.$('#softquota'), null, 'nothing is shown to who is signed out of softquota');

  await tab.go(`${url}/quota/sign-in`);
  await tab.click('main ::-p-text(forge)');
  await tab.click('#authorize-app');
  await until(
    () => (tab.page.url() === `${url}/quota/mine` ? true : null),
    () => `it arrived at ${tab.page.url()}\n${server.daemon.log}`,
  );
  t.match(await tab.read('h1'), /My usage/, 'the account of the forge is the one of softquota');

  const stored = { owner: 'alice', subject: 'size:assets:artifacts', unit: 'x', bytes: 880_000 };
  t.equal((await server.ask('trusted', '/v1/units', { body: stored })).status, 200);
  for (const page of ['alice/app', 'alice/app/settings', 'user/settings']) {
    await tab.go(`${url}/${page}`);
    t.match(await tab.read('#softquota'), /Storage\s+(88|89|9\d)\d(\.\d)? kB of 1 MB/, page);
    t.equal(await tab.page.$eval('#softquota a', link => link.getAttribute('href')), '/quota/mine');
  }
  if (process.env.SOFTQUOTA_SCREENSHOTS !== undefined)
    await tab.page.screenshot({ path: join(process.env.SOFTQUOTA_SCREENSHOTS, 'settings.png') });

  await server.stop();
  tab.complaints.length = 0;
  await tab.go(`${url}/alice/app`);
  await tab.page.waitForNetworkIdle();
  t.equal(await tab.page.$('#softquota'), null, 'while softquota is away nothing is shown');
  t.notOk(
    tab.complaints.some(complaint => /softquota\.js|Uncaught/.test(complaint)),
    tab.complaints.join('\n'),
  );
});

async function signInAtForge(
  tab: Tab,
  url: string,
  { name, password }: { readonly name: string; readonly password: string },
): Promise<void> {
  await tab.go(`${url}/user/login`);
  await tab.fill('#user_name', name);
  await tab.fill('#password', password);
  await Promise.all([tab.page.waitForNavigation(), tab.page.keyboard.press('Enter')]);
}
