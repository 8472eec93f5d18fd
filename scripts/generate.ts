/**
 * Writes what is generated from definitions in the code: `node scripts/generate.ts`.
 *
 * With `--check` nothing is written: exit 1 if a file is not what would be written, and its first
 * line that differs.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { systemCode } from '../src/errors.ts';
import { commandReference } from './reference/commands.ts';
import { bashCompletion, fishCompletion, zshCompletion } from './reference/completions.ts';
import { caddyInCompose, inCompose } from './reference/compose.ts';
import { configurationReference } from './reference/configuration.ts';
import { errorReference } from './reference/errors.ts';
import { exampleFile } from './reference/example.ts';
import { hooksPage } from './reference/hooks.ts';
import { withFiles } from './reference/included.ts';
import { commandsManual, configurationManual } from './reference/manual-pages.ts';
import { dashboard, metricsReference } from './reference/metrics.ts';
import { modulesPage } from './reference/modules.ts';
import { openApi } from './reference/openapi.ts';
import { withPrintedFiles } from './reference/printed-files.ts';
import { redisKeysPage } from './reference/redis-keys.ts';
import { uploadsReference } from './reference/uploads.ts';

/** The pages that print files of the package. */
const printing = ['docs/receive-pack.md', 'docs/redis.md'];

/** Each file, from the project's root, and what makes its text. */
const generated: Readonly<Record<string, () => string | Promise<string>>> = {
  'app.ini.example': exampleFile,
  'docs/commands.md': commandReference,
  'docs/configuration.md': configurationReference,
  'docs/errors.md': errorReference,
  'docs/forges/uploads.md': uploadsReference,
  'docs/hooks.md': hooksPage,
  'docs/uploads.md': withFiles('docs/uploads.md'),
  'docs/metrics.md': metricsReference,
  'docs/metrics/dashboard.json': dashboard,
  'docs/openapi.json': openApi,
  'docs/reference/modules.md': modulesPage,
  'docs/reference/redis-keys.md': redisKeysPage,
  'examples/compose/forgejo-caddy/Caddyfile': () => caddyInCompose('forgejo'),
  'examples/compose/gitea-traefik/dynamic.yaml': inCompose('traefik/dynamic.yaml', 'gitea'),
  'examples/compose/gitea-traefik/traefik.yaml': inCompose('traefik/traefik.yaml', 'gitea'),
  'share/completions/_softquota': zshCompletion,
  'share/completions/softquota.bash': bashCompletion,
  'share/completions/softquota.fish': fishCompletion,
  'share/man/app.ini.5': configurationManual,
  'share/man/softquota.1': commandsManual,
  ...Object.fromEntries(printing.map(page => [page, () => withPrintedFiles(page)])),
};

const root = new URL('../', import.meta.url);

function present(file: string): string {
  try {
    return readFileSync(new URL(file, root), 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  }
}

function difference(file: string, is: string, shouldBe: string): string {
  const wanted = shouldBe.split('\n');
  const lines = is.split('\n');
  const at = wanted.findIndex((line, index) => line !== lines[index]);
  const number = at === -1 ? wanted.length : at;
  const shown = (line: string | undefined): string => (line === undefined ? 'nothing' : `"${line}"`);
  return [
    `${file} is not current. Line ${number + 1} is ${shown(lines[number])},`,
    `  and should be ${shown(wanted[number])}. Run: node scripts/generate.ts`,
  ].join('\n');
}

const checks = process.argv.includes('--check');
for (const [file, make] of Object.entries(generated)) {
  const text = await make();
  const before = present(file);
  if (before === text) continue;
  if (checks) {
    console.error(difference(file, before, text));
    process.exitCode = 1;
  } else {
    writeFileSync(new URL(file, root), text);
    console.log(`${file} written`);
  }
}
