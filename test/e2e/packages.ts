/** Packages as `npm run package` makes them, and the one that npm publishes. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { packForNpm } from '../../scripts/package/contents.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { must, run } from './run.ts';
import type { SandboxHost } from './sandbox-host.ts';

const script = fileURLToPath(new URL('../../scripts/package.ts', import.meta.url));

/** Packs this checkout for npm; gives the path of the tarball, which is there until the test ends. */
export function packed(t: Test): Promise<string> {
  return packForNpm(temporaryFolder(t));
}

/** Makes packages quickly, into a directory of their own; returns their files. */
export async function makePackages(t: Test, ...options: readonly string[]): Promise<readonly string[]> {
  const out = temporaryFolder(t);
  // A commit meanwhile makes no difference.
  const env = { HOME: out, npm_config_cache: join(out, 'cache'), SOURCE_DATE_EPOCH: '1790000000' };
  const made = await run(process.execPath, [script, '--quick', '--out', out, ...options], { env });
  if (made.code !== 0 || !made.stderr.startsWith('softquota: packing what npm publishes\n'))
    throw new Error(`exit ${made.code}, and it does not say what it does: ${made.stderr}`);
  return made.stdout.trim().split('\n');
}

/** Copies a file to where the host sees it; returns its path there. */
export async function shared(host: SandboxHost, file: string): Promise<string> {
  const copy = join(host.folder, file.split('/').at(-1) ?? '');
  await must('cp', [file, copy]);
  return copy;
}
