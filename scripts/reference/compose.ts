/** The configurations of the proxies in examples/compose: the files of share/proxies, with names of containers. */

import { readFileSync } from 'node:fs';

const root = new URL('../../share/proxies/', import.meta.url);

/** A file of share/proxies for a proxy in a container beside `forge` and softquota. */
export function inCompose(file: string, forge: string): () => string {
  return () =>
    readFileSync(new URL(file, root), 'utf8')
      .replaceAll('127.0.0.1:3000', `${forge}:3000`)
      .replaceAll('127.0.0.1:3081', 'softquota:3081')
      .replaceAll('unix//run/softquota/gate.sock', 'softquota:3081');
}

/** Caddy's whole configuration, with one site. */
export function caddyInCompose(forge: string): string {
  return `${inCompose('Caddyfile', forge)()}\n:80 {\n\timport softquota\n\treverse_proxy {softquota_forge}\n}\n`;
}
