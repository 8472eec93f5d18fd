/** The app.ini that `softquota init` writes, and the limit in it. */

import { encodeValue } from '../config/index.ts';
import type { Survey } from '../doctor/index.ts';
import type { ForgeFault, Unowned } from '../forge/index.ts';
import type { OwnerSource, StorageSettings } from '../layout/index.ts';
import { printable, writeSize } from '../text.ts';
import type { OwnerRow } from '../wire/index.ts';
import type { NewPlaces } from './new-config.ts';
import { type Texts, textsIn } from './output.ts';

export interface ProposedLimit {
  /** Size in the form of app.ini: `500 MB`. */
  readonly total: string;
  readonly bytes: number;
  /** True if an administrator chose it. */
  readonly given: boolean;
  /** The owners who use more, the largest first. */
  readonly refused: readonly { readonly name: string; readonly used: number }[];
}

/** A suggested limit refuses at most one owner in so many, and no more than an administrator can talk to. */
const ownersPerRefused = 20;
const mostRefused = 20;

/**
 * Proposes a round size (1, 2 or 5 and zeros) that few of the owners exceed, or takes the given one.
 * `owners` begins with the largest one.
 */
export function proposeTotal(
  owners: readonly Pick<OwnerRow, 'name' | 'total'>[],
  given: number | null = null,
): ProposedLimit {
  const few = Math.min(mostRefused, Math.floor(owners.length / ownersPerRefused));
  const bytes = given ?? roundUp(owners[few]?.total ?? 0);
  const over = bytes === -1 ? [] : owners.filter(({ total }) => total > bytes);
  const refused = over.map(({ name, total }) => ({ name, used: total }));
  return { total: writeSize(bytes), bytes, given: given !== null, refused };
}

/** Rounds up to 1, 2 or 5 times a power of 10; a gigabyte if nobody stores anything. */
function roundUp(bytes: number): number {
  if (bytes === 0) return 1_000_000_000;
  for (let power = 1; power <= Number.MAX_SAFE_INTEGER; power *= 10) {
    const round = [1, 2, 5].map(digit => digit * power).find(size => size >= bytes);
    if (round !== undefined && round <= Number.MAX_SAFE_INTEGER) return round;
  }
  return Number.MAX_SAFE_INTEGER;
}

interface WrittenQuota {
  readonly mode: 'report' | 'enforce';
  readonly limit: ProposedLimit;
  /** True if there is a worker: unreachable data is forgiven, and collected. */
  readonly hasWorker: boolean;
  /** True if the worker puts the hooks into repositories that are made later. */
  readonly keepsHooks: boolean;
  /** The versions of git, and the value that names one of each; null if there are not several. */
  readonly gits: { readonly words: string; readonly value: string } | null;
}

/** The text of an app.ini for these storages and places. */
export function configText(
  {
    root,
    layout,
    storages,
    advice,
    stores,
  }: Pick<Survey, 'layout' | 'root' | 'storages' | 'advice' | 'stores'>,
  { dataPath, sockets, socketGroup, trustedGroup }: NewPlaces,
  { mode, limit, hasWorker, keepsHooks, gits }: WrittenQuota,
  forge: WrittenForge | null,
): string {
  const isRead = forge !== null && forge.fault === null;
  const { length: refused } = limit.refused;
  const over = refused === 1 ? '1 owner was' : `${refused} owners were`;
  // GitLab collects garbage itself.
  const isCollecting = hasWorker && layout !== 'gitlab';
  return textsIn([
    comment(
      `Written by softquota init for ${root}. The manual, docs/configuration.md, has every key; ` +
        '"softquota serve --check-config" shows the errors in this file.',
    ),
    '',
    '[quota]',
    'ENABLED = true',
    comment('report decides and records, but allows everything; enforce refuses.'),
    `MODE = ${mode}`,
    hasWorker && [comment(forgiving), 'GARBAGE = forgive'],
    '',
    '[quota.default]',
    comment(
      `The most that one owner may store in total, -1 for no limit. ${limit.given ? '' : 'This is a suggestion: '}${over} over it when it was written.`,
    ),
    `TOTAL = ${limit.total}`,
    '',
    storages.map((settings, index) => sectionLines(settings, index === 0 ? advice : [])),
    followLines(storages),
    forge && forgeLines(forge),
    !isRead && storeLines(stores),
    keepsHooks && ['[hooks]', comment(keeping), 'KEEP = true', ''],
    (isCollecting || gits !== null) && [
      '[reclaim]',
      isCollecting && [comment(collecting), 'RUN = gc'],
      gits && [comment(`The gits of the worker: ${gits.words}.`), setting('GIT', gits.value)],
      '',
    ],
    '[server]',
    setting('DATA_PATH', dataPath),
    comment('The gate, which the hooks ask; its group is the group that the git server runs with.'),
    setting('SOCKET', `${sockets ?? dataPath}/gate.sock`),
    socketGroup !== null && setting('SOCKET_GROUP', socketGroup),
    sockets !== null && setting('TRUSTED_SOCKET', `${sockets}/trusted.sock`),
    trustedGroup !== null && ['TRUSTED_MODE = 0660', setting('TRUSTED_GROUP', trustedGroup)],
    sockets !== null && setting('ADMIN_SOCKET', `${sockets}/admin.sock`),
    '',
  ]).join('\n');
}

const keeping = 'The worker puts the hooks into repositories that are made later, too.';
const collecting = 'What was deleted leaves the disk an hour later, as by git gc; measure leaves it there.';
const forgiving = 'What was deleted stops counting once the worker has measured it.';

export type FaultReport = Pick<ForgeFault, 'code' | 'message' | 'mend'>;

export interface ForgeReport {
  readonly kind: string;
  /** The forge's own configuration file; null if none was taken. */
  readonly config: string | null;
  /** The address that is used instead of the one in `config`; null: none. */
  readonly address: string | null;
  /** The name and version of the database; null if it does not answer. */
  readonly database: string | null;
  readonly schema_version: number | null;
  /** Why its figures do not count; null if they do. */
  readonly fault: FaultReport | null;
  /** The reasons why the daemon cannot read files that this user can read, each with its fix. */
  readonly rights: readonly { readonly message: string; readonly mend: string }[];
  /** Stored bytes that have no owner in the database. */
  readonly unowned: readonly Unowned[];
}

type WrittenForge = Pick<ForgeReport, 'kind' | 'config' | 'address' | 'fault'>;

const reporting =
  'Programs that know the owners can report it: POST /v1/units on TRUSTED_SOCKET, see docs/gate.md.';

function storeLines(stores: Survey['stores']): Texts {
  if (stores.length === 0) return null;
  const lines = stores.map(({ path, what }) =>
    comment(`Not measured, because its owners cannot be found on the disk: ${what} in ${path}.`),
  );
  return [lines, comment(reporting), ''];
}

/** The section is commented out if the database cannot be read: it would keep the daemon from being ready. */
function forgeLines({ kind, config, address, fault }: WrittenForge): Texts {
  const lines = textsIn([
    '[forge]',
    setting('KIND', kind),
    // Gogs' own file also says where attachments are.
    config !== null && (address === null || kind === 'gogs') && setting('CONFIG', config),
    address !== null && setting('DATABASE', address),
  ]);
  return [
    comment(
      "The forge's database says who owns what, what is public, and the bytes of LFS, packages and files.",
    ),
    fault && comment(`It is not read: ${fault.message}. To fix it: ${fault.mend}.`),
    lines.map(line => (fault === null ? line : `;${line}`)),
    '',
  ];
}

function sectionLines({ kind, templates, owner }: StorageSettings, advice: readonly string[]): Texts {
  return [
    `[storage.${kind}]`,
    setting('PATH', templates.join(', ')),
    advice.map(comment),
    owner.by !== 'path' && setting('OWNER', ownerText(owner)),
    '',
  ];
}

function followLines([first]: readonly StorageSettings[]): Texts {
  const { follow = [] } = first ?? {};
  if (follow.length === 0) return null;
  const about = comment('Symbolic links that lead below these directories are followed.');
  return ['[storage]', about, setting('FOLLOW', follow.join(', ')), ''];
}

function ownerText(owner: Exclude<OwnerSource, { by: 'path' }>): string {
  if (owner.by === 'forge') return owner.by;
  return owner.by === 'git-config' ? `git-config ${owner.key}` : `${owner.by} ${owner.name}`;
}

function setting(name: string, value: string): string {
  return `${name} = ${encodeValue(value)}`;
}

const width = 100;

/** Wraps a text, and escapes it, as lines of comment. */
function comment(text: string): string[] {
  const lines: string[] = [];
  for (const word of printable(text).split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`# ${word}`);
  }
  return lines;
}
