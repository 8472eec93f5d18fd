/** Reads the few settings of a repository's configuration that git needs, as plain data. */

import { readBounded } from '../../../bounded/index.ts';
import { configEntries, configValue, decodePath, encodePath } from '../../../layout/index.ts';

/** A repository that cannot be worked on, with the reason in words for an administrator. */
export class UnusableRepository extends Error {}

export interface GitSettings {
  readonly objectFormat: 'sha1' | 'sha256';
  readonly refStorage: 'files' | 'reftable';
  /** `core.sharedRepository`: the permissions of new files; null: as the umask has it. */
  readonly sharedRepository: string | null;
  /** `core.bare`; null: the repository does not say. */
  readonly isBare: boolean | null;
  /** `receive.*` and `transfer.hideRefs`, in their order. */
  readonly receive: readonly (readonly [key: string, value: string])[];
  /** Why objects must not be deleted here; null: they may. */
  readonly keepsObjects: string | null;
}

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

/** Reads the settings; throws an `UnusableRepository` if the format is unknown or the file unreadable. */
export function readGitSettings(path: string): GitSettings {
  const file = readBounded(encodePath(`${path}/config`));
  if (file.kind !== 'file') throw new UnusableRepository(`its config is no regular file (${file.kind})`);
  if (!file.whole) throw new UnusableRepository('its config is longer than 1 MiB');
  const read = configEntries(decodePath(file.bytes));
  if (read.found === 'fault') throw new UnusableRepository(`git cannot read its config, line ${read.line}`);
  const entries = read.entries.map(({ key, value }) => [key, value ?? 'true'] as const);
  const values = new Map(entries);
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
    isBare: values.has('core.bare') ? !isOff(values.get('core.bare')) : null,
    receive: entries.filter(([key]) => key.startsWith('receive.') || key === 'transfer.hiderefs'),
    keepsObjects: keptBecause(values),
  };
}

function isOff(value: string | undefined): boolean {
  return ['false', 'no', 'off', '0', '', undefined].includes(value?.toLowerCase());
}

function keptBecause(values: ReadonlyMap<string, string>): string | null {
  if (!isOff(values.get('extensions.preciousobjects'))) return 'its config has extensions.preciousObjects';
  if (values.has('extensions.partialclone')) return 'it is a partial clone';
  // git takes `false` as `never`.
  for (const key of ['gc.pruneexpire', 'gc.cruftexpiration'])
    if (/^(?:never|false)$/i.test(values.get(key) ?? '')) return `its config has ${key} = ${values.get(key)}`;
  return null;
}

/** Tells whether several users write into a repository, by its `core.sharedRepository`. */
export function isShared(path: string): boolean {
  const file = readBounded(encodePath(`${path}/config`));
  if (file.kind !== 'file') return false;
  const said = configValue(decodePath(file.bytes), 'core.sharedRepository');
  if (said.found === 'no value') return true;
  return said.found === 'value' && !/^(?:false|no|off|umask|0|)$/i.test(said.value);
}
