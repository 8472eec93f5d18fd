/** Servers of other people that take uploads, on loopback ports, with all of their files in a folder. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FileStore } from '@tus/file-store';
import { Server as TusServer } from '@tus/server';
import type { Test } from 'tap';
import { served } from '../served.ts';
import { until } from './ask.ts';
import { plainEnvironment } from './run.ts';
import { freePort } from './transports.ts';

/** Starts it in a folder; gives its port once it answers. */
export type OpenUploadServer = (t: Test, folder: string) => Promise<number>;

/** A program that serves HTTP on a port; it is ended with the test. */
async function started(t: Test, port: number, command: string, args: readonly string[], folder: string) {
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...plainEnvironment, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await until(
    () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true as const,
        () => null,
      ),
    () => `${command} does not come up:\n${log}`,
  );
}

/** Verdaccio: npm packages. Everybody may publish who signs up. */
export const openVerdaccio: OpenUploadServer = async (t, folder) => {
  await mkdir(folder);
  const port = await freePort();
  const settings = `
storage: ${folder}/storage
auth: { htpasswd: { file: ${folder}/htpasswd } }
uplinks: {}
packages: { '@*/*': { access: $all, publish: $authenticated } }
log: { type: stdout, format: pretty, level: warn }
`;
  await writeFile(join(folder, 'config.yaml'), settings);
  const program = fileURLToPath(new URL('../../node_modules/verdaccio/bin/verdaccio', import.meta.url));
  const args = [program, '--config', join(folder, 'config.yaml'), '--listen', `127.0.0.1:${port}`];
  await started(t, port, process.execPath, args, folder);
  return port;
};

/** Debian's docker-registry: container images. */
export const openDistribution: OpenUploadServer = async (t, folder) => {
  await mkdir(folder);
  const port = await freePort();
  const settings = `
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: ${folder}/storage }, delete: { enabled: true } }
http: { addr: '127.0.0.1:${port}' }
`;
  await writeFile(join(folder, 'config.yml'), settings);
  await started(t, port, 'docker-registry', ['serve', join(folder, 'config.yml')], folder);
  return port;
};

/** A tus server that keeps the uploads of each owner apart: `/files/OWNER`. */
export const openTus: OpenUploadServer = async (t, folder) => {
  await mkdir(folder);
  const servers = new Map<string, TusServer>();
  const web = createServer((request, response) => {
    const [, , owner = ''] = (request.url ?? '').split('/');
    const directory = join(folder, owner.replaceAll(/\W/g, '_'));
    const server =
      servers.get(owner) ??
      new TusServer({
        path: `/files/${owner}`,
        datastore: new FileStore({ directory }),
        relativeLocation: true,
      });
    servers.set(owner, server);
    void server.handle(request, response);
  });
  return served(t, web);
};
