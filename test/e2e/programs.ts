/** The programs of docs/programs.md. */

import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readGuide } from './guide.ts';
import type { Server } from './server.ts';

/** A block of the page as a file, with the sockets and places that are here. */
export async function program(server: Server, name: string): Promise<string> {
  const guide = await readGuide('programs.md');
  const found = guide.find(({ kind }) => kind.split(' ')[1] === name);
  if (found === undefined) throw new Error(`docs/programs.md has no ${name}`);
  const folder = join(server.folder, 'program');
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  const installed = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const links = { softquota: '.', express: 'node_modules/express', fastify: 'node_modules/fastify' };
  if (name.endsWith('.js')) {
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    for (const [link, path] of Object.entries(links)) {
      await symlink(installed(path), join(folder, 'node_modules', link));
    }
  }
  const file = join(folder, name);
  const socket = (kind: 'gate' | 'trusted') => [`/run/softquota/${kind}.sock`, server.socket(kind)] as const;
  const places = [socket('gate'), socket('trusted'), ['/srv/', `${server.folder}/`]] as const;
  const text = places.reduce((all, [there, here]) => all.replaceAll(there, here), found.text);
  // The client has the usual places by itself.
  const options = (more: string) => `createClient({ socket: '${server.socket('gate')}', ${more}`;
  const trusted = `createClient({ socket: '${server.socket('trusted')}', trusted`;
  await writeFile(
    file,
    text.replace('createClient({ trusted', trusted).replace('createClient({ on', options('on')),
  );
  return file;
}
