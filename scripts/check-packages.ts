/**
 * Looks at what softquota is installed with: no package that runs has an install script, which npm would run
 * as root, and none has a known vulnerability of high severity or more, as far as the registry answers.
 *
 * In:   package-lock.json, or another one that is named. Out: what was found.
 * Exit: 0 nothing is wrong, or the registry does not answer; 1 something is.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';

const auditMs = 60_000;
const [file = 'package-lock.json'] = process.argv.slice(2);

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

const audited = z.object({
  metadata: z.object({ vulnerabilities: z.object({ high: z.number(), critical: z.number() }) }),
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string() })),
});

const { packages } = lock.parse(JSON.parse(readFileSync(file, 'utf8')));
const faults = Object.entries(packages).flatMap(([path, { dev, hasInstallScript, resolved }]) => [
  ...(!dev && hasInstallScript ? [`${path} has an install script, and is not only for development`] : []),
  ...(resolved === undefined ? [] : [`${path} says where it was downloaded from`]),
]);
for (const found of [...faults, ...vulnerable()]) {
  process.stdout.write(`${file}: ${found}\n`);
  process.exitCode = 1;
}

/** By `npm audit`, whose status alone does not tell a vulnerability from a registry that is away. */
function vulnerable(): readonly string[] {
  const words = ['audit', '--omit=dev', '--json', '--fetch-retries=0', `--fetch-timeout=${auditMs}`];
  const { stdout } = spawnSync('npm', words, { encoding: 'utf8', timeout: auditMs, cwd: dirname(file) });
  const answer = audited.safeParse(jsonOf(stdout ?? ''));
  if (!answer.success) {
    process.stdout.write('The registry does not say which vulnerabilities are known.\n');
    return [];
  }
  const { high, critical } = answer.data.metadata.vulnerabilities;
  if (high + critical === 0) return [];
  return Object.entries(answer.data.vulnerabilities)
    .filter(([, { severity }]) => severity === 'high' || severity === 'critical')
    .map(
      ([name, { severity }]) =>
        `${name} has a known vulnerability (${severity}): npm audit --omit=dev tells more`,
    );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
