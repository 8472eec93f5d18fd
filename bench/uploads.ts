/** Claim: in front of an LFS server, softquota costs an upload of 1 GB less than 5 % of its time. */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readGuide } from '../test/e2e/guide.ts';
import { scan, startDaemon } from './daemon.ts';
import { alone, median, print, seconds, spread, tell } from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { environment, freePort, memoryMb, timed } from './processes.ts';

const largeBytes = 1_000_000_000;
const rounds = 7;
const goalPercent = 5;
const atOnce = 100;
const smallBytes = 20_000_000;
const goalMb = 50;

const ground = makeGround();
const large = await fileOf('large', largeBytes);
const small = await fileOf('small', smallBytes);
const sink = await started(process.execPath, [new URL('sink-server.ts', import.meta.url).pathname]);
const upstream = `127.0.0.1:${sink.said}`;

mkdirSync(join(ground, 'git'));
const config = writeConfig(
  ground,
  `[quota]\nPRECISE = true\n[storage.repos]\nPATH = ${ground}/git/{owner}/{repo}.git\n` +
    `[gate]\nPRESET = gitea\n[lfs]\nUPSTREAM = http://${upstream}/\n`,
);
const daemon = await startDaemon(config);
await scan(config, 0);
const ports = { with: await freePort(), without: await freePort() };
const nginx = await startNginx();

const ways = ['with', 'without'] as const;
type Way = (typeof ways)[number];

const times: Record<Way, number[]> = { with: [], without: [] };
for (let round = 0; round < rounds; round++) {
  for (const way of round % 2 === 0 ? ways : [...ways].reverse()) {
    const begun = performance.now();
    await upload(way, large, largeBytes);
    // The first of each is for the caches.
    if (round > 0) times[way].push(performance.now() - begun);
  }
}
tell(ways.map(way => `${way} ${spread(times[way], seconds)}`).join(', '));
const before = memoryMb(daemon.pid).most;
await Promise.all(Array.from({ length: atOnce }, () => upload('with', small, smallBytes)));
const grownMb = memoryMb(daemon.pid).most - before;
tell(`${atOnce} at once: ${grownMb.toFixed(1)} MB more`);
await daemon.stop();
for (const program of [nginx, sink]) await program.stop();

const ratio = median(times.with) / median(times.without);
print({
  title: 'Uploads',
  how: `An LFS object of 1 GB, asked about in a batch and uploaded by curl through nginx to a server that keeps nothing, on one host, ${rounds - 1} times each, in turn: with docs/uploads.md's lines for nginx, so that softquota answers the batch and is asked before the upload, and without them. Then ${atOnce} uploads of 20 MB at once.`,
  figures: [
    {
      what: 'an upload of 1 GB',
      ours: spread(times.with, seconds),
      instead: `nginx alone ${spread(times.without, seconds)}`,
      ratio,
      goal: {
        words: `below ${goalPercent} % more (${(100 * (ratio - 1)).toFixed(1)} %)`,
        met: ratio < 1 + goalPercent / 100,
        reason: 'one upload differs from the next by more.',
      },
    },
    alone(`memory for ${atOnce} uploads at once`, `${grownMb.toFixed(1)} MB more in the daemon`, {
      words: `below ${goalMb} MB`,
      met: grownMb < goalMb,
      reason: 'batches were held.',
    }),
  ],
});

/** Asks for one object, and uploads it, as git-lfs does. */
async function upload(way: Way, file: string, bytes: number): Promise<void> {
  const oid = randomBytes(32).toString('hex');
  const place = `http://127.0.0.1:${ports[way]}/alice/app.git/info/lfs/objects`;
  const batch = { operation: 'upload', transfers: ['basic'], objects: [{ oid, size: bytes }] };
  const asked = await timed('curl', [
    ...['-sS', '--fail-with-body', '-H', 'Accept: application/vnd.git-lfs+json'],
    ...['-H', 'Content-Type: application/vnd.git-lfs+json', '-d', JSON.stringify(batch), `${place}/batch`],
  ]);
  if (!asked.stdout.includes(oid)) throw new Error(`the batch was answered with ${asked.stdout}`);
  await timed('curl', ['-sS', '--fail-with-body', '-T', file, `${place}/${oid}`]);
}

async function fileOf(name: string, bytes: number): Promise<string> {
  const file = join(ground, name);
  await timed('truncate', ['-s', String(bytes), file]);
  return file;
}

async function startNginx(): Promise<{ stop(): Promise<void> }> {
  const [shared = '', locations = '', lines = '', lfs = ''] = (await readGuide('uploads.md'))
    .filter(({ kind }) => kind === 'nginx')
    .map(({ text }) =>
      text.replaceAll('/run/softquota/gate.sock', daemon.socket).replaceAll('127.0.0.1:3000', upstream),
    );
  const folder = join(ground, 'nginx');
  mkdirSync(folder);
  const temporary = ['client_body', 'fastcgi', 'proxy', 'scgi', 'uwsgi'];
  const common = `client_max_body_size 0; proxy_request_buffering off; proxy_http_version 1.1;`;
  const server = (port: number, inServer: string, inLocation: string) =>
    `server { listen 127.0.0.1:${port}; ${common} ${inServer} location / { ${inLocation} proxy_pass http://${upstream}; } }`;
  const settings = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 2048; }
    http { access_log off; ${shared} ${temporary.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
      ${server(ports.with, `${locations} ${lfs}`, lines)} ${server(ports.without, '', '')} }`;
  writeFileSync(join(folder, 'nginx.conf'), settings);
  const program = await started('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], ports.without);
  return program;
}

/** Resolves once it says something on a line, or listens at the port. */
async function started(
  command: string,
  args: readonly string[],
  port?: number,
): Promise<{ readonly said: string; stop(): Promise<void> }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env: environment });
  process.on('exit', () => child.kill('SIGKILL'));
  const said = port === undefined ? String((await once(child.stdout, 'data'))[0]).trim() : '';
  while (port !== undefined && !(await listens(port))) await delay(20);
  return {
    said,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
