/** Uploads through nginx and Caddy; traefik.long.test.ts has Traefik. */

import t from 'tap';
import { testProxy } from './behind-proxy.ts';

t.setTimeout(600_000);

await testProxy('nginx');
await testProxy('caddy');
