/**
 * Uploads of all sizes, sent in all ways, through each proxy while softquota answers, refuses, hangs, is gone
 * or starts anew: what is allowed arrives whole and once, what is refused shows the reason and is not
 * received, and without softquota the printed fallback is there within 2.5 seconds.
 *
 * The ordinary run has nginx, Caddy, and two of the sizes.
 */

import { writeFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import {
  batchPath,
  emptyBatch,
  exceededWords,
  lfsDesk,
  openBehindProxy,
  packagePath,
} from './behind-proxy.ts';
import type { Around, proxies } from './proxies.ts';
import { run } from './run.ts';
import { freePort } from './transports.ts';

t.setTimeout(1_800_000);

interface Setup {
  readonly proxy: keyof typeof proxies;
  readonly around: Around;
}

const setups: Readonly<Record<string, Setup>> = {
  'nginx, its limit in the location': {
    proxy: 'nginx',
    around: { server: '', location: 'client_max_body_size 512m;' },
  },
  caddy: { proxy: 'caddy', around: {} },
  ...(isLong
    ? {
        'nginx, its limit in the server': { proxy: 'nginx', around: {} },
        'nginx, passing on as it comes': {
          proxy: 'nginx',
          around: { location: 'proxy_http_version 1.1; proxy_request_buffering off;' },
        },
        'nginx, lines in the server': { proxy: 'nginx', around: { isInServer: true } },
        'nginx, asking over TCP': { proxy: 'nginx', around: { isOverTcp: true } },
        'caddy, asking over TCP': { proxy: 'caddy', around: { isOverTcp: true } },
        traefik: { proxy: 'traefik', around: {} },
      }
    : {}),
};

const sizes = isLong ? [10, 900_000, 5_000_000, 50_000_000] : [10, 5_000_000];
const fallbackMs = 2500;
/** For the body itself, on a busy machine. */
const bodyMs = 2500;

/** Options of curl; null: HTTP/2, for which Debian's curl loses answers that come while it sends. */
const ways: Readonly<Record<string, readonly string[] | null>> = {
  'its length': ['-H', 'Expect:'],
  chunked: ['-H', 'Expect:', '-H', 'Transfer-Encoding: chunked'],
  Expect: ['-H', 'Expect: 100-continue'],
  'HTTP/2': null,
};

type Answer = Pick<Sent, 'stdout' | 'status' | 'taken'>;

async function byCurl(url: string, file: string, args: readonly string[]): Promise<Answer> {
  const counts = ['-w', '\n%{http_code} %{size_upload}'];
  const { stdout } = await run('curl', [
    '-q',
    '-s',
    '-i',
    '--max-time',
    '60',
    '-T',
    file,
    ...args,
    ...counts,
    url,
  ]);
  const [, status, taken] = /\n(\d+) (\d+)$/.exec(stdout) ?? [];
  return { stdout, status: Number(status), taken: Number(taken) };
}

async function byHttp2(url: string, size: number): Promise<Answer> {
  const session = connect(url);
  const request = session.request({ ':method': 'PUT', ':path': new URL(url).pathname });
  const part = Buffer.alloc(Math.min(size, 100_000), 'x');
  let left = size;
  let taken = 0;
  const body = new Readable({
    read() {
      const next = part.subarray(0, Math.min(left, part.length));
      left -= next.length;
      taken += next.length;
      this.push(next.length === 0 ? null : next);
    },
  });
  body.pipe(request);
  let status = 0;
  request.on('response', headers => {
    status = headers[':status'] ?? 0;
  });
  const stdout = await text(request).catch(() => '');
  session.destroy();
  return { stdout, status, taken };
}

async function matrix(t: Test, { proxy, around }: Setup): Promise<void> {
  const h2Port = await freePort();
  const listens = proxy === 'nginx' ? `listen 127.0.0.1:${h2Port} http2;` : '';
  const bodyLimit = around.server ?? 'client_max_body_size 0;';
  const server = proxy === 'nginx' ? `${bodyLimit} ${listens}` : '';
  const opened = await openBehindProxy(t, proxy, { around: { ...around, server } });
  const { forge, uses } = opened;
  const port = new URL(opened.url).port;
  for (const size of sizes) await writeFile(join(opened.server.folder, `${size}`), Buffer.alloc(size, 'x'));

  /** Sends each body in each way. */
  const all = async (check: (sent: Sent) => void, most = Number.POSITIVE_INFINITY) => {
    for (const size of sizes.filter(each => each <= most)) {
      for (const [way, args] of Object.entries(ways)) {
        const at = proxy === 'nginx' && way === 'HTTP/2' ? h2Port : port;
        forge.came.length = 0;
        const begun = performance.now();
        const url = `http://127.0.0.1:${at}${packagePath}`;
        const file = join(opened.server.folder, `${size}`);
        const { stdout, status, taken } =
          args === null ? await byHttp2(url, size) : await byCurl(url, file, args);
        const elapsedMs = performance.now() - begun;
        const name = `${size} bytes, ${way}`;
        check({ name, size, status, taken, elapsedMs, stdout });
      }
    }
  };
  const arrives = ({ name, size, status, stdout }: Sent) => {
    t.equal(status, 201, name, { stdout });
    t.same(
      forge.came.map(({ bytes }) => bytes),
      [size],
      `${name}: whole and once`,
    );
  };
  const arrivesInTime = (sent: Sent) => {
    arrives(sent);
    t.ok(sent.elapsedMs < fallbackMs + bodyMs, `${sent.name}: ${sent.elapsedMs} ms`);
  };

  t.comment('allowed');
  await uses(900_000);
  await all(arrives);

  t.comment('refused');
  // It waits in the system's buffers: in the sender's, 4 MiB, and where the answer comes later, over TCP, in
  // the receiver's as well.
  const mostTaken = around.isOverTcp === true ? 2 ** 23 : 2 ** 22;
  await uses(1_200_000);
  await all(({ name, status, taken, stdout }) => {
    t.equal(status, 403, name, { stdout });
    // HTTP/2 and Go give no phrase; a client that is cut off while it sends may have no body.
    t.match(stdout, exceededWords, name);
    t.ok(taken <= mostTaken, `${name}: ${taken} taken`);
    t.same(forge.came, [], name);
  });

  t.comment('hanging');
  opened.server.daemon.child.kill('SIGSTOP');
  await all(arrivesInTime, isLong ? 5_000_000 : 10);
  const within = async (ms: number, path: string, ...args: readonly string[]) => {
    const begun = performance.now();
    t.match(await opened.curl(path, ...args), / 200/, path);
    t.ok(performance.now() - begun < ms, path);
  };
  await within(500, '/alice/app');
  await within(fallbackMs + 100, packagePath, '-d', 'x');
  await within(fallbackMs + 100, batchPath, ...emptyBatch);
  forge.came.length = 0;
  const desk = await lfsDesk(opened.server, opened.url);
  t.match(await desk.push('a.bin'), { code: 0 });
  t.equal(forge.puts(), 1);
  opened.server.daemon.child.kill('SIGCONT');

  t.comment('killed');
  await opened.server.stop('SIGKILL');
  await all(arrivesInTime);

  t.comment('starting');
  const started = opened.server.start();
  await all(({ name, status }) => t.ok([201, 403].includes(status), `${name}: ${status}`));
  await started;
}

interface Sent {
  readonly name: string;
  readonly size: number;
  readonly status: number;
  readonly taken: number;
  readonly elapsedMs: number;
  readonly stdout: string;
}

for (const [name, setup] of Object.entries(setups)) t.test(name, t => matrix(t, setup));
