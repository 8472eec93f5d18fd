/** The version of this softquota, from its package.json. */

import { readFileSync } from 'node:fs';
import { packageDirectory } from './package.ts';

function read(): string {
  const about: unknown = JSON.parse(readFileSync(new URL('package.json', packageDirectory), 'utf8'));
  if (typeof about === 'object' && about !== null && 'version' in about) return String(about.version);
  return 'unknown';
}

export const version = read();
