/**
 * Every route of each preset in 40 spellings (every fourth in the ordinary run), through a real proxy to a
 * server that takes all of them: what would grow storage never gets there for an owner over the limit.
 */

import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { lfsBatchRoutes, presetNames, routesOf } from '../../src/layout/index.ts';
import { some } from '../run-length.ts';
import { served } from '../served.ts';
import { proxies } from './proxies.ts';
import { Server } from './server.ts';
import { freePort } from './transports.ts';

/** Ways to write an address, each of which some server reads as the same one. */
const ways: readonly ((path: string) => string)[] = (() => {
  const last = (path: string, change: (name: string) => string) =>
    path.replace(/[^/]+$/, name => change(name));
  const percent = (sign: string) => `%${sign.charCodeAt(0).toString(16)}`;
  const inner: ((path: string) => string)[] = [
    path => path,
    path => path.replace('/', '//'),
    path => path.replaceAll('/', '//'),
    path => path.replaceAll('/', '///'),
    path => `/.${path}`,
    path => `/x/..${path}`,
    path => `/x/%2e%2e${path}`,
    path => path.replaceAll('/', '/./'),
    path => path.replace(/\/([^/]+)$/, '/x/../$1'),
    path => path.replace(/\/([^/]+)$/, '/%2E/$1'),
    path => last(path, name => percent(name.slice(0, 1)) + name.slice(1)),
    path => last(path, name => name.replaceAll(/[a-z]/g, percent)),
    path => path.replaceAll(/(?<=\/)[a-z]/g, percent),
    path => path.replaceAll(/[a-z]/g, sign => percent(sign).toUpperCase()),
    path => path.toUpperCase(),
    path => last(path, name => name.toUpperCase()),
    path => path.replace(/(?<=.)\/(?=[^/]+$)/, '%2F'),
    path => path.replace(/(?<=.)\/(?=[^/]+$)/, '%2f'),
    path => path.replaceAll(/(?<=.)\//g, '%2F'),
    path => path.replace(/(?<=.)\/(?=[^/]+$)/, '/%2F'),
  ];
  const ends = ['', '/'];
  return inner.flatMap(way => ends.map(end => (path: string) => way(path) + end));
})();

/** A request of each route, for alice; `passesLength`: also of those that are asked by their length alone. */
function requests(passesLength: boolean): readonly { readonly method: string; readonly path: string }[] {
  const routes = [...routesOf(presetNames, '/', false), ...lfsBatchRoutes('/')];
  const written = (template: string) =>
    template
      .replaceAll('{owner}', 'alice')
      .replaceAll('{repo}', 'app.git')
      .replaceAll('{size}', '9')
      .replaceAll('**', 'a/b')
      .replaceAll('*', 'c');
  const all = routes
    .filter(({ subject, part }) => subject !== 'none' && (passesLength || part !== 'later'))
    .flatMap(({ methods, templates }) =>
      templates.map(({ text }) => ({ method: methods[0] ?? 'PUT', path: written(text) })),
    );
  return [...new Map(all.map(each => [`${each.method} ${each.path}`, each])).values()];
}

/** Status from the proxy, by a client that writes the address as it is. */
async function statusOf(port: number, method: string, path: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  const body = '{"operation":"upload","objects":[]}';
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n`;
  socket.write(
    `${head}Content-Type: application/vnd.git-lfs+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const answer = await text(socket);
  return Number(/^HTTP\/1\.[01] (\d+)/.exec(answer)?.[1]);
}

export function testSpellings(name: keyof typeof proxies): void {
  t.test(`${name}: each route of each preset, however it is spelled`, async t => {
    const came: string[] = [];
    const wanted = { oid: 'a'.repeat(64), size: 9, actions: { upload: { href: 'http://git.example/' } } };
    const forge = createServer((request, response) => {
      came.push(`${request.method} ${request.url}`);
      request.resume();
      response.end(JSON.stringify({ objects: [wanted] }));
    });
    const forgePort = await served(t, forge);
    const { headers, open, passesLength } = proxies[name];
    const server = await Server.open(t, {
      ini: {
        quota: { DEFAULT_GROUPS: 'everybody' },
        'quota.default': { TOTAL: '0' },
        gate: { PRESET: presetNames.join(), HEADERS: headers, PORT: String(await freePort()) },
        lfs: { UPSTREAM: `http://127.0.0.1:${forgePort}/` },
      },
    });
    // Layers of an image are asked about by limits of what comes alone.
    const rules = [{ name: 'tiny', limit: 1, subjects: ['size:all'], per: 'push' }];
    await server.admin('/admin/quota/groups', { body: { name: 'everybody', rules } });
    const port = await open(t, server, forgePort);
    const passed: string[] = [];
    const tried = some(ways, 4);
    for (const { method, path } of requests(passesLength)) {
      const isBatch = path.endsWith('/batch');
      for (const way of tried) {
        const spelled = way(path);
        came.length = 0;
        const status = await statusOf(port, method, spelled);
        // A batch is passed on to the forge, and its answer is not passed back.
        const isRefused = isBatch ? status === 507 : status === 403 && came.length === 0;
        const isNoAddress = came.length === 0 && [400, 404, 405].includes(status);
        if (!isRefused && !isNoAddress) passed.push(`${method} ${spelled}: ${status}`);
      }
    }
    t.same(passed, []);
    t.ok(ways.length >= 40);
  });
}
