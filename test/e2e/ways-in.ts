/** Ways for a browser to get to a daemon: at its own address, and behind nginx below a path. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { addressOf } from './accounts.ts';
import { readGuide } from './guide.ts';
import type { Server } from './server.ts';
import { freePort, startNginx } from './transports.ts';

/**
 * Starts a server that was opened and not started; gives the address that the daemon is told, with a slash at
 * its end.
 */
type WayIn = (t: Test, server: Server) => Promise<string>;

/** Ways in, by their names; nginx has the settings that docs/api.md shows. */
export async function waysIn(): Promise<Readonly<Record<string, WayIn>>> {
  const [block] = (await readGuide('api.md')).filter(({ kind }) => kind === 'nginx');
  const asInManual = block?.text ?? '';
  const withoutPath = asInManual.replace(/(?<=proxy_pass [^;]*)(?=;)/, '/');
  return {
    'at its own address': async (_t, server) => {
      await server.start();
      return addressOf(server);
    },
    'behind nginx as the manual has it': (t, server) => behindNginx(t, server, asInManual),
    'behind an nginx that takes the path off': (t, server) => behindNginx(t, server, withoutPath),
  };
}

async function behindNginx(t: Test, server: Server, location: string): Promise<string> {
  const own = String(await freePort());
  const port = await startNginx(t, join(server.folder, 'nginx'), location.replace(/(?<=:)3080/, own));
  const address = `http://localhost:${port}/quota/`;
  await server.configure({
    server: { HTTP_PORT: own, ROOT_URL: address, TRUSTED_PROXIES: '127.0.0.1' },
  });
  await server.start();
  return address;
}
