/**
 * The app.ini of Gitea and Forgejo, as far as it says where data lies.
 *
 * Of its values only those are looked at, and none is kept. What refers to other values, `%(NAME)s`, is taken
 * as not said.
 */

import { basename, dirname, resolve } from 'node:path';
import { parse } from 'ini';
import type { Subject } from '../quota/index.ts';
import { isDirectory } from './directories.ts';
import type { StorePlace } from './recognised.ts';

export interface ForgeIni {
  readonly product: 'gitea' | 'forgejo';
  /** Where the repositories may be, the likeliest first. */
  readonly repositories: readonly string[];
  readonly stores: readonly StorePlace[];
  /** Names of what is kept in an object store, not on this disk. */
  readonly remote: readonly string[];
}

/** The name below APP_DATA_PATH, and the section of its own that may say otherwise. */
export const forgeStores: readonly (Omit<StorePlace, 'path'> & {
  readonly name: string;
  readonly section: string;
})[] = [
  store('LFS objects', 'lfs', 'lfs', 'size:git:lfs'),
  store('attachments', 'attachments', 'attachment', 'size:assets:attachments:all'),
  store('packages', 'packages', 'packages', 'size:assets:packages:all'),
  store('artifacts', 'actions_artifacts', 'actions.artifacts', 'size:assets:artifacts'),
  store('logs of actions', 'actions_log', 'actions', null),
];

/** The default names of the directory of repositories. */
export const repositoryNames = ['gitea-repositories', 'forgejo-repositories'];

function store(what: string, name: string, section: string, subject: Subject | null) {
  return { what, name, section, subject };
}

/** `file`: where the text stands, from which the working directory is told where the text does not say it. */
export function readForgeIni(text: string, file: string): ForgeIni {
  const tree: unknown = parse(text);
  const value = (section: string, key: string): string | null => valueIn(tree, section, key);
  const product = isForgejo([
    file,
    value('', 'APP_NAME'),
    value('', 'WORK_PATH'),
    value('repository', 'ROOT'),
  ])
    ? 'forgejo'
    : 'gitea';
  const work = value('', 'WORK_PATH') ?? workPathOf(file, product);
  const data = resolve(work, value('server', 'APP_DATA_PATH') ?? 'data');
  const outside = mapped(file, data);
  const root = value('repository', 'ROOT');
  const repositories =
    root === null ? repositoryNames.map(name => resolve(data, name)) : [resolve(work, root)];
  const type = (section: string): string | null => value(section, 'STORAGE_TYPE');
  const remote = forgeStores.filter(({ name, section }) => {
    const kind = type(section) ?? type(`storage.${name}`) ?? type('storage') ?? 'local';
    return (type(`storage.${kind}`) ?? kind) !== 'local';
  });
  const pathOf = ({ name, section }: (typeof forgeStores)[number]): string => {
    const shared = value('storage', 'PATH');
    const base = value(`storage.${name}`, 'PATH') ?? (shared === null ? name : `${shared}/${name}`);
    const older = name === 'lfs' ? value('server', 'LFS_CONTENT_PATH') : null;
    return outside(resolve(data, value(section, 'PATH') ?? older ?? base));
  };
  return {
    product,
    repositories: repositories.map(outside),
    stores: forgeStores
      .filter(one => !remote.includes(one))
      .map(one => ({ what: one.what, subject: one.subject, path: pathOf(one) })),
    remote: remote.map(({ what }) => what),
  };
}

export function isForgejo(texts: readonly (string | null)[]): boolean {
  return texts.some(text => text !== null && /forgejo/i.test(text));
}

/**
 * A container's file names the paths inside: `/data/gitea` may be `/srv/forge/gitea` out here, where the file
 * is.
 */
function mapped(file: string, data: string): (path: string) => string {
  const home = dirname(dirname(file));
  const isInside =
    basename(dirname(file)) === 'conf' && basename(home) === basename(data) && !isDirectory(data);
  const from = `${dirname(data)}/`;
  return path => (isInside && path.startsWith(from) ? `${dirname(home)}/${path.slice(from.length)}` : path);
}

/** `WORK/custom/conf/app.ini`; of a file elsewhere, the directory that packages use. */
function workPathOf(file: string, product: string): string {
  return /^(.*)\/custom\/conf\/[^/]+$/.exec(file)?.[1] ?? `/var/lib/${product}`;
}

function valueIn(tree: unknown, section: string, key: string): string | null {
  let at = tree;
  for (const step of section === '' ? [] : section.split('.')) at = fieldOf(at, step);
  const value = fieldOf(at, key);
  if (typeof value !== 'string' || value.includes('%(')) return null;
  const text = value.replace(/^`(.*)`$/, '$1').trim();
  return text === '' ? null : text;
}

function fieldOf(tree: unknown, name: string): unknown {
  if (typeof tree !== 'object' || tree === null) return undefined;
  return Object.entries(tree).find(([key]) => key === name)?.[1];
}
