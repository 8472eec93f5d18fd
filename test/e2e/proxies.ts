/** Reverse proxies, configured as docs/uploads.md has it. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { readGuide } from './guide.ts';
import type { Server } from './server.ts';
import { startSocketUnit, startTraefik } from './traefik.ts';
import { freePort, startCaddy, startNginx } from './transports.ts';

const guide = await readGuide('uploads.md');
const blocksOf = (kind: string) => guide.filter(block => block.kind === kind).map(block => block.text);

/** Each with the headers that it sends, and what opens it before a server; gives its port. */
export const proxies = {
  nginx: {
    headers: 'original',
    passesLength: true,
    open: (t: Test, server: Server, forgePort: number, withBatch = false) => {
      const [upstream = '', locations = '', lines = '', lfs = ''] = blocksOf('nginx').map(block =>
        placed(block, server, forgePort),
      );
      const protectedPlace = `client_max_body_size 0; location / { ${lines} proxy_pass http://127.0.0.1:${forgePort}; proxy_set_header Host $http_host; }`;
      const all = [locations, ...(withBatch ? [lfs] : []), protectedPlace].join('\n');
      return startNginx(t, join(server.folder, 'nginx'), all, upstream);
    },
  },
  caddy: {
    headers: 'forwarded',
    passesLength: true,
    open: (t: Test, server: Server, forgePort: number) => {
      const site = placed(blocksOf('caddy').join('\n'), server, forgePort);
      return startCaddy(t, join(server.folder, 'caddy'), site);
    },
  },
  traefik: {
    headers: 'forwarded',
    passesLength: false,
    open: (t: Test, server: Server, forgePort: number) => openTraefik(t, server, forgePort),
  },
} as const;

/** A configuration of the manual, with the sockets and ports that are here. */
function placed(block: string, server: Server, forgePort: number): string {
  return block
    .replaceAll('/run/softquota/gate.sock', server.socket('gate'))
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${forgePort}`);
}

/** Traefik; `edit` changes its routes as an administrator does. */
export async function openTraefik(
  t: Test,
  server: Server,
  forgePort: number,
  edit: (routes: string) => string = routes => routes,
): Promise<number> {
  const [gatePort, ownPort] = [await freePort(), await freePort()];
  const kinds = ['systemd socket', 'systemd service', 'yaml static', 'yaml dynamic'];
  const [unit = '', program = '', settings = '', routes = ''] = kinds.map(kind =>
    placed(blocksOf(kind).join(''), server, forgePort)
      .replaceAll(':3081', `:${gatePort}`)
      .replaceAll(':3082', `:${ownPort}`),
  );
  await startSocketUnit(t, unit, program);
  return startTraefik(t, join(server.folder, 'traefik'), settings, edit(routes));
}
