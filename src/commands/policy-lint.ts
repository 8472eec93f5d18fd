/** `softquota policy lint FILE`: possible mistakes in a policy that is in force nowhere, found without a daemon. */

import { loadConfig } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import type { LintSettings } from '../policy/index.ts';
import type { LintFault } from '../wire/index.ts';
import { readPolicyFile } from './policy-file.ts';
import { type ConfigOption, configFrom, whereIs } from './settings.ts';

/** [quota] as it is without an app.ini. */
const defaults: LintSettings = {
  enabled: true,
  refuseWhen: 'exceeded',
  uncovered: 'default',
  precise: false,
  mode: 'enforce',
  warnAt: [],
  totalBytes: -1,
  defaultGroups: [],
};

/** `-` is standard input. Throws `invalid` with every fault of a file that is no policy. */
export async function lintFile(file: string, options: ConfigOption): Promise<readonly LintFault[]> {
  const { rules = [], groups = [], settings = {} } = readPolicyFile(file);
  const known = knownSettings(options);
  const { lintApart } = await import('../policy/index.ts');
  const faults = reportedOf(file, () =>
    lintApart(
      {
        rules: rules.map(({ name, limit, subjects }) => ({
          name,
          limitBytes: limit,
          subjects: subjects ?? [],
        })),
        groups: groups.map(({ name, rules: named, users }) => ({
          name,
          rules: (named ?? []).map(rule => ({ name: rule })),
          // Without a list a group keeps its members; the file does not say how many.
          ownerIds: users?.map((_, index) => index) ?? [0],
        })),
      },
      {
        ...(known ?? defaults),
        ...given({
          totalBytes: settings.total,
          defaultGroups: settings.default_groups,
          refuseWhen: settings.refuse_when,
          uncovered: settings.uncovered,
        }),
      },
    ),
  );
  const areSettingsKnown = known !== null || settings.total !== undefined || settings.uncovered === 'deny';
  return areSettingsKnown ? faults : faults.filter(({ code }) => code !== 'uncovered_subject');
}

/** Null: no configuration is named, and none is in the usual places. */
function knownSettings(options: ConfigOption): LintSettings | null {
  const where = whereIs(options);
  const isNamed = where.file !== undefined || (where.env.SOFTQUOTA_CONFIG ?? '') !== '';
  if (isNamed) return configFrom(options).quota;
  const loaded = loadConfig(where);
  return loaded.ok ? loaded.config.quota : null;
}

function reportedOf<T>(file: string, lint: () => T): T {
  try {
    return lint();
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'invalid') throw error;
    throw new SoftquotaError('invalid', `${file}: ${error.message}`, { cause: error });
  }
}
