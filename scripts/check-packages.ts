/**
 * Looks at the packages of other people: at `npm start` none runs a script that package.json does not name,
 * and none that is bundled into dist/ has a known vulnerability of high severity or more, as far as the
 * registry answers. The published package needs none of them.
 *
 * In:   package-lock.json, or another one that is named; beside it dist/, as it was built. Out: what was found.
 * Exit: 0 nothing is wrong, or the registry does not answer; 1 something is.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const auditMs = 60_000;
const [file = 'package-lock.json'] = process.argv.slice(2);
/** Lists of the bundled packages that the builds write: a heading for each. */
const licenses = [
  'dist/licenses.txt',
  'dist/licenses-forge.txt',
  'dist/licenses-width.txt',
  'dist/web/licenses.txt',
];

const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      dev: z.boolean().default(false),
      hasInstallScript: z.boolean().default(false),
      resolved: z.string().optional(),
    }),
  ),
});

/** The packages of which it is decided whether their scripts run. */
const manifest = z.object({ allowScripts: z.record(z.string(), z.boolean()).default({}) });

const audited = z.object({
  metadata: z.object({}),
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string() })),
});

const { packages } = lock.parse(JSON.parse(readFileSync(file, 'utf8')));
const { allowScripts } = manifest.parse(
  JSON.parse(readFileSync(join(dirname(file), 'package.json'), 'utf8')),
);
const isDecided = (path: string) => (path.split('node_modules/').at(-1) ?? '') in allowScripts;
const faults = Object.entries(packages).flatMap(([path, { dev, hasInstallScript, resolved }]) => [
  ...(dev || !hasInstallScript || isDecided(path)
    ? []
    : [`${path} runs a script when it is installed; decide about it in allowScripts of package.json`]),
  ...(resolved === undefined ? [] : [`${path} says where it was downloaded from`]),
]);
for (const found of [...faults, ...vulnerable()]) {
  process.stdout.write(`${file}: ${found}\n`);
  process.exitCode = 1;
}

/** By `npm audit`, whose status alone does not tell a vulnerability from a registry that is away. */
function vulnerable(): readonly string[] {
  const bundled = new Set(
    licenses
      .map(name => readFileSync(join(dirname(file), name), 'utf8'))
      .flatMap(text => [...text.matchAll(/^## (\S+) - /gm)].map(([, name]) => name)),
  );
  const words = ['audit', '--json', '--fetch-retries=0', `--fetch-timeout=${auditMs}`];
  const { stdout } = spawnSync('npm', words, { encoding: 'utf8', timeout: auditMs, cwd: dirname(file) });
  const answer = audited.safeParse(jsonOf(stdout ?? ''));
  if (!answer.success) {
    process.stdout.write('The registry does not say which vulnerabilities are known.\n');
    return [];
  }
  return Object.entries(answer.data.vulnerabilities)
    .filter(([name, { severity }]) => bundled.has(name) && (severity === 'high' || severity === 'critical'))
    .map(([name, { severity }]) => `${name} has a known vulnerability (${severity}): npm audit tells more`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
