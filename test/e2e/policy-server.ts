import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Server, type ServerOptions } from './server.ts';

/** Runs commands, and says what they must print, exit with and refuse. */
export async function openPolicyServer(t: Test, options: ServerOptions = {}) {
  const server = await Server.open(t, options);
  const done: Server['done'] = line => server.done(line);
  const json: Server['json'] = line => server.json(line);
  const refused = async (code: number, said: RegExp, line: string | readonly string[]) => {
    t.match(await server.softquota(line), { code, stderr: said }, String(line));
  };
  const file = async (name: string, content: unknown): Promise<string> => {
    const path = join(server.folder, name);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  /** Bytes of an owner's LFS store, as a trusted program reports them. */
  const stores = async (owner: string, bytes: number): Promise<void> => {
    const body = { owner, subject: 'size:git:lfs', unit: 'lfs', bytes };
    t.equal((await server.ask('trusted', '/v1/units', { body })).status, 200);
  };
  return { server, done, json, refused, file, stores };
}
