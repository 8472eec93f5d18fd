/** spellings.ts through nginx and Caddy; traefik.long.test.ts has Traefik. */

import t from 'tap';
import { testSpellings } from './spellings.ts';

t.setTimeout(300_000);

testSpellings('nginx');
testSpellings('caddy');
