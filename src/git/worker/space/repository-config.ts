/** The few settings of a repository that git must be told, read from its configuration and taken as data. */

import { readBounded, runProgram } from '../../../bounded/index.ts';
import { encodePath } from '../../../layout/index.ts';
import { UnusableRepository } from './unusable-repository.ts';

export interface GitSettings {
  readonly objectFormat: 'sha1' | 'sha256';
  readonly refStorage: 'files' | 'reftable';
  /** `core.sharedRepository`: the permissions of new files; null: as the umask has it. */
  readonly sharedRepository: string | null;
  /** Why objects must not be deleted here; null: they may. */
  readonly keepsObjects: string | null;
}

const configMs = 10_000;
const knownExtensions = new Set([
  'objectformat',
  'refstorage',
  'preciousobjects',
  'partialclone',
  'worktreeconfig',
  'relativeworktrees',
  'noop',
  'noop-v1',
]);
const shared = /^(?:group|all|world|everybody|umask|true|false|[0-7]{1,4})$/i;

/** Reads the settings; rejects with a fault where the repository is one that this code does not know. */
export async function readGitSettings(
  path: string,
  env: Readonly<Record<string, string>>,
): Promise<GitSettings> {
  const file = readBounded(encodePath(`${path}/config`));
  if (file.kind !== 'file') throw new UnusableRepository(`its config is no regular file (${file.kind})`);
  if (!file.whole) throw new UnusableRepository('its config is longer than 1 MiB');
  const { status, output } = await runProgram(
    'git',
    ['config', '--file', '-', '--no-includes', '--null', '--list'],
    { timeoutMs: configMs, env, input: file.bytes, mostBytes: 8 * file.bytes.length + 1024 },
  );
  if (status !== 0) throw new UnusableRepository('git cannot read its config');
  return settingsIn(output);
}

function settingsIn(output: string): GitSettings {
  const values = new Map<string, string>();
  for (const entry of output.split('\0')) {
    const end = entry.indexOf('\n');
    values.set(end === -1 ? entry : entry.slice(0, end), end === -1 ? 'true' : entry.slice(end + 1));
  }
  const unknown = [...values.keys()].find(
    key => key.startsWith('extensions.') && !knownExtensions.has(key.slice('extensions.'.length)),
  );
  if (unknown !== undefined)
    throw new UnusableRepository(`its config has ${unknown}, which is not known here`);
  const objectFormat = (values.get('extensions.objectformat') ?? 'sha1').toLowerCase();
  const refStorage = (values.get('extensions.refstorage') ?? 'files').toLowerCase();
  if (objectFormat !== 'sha1' && objectFormat !== 'sha256')
    throw new UnusableRepository('its extensions.objectFormat is not known here');
  if (refStorage !== 'files' && refStorage !== 'reftable')
    throw new UnusableRepository('its extensions.refStorage is not known here');
  const sharedRepository = values.get('core.sharedrepository') ?? null;
  return {
    objectFormat,
    refStorage,
    sharedRepository: sharedRepository !== null && shared.test(sharedRepository) ? sharedRepository : null,
    keepsObjects: keptBecause(values),
  };
}

function keptBecause(values: ReadonlyMap<string, string>): string | null {
  const isOff = ['false', 'no', 'off', '0', '', undefined].includes(
    values.get('extensions.preciousobjects')?.toLowerCase(),
  );
  if (!isOff) return 'its config has extensions.preciousObjects';
  if (values.has('extensions.partialclone')) return 'it is a partial clone';
  for (const key of ['gc.pruneexpire', 'gc.cruftexpiration'])
    if (values.get(key)?.toLowerCase() === 'never') return `its config has ${key} = never`;
  return null;
}
