/**
 * The lines for nginx inside what administrators have around them: body limits, caches, error pages, address
 * lists, passwords, sign-in services, paths. Nothing gets wider by them, and the reason is never lost.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { served } from '../served.ts';
import {
  batchPath,
  bobsPath,
  exceededWords,
  holdsForBatch,
  kill,
  lfsDesk,
  openForge,
  packagePath,
  worksBelow,
} from './behind-proxy.ts';
import { readGuide } from './guide.ts';
import type { Around } from './proxies.ts';
import { run } from './run.ts';
import { startNginx } from './transports.ts';

t.setTimeout(300_000);

const { server, behind } = await openForge(t, 'original');
/** Larger than what nginx takes where nothing is said of it. */
const large = await server.file('large', 'x'.repeat(2_000_000));

/** Alice over her limit, behind nginx. */
async function open(t: Test, around: Around) {
  const opened = await behind(t, 'nginx', around);
  await opened.uses(1_200_000);
  return { ...opened, to: opened.curl };
}

/** A folder with one user: alice, with the password `secret`. */
async function passwords(folder: string): Promise<string> {
  const file = join(folder, 'passwords');
  await writeFile(file, 'alice:{PLAIN}secret\n');
  return `auth_basic git; auth_basic_user_file ${file};`;
}

t.test('with a body limit in http, uploads pass, and a refused one is told why', async t => {
  const { to, forge } = await open(t, { server: '', http: 'client_max_body_size 512m;' });
  t.match(await to(bobsPath, '-T', large), / 201 /);
  t.match(forge.came, [{ bytes: 2_000_000 }]);
  t.match(await to(packagePath, '-T', large, '-H', 'Expect:'), `403 ${exceededWords}`);
  t.equal(forge.came.length, 1);
});

const forwarded = `proxy_set_header X-Real-IP $remote_addr;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  proxy_set_header X-Forwarded-Proto $scheme;`;

/** The pages about nginx of the forges' own manuals; the port is the one of this test. */
const pages: Readonly<Record<string, Around>> = {
  'Gitea and Forgejo': {
    server: '',
    location: `proxy_set_header Connection $http_connection;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Host $host:$server_port;
      ${forwarded}
      client_max_body_size 512M;`,
  },
  GitLab: {
    http: "map $http_upgrade $connection_upgrade_gitlab { default upgrade; '' close; }",
    server: `server_tokens off;
      error_page 404 /404.html;
      error_page 422 /422.html;
      error_page 500 /500.html;
      error_page 502 /502.html;
      error_page 503 /503.html;
      location ~ ^/(404|422|500|502|503)\\.html$ { root /usr/share/nginx/html; internal; }`,
    location: `client_max_body_size 0;
      gzip off;
      proxy_read_timeout 300;
      proxy_connect_timeout 300;
      proxy_redirect off;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      ${forwarded}
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade_gitlab;`,
  },
};

for (const [name, around] of Object.entries(pages)) {
  t.test(`in the manual’s lines of ${name}, uploads and LFS are refused with reason, or arrive`, async t => {
    const { to, forge, url, uses } = await open(t, around);
    t.match(await to(packagePath, '-T', large), `403 ${exceededWords}`);
    const desk = await lfsDesk(server, url);
    t.match((await desk.push('a.bin')).stderr, exceededWords);
    t.equal(forge.puts(), 0);
    t.match(await to(bobsPath, '-T', large), / 201 /);
    await uses(900_000);
    t.match(await desk.push('b.bin'), { code: 0 });
    await kill(t, server);
    t.match(await to(packagePath, '-T', large), / 201 /);
    t.match(await desk.push('c.bin'), { code: 0 });
  });
}

t.test('lines in the server, as Omnibus GitLab has them, keep the reason', async t => {
  const { to } = await open(t, { isInServer: true, isWithoutBatch: true });
  t.match(await to(packagePath, '-T', large), `403 ${exceededWords}`);
  t.match(await to(bobsPath, '-T', large), / 201 /);
});

t.test('a cache around them stores no answer', async t => {
  const { to, uses } = await open(t, {
    http: `proxy_cache_path /tmp/sq-cache-${process.pid} keys_zone=all:1m; proxy_cache all; proxy_cache_valid any 10m; proxy_cache_methods GET HEAD POST; proxy_cache_key $host;`,
  });
  await uses(900_000);
  t.match(await to(packagePath, '-d', 'x'), / 200 /);
  await uses(1_200_000);
  t.match(await to(packagePath, '-d', 'x'), `403 ${exceededWords}`);
  await uses(900_000);
  t.match(await to(packagePath, '-d', 'x'), / 200 /);
  await run('rm', ['-r', `/tmp/sq-cache-${process.pid}`]);
});

t.test('error pages around them keep the reason, and 403 of others is neither ours nor 503', async t => {
  const folder = '/usr/share/nginx/html';
  const { to, forge } = await open(t, {
    http: `proxy_intercept_errors on; error_page 403 404 500 502 503 504 /own.html;`,
    location: `if ($http_x_denied) { return 403; } root ${folder};`,
  });
  t.match(await to(packagePath, '-T', large), `403 ${exceededWords}`);
  const denied = await to(packagePath, '-T', large, '-H', 'X-Denied: yes');
  t.match(denied, / 403 /);
  t.notMatch(denied, /Quota|quota/);
  t.match(await to('/forbidden'), / 403 /);
  t.notMatch(await to('/forbidden'), /quota/);
  t.equal(forge.came.length, 2);
});

t.test('an address that is denied is answered 403, and nobody is asked', async t => {
  const { to, forge } = await open(t, { location: 'deny all;' });
  for (const path of [packagePath, batchPath, '/alice/app']) {
    const denied = await to(path, '-T', large);
    t.match(denied, / 403 Forbidden/);
    t.notMatch(denied, /[Qq]uota/);
  }
  t.same(forge.came, []);
});

t.test('satisfy any around them lets nobody in without a password', async t => {
  const lines = await passwords(t.testdir());
  const { to, forge } = await open(t, {
    server: `client_max_body_size 0; satisfy any; deny 127.0.0.1; ${lines}`,
  });
  for (const path of [bobsPath, batchPath, '/alice/app', packagePath])
    t.match(await to(path, '-T', large), /^HTTP\/1\.1 40[13] /);
  t.same(forge.came, []);
});

t.test('passwords and cleaned headers hold for the LFS batch as well', async t => {
  const lines = await passwords(t.testdir());
  const clean = 'proxy_set_header X-WEBAUTH-USER $remote_user;';
  await holdsForBatch(t, await open(t, { location: `${lines} ${clean}` }));
});

t.test('a sign-in service in a server of its own is asked first, and its absence lets nobody in', async t => {
  let answer = 401;
  const signIn = createServer((_request, response) => response.writeHead(answer).end());
  const port = await served(t, signIn);
  const opened = await open(t, {});
  const lines = (await readGuide('uploads.md')).find(({ kind }) => kind === 'nginx outer')?.text ?? '';
  const inner = new URL(opened.url).port;
  const outer = await startNginx(
    t,
    join(server.folder, 'outer'),
    `client_max_body_size 0;
    location = /sign-in { internal; proxy_pass http://127.0.0.1:${port}; proxy_pass_request_body off; proxy_set_header Content-Length ""; }
    location / { auth_request /sign-in; ${lines.replace('3083', inner)} }`,
  );
  const put = async (path: string) =>
    (await run('curl', ['-q', '-s', '-i', '-T', large, `http://127.0.0.1:${outer}${path}`])).stdout;
  t.match(await put(bobsPath), / 401 /);
  answer = 200;
  t.match(await put(bobsPath), / 201 /);
  t.match(await put(packagePath), exceededWords);
  signIn.closeAllConnections();
  signIn.close();
  t.match(await put(bobsPath), / 500 /);
  t.equal(opened.forge.came.length, 1);
});

t.test('addresses of 20 kB are asked about, and no failure', async t => {
  const { to } = await open(t, { http: 'large_client_header_buffers 4 64k;' });
  const long = `?${'x'.repeat(20_000)}`;
  t.match(await to(packagePath + long, '-T', large), `403 ${exceededWords}`);
  t.match(await to(bobsPath + long, '-T', large), / 201 /);
});

t.test('below a path, as the pages of Gitea have it, LFS works with a daemon and without', async t => {
  const strip = 'rewrite ^ $request_uri; rewrite ^(/git)?(/.*) $2 break; proxy_pass http://$forge$uri;';
  const desk = await worksBelow(t, server, () => open(t, { location: strip }));
  await kill(t, server);
  t.match(await desk.push('c.bin'), { code: 0 });
});

t.test('a daemon that ends before it has told the reason: 403, with the reason as a text', async t => {
  const { to } = await open(t, {
    edit: text => text.replace(/(refusal break;\n\s+proxy_pass http:\/\/)softquota/, '$1127.0.0.1:1'),
  });
  const refused = await to(packagePath, '-T', large);
  t.match(refused, / 403 /);
  t.match(refused, exceededWords);
});

t.test('the lines that ingress-nginx writes for its annotations refuse uploads', async t => {
  const { url } = await open(t, {});
  const gate = /^PORT = (\d+)$/m.exec(await readFile(server.config, 'utf8'))?.[1];
  const port = await startNginx(
    t,
    join(server.folder, 'ingress'),
    `location = /_external-auth {
      internal;
      client_max_body_size 0;
      proxy_pass_request_body off;
      proxy_method GET;
      proxy_set_header Content-Length "";
      proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
      proxy_set_header X-Original-Method $request_method;
      proxy_set_header X-Auth-Request-Redirect $request_uri;
      proxy_pass_request_headers on;
      proxy_http_version 1.1;
      proxy_pass http://127.0.0.1:${gate}/v1/forward-auth;
    }
    location / {
      auth_request /_external-auth;
      client_max_body_size 0;
      proxy_pass ${url};
    }`,
  );
  const file = join(server.folder, 'upload');
  const put = async (path: string) =>
    (await run('curl', ['-q', '-s', '-i', '-T', file, `http://127.0.0.1:${port}${path}`])).stdout;
  t.match(await put(packagePath), / 403 /);
  t.match(await put(bobsPath), / 201 /);
});
