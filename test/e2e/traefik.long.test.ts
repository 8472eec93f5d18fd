/** Uploads through a real Traefik, configured as docs/uploads.md has it. */

import { createServer } from 'node:http';
import t from 'tap';
import { served } from '../served.ts';
import { testProxy } from './behind-proxy.ts';
import { proxies } from './proxies.ts';
import { Server } from './server.ts';
import { testSpellings } from './spellings.ts';
import { freePort } from './transports.ts';

t.setTimeout(900_000);

t.test('traefik', t => testProxy(t, 'traefik'));
testSpellings('traefik');

t.test('without the fallback nothing is let through while there is no daemon', async t => {
  const server = await Server.open(t, {
    ini: { gate: { PRESET: 'gitea', HEADERS: 'forwarded', PORT: String(await freePort()) } },
  });
  const port = await served(
    t,
    createServer((_request, response) => response.end()),
  );
  const edit = (routes: string): string =>
    routes
      .replace('      service: softquota\n', '      service: gate\n')
      .replace(/^ {4}softquota:\n {6}failover:\n(?: {8,}.*\n)+/m, '');
  const proxy = await proxies.traefik.open(t, server, port, { edit });
  const put = async () => {
    const url = `http://127.0.0.1:${proxy}/api/packages/alice/generic/tool/1.0/file`;
    return (await fetch(url, { method: 'PUT', body: 'x' })).status;
  };
  t.equal(await put(), 200);
  await server.stop('SIGKILL');
  t.equal(await put(), 502);
});
