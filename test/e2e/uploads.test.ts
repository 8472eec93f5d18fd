/** Uploads through nginx and Caddy; traefik.long.test.ts has Traefik. */

import t from 'tap';
import { testProxy } from './behind-proxy.ts';
import { testSpellings } from './spellings.ts';

t.setTimeout(600_000);

for (const name of ['nginx', 'caddy'] as const) {
  await testProxy(name);
  testSpellings(name);
}
