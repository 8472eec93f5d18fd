/**
 * Paths of the files of this package.
 *
 * In a checkout Node runs src/ as it stands. `npm run build` bundles it into dist/, with the packages that it
 * needs, so that a command loads a few files instead of hundreds. This file is one level below the package's
 * directory in both: every file of the bundle is directly in dist/.
 */

import { fileURLToPath } from 'node:url';

/**
 * Files that a thread or a process starts with, or that are loaded only when they are needed. In dist/, each
 * is a file of its own, with `-` for `/`.
 */
export const entries = [
  'api/long-body-worker',
  'commands/job-worker',
  'commands/width',
  'doctor/impersonator',
  'forge/worker',
  'scan/io-worker',
  'store/sqlite/worker',
  'bin',
] as const;

export type Entry = (typeof entries)[number];

/** The package's directory, with a slash at its end. */
export const packageDirectory = new URL('../', import.meta.url);

const isSource = import.meta.url.endsWith('.ts');

/** The templates of mails; the build copies them to dist/. */
export const templatesDirectory = fileURLToPath(
  new URL(isSource ? 'src/notices/templates' : 'dist/templates', packageDirectory),
);

/** The name of an entry's bundled file, without its ending. */
export function bundledName(entry: Entry): string {
  return entry.replaceAll('/', '-');
}

export function entryUrl(entry: Entry): URL {
  return new URL(isSource ? `./${entry}.ts` : `./${bundledName(entry)}.js`, import.meta.url);
}
