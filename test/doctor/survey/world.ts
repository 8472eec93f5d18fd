/** Git servers' trees, made cheaply: a bare repository is what git needs to see in it, and some bytes. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export function file(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** A bare repository with so many bytes in one object, and further files. */
export function repository(path: string, bytes = 10, files: Readonly<Record<string, string>> = {}): string {
  file(join(path, 'HEAD'), 'ref: refs/heads/main\n');
  file(join(path, 'config'), '[core]\n\tbare = true\n');
  file(join(path, 'objects/ab/object'), Buffer.alloc(bytes));
  mkdirSync(join(path, 'refs/heads'), { recursive: true });
  for (const [name, text] of Object.entries(files)) file(join(path, name), text);
  return path;
}

export interface Tree {
  /** Path that an administrator would name. */
  readonly given: string;
  /** The directory of the repositories. */
  readonly root: string;
  /** Every repository and wiki with whom it belongs to as far as its place or its files tell. */
  readonly owners: ReadonlyMap<string, string | null>;
  /** Directories that nobody can be told to own. */
  readonly stores: readonly string[];
}

export const layouts = ['owners', 'flat', 'gitolite', 'gitea', 'forgejo', 'gitlab'] as const;

/** A tree of this layout with so many owners in an empty folder; the first has most, and the sizes differ. */
export function makeTree(layout: (typeof layouts)[number], folder: string, count: number): Tree {
  const owners = new Map<string, string | null>();
  const names = Array.from({ length: count }, (_, index) => `owner${String(index).padStart(3, '0')}`);
  const size = (name: string) => Math.ceil(40_000 / (names.indexOf(name) + 1)) + names.indexOf(name);
  const add = (path: string, owner: string | null, bytes: number, files = {}) =>
    owners.set(repository(path, bytes, files), owner);
  switch (layout) {
    case 'owners': {
      const root = join(folder, 'git');
      for (const name of names) {
        add(join(root, name, 'app.git'), name, size(name));
        add(join(root, name, 'group/site.git'), name, 7);
      }
      return { given: root, root, owners, stores: [] };
    }
    case 'flat': {
      const root = join(folder, 'git');
      for (const name of names) add(join(root, `${name}.git`), 'git', size(name));
      return { given: root, root, owners, stores: [] };
    }
    case 'gitolite': {
      const root = join(folder, 'repositories');
      add(join(root, 'gitolite-admin.git'), null, 100);
      for (const name of names) {
        add(join(root, name, 'app.git'), name, size(name), { 'gl-creator': `${name}\n` });
      }
      return { given: folder, root, owners, stores: [] };
    }
    case 'gitea': {
      const data = join(folder, 'data');
      const root = join(data, 'gitea-repositories');
      file(join(folder, 'custom/conf/app.ini'), `WORK_PATH = ${folder}\n[lfs]\nPATH = ${folder}/big files\n`);
      for (const name of names) forgeOwner(add, root, name, size(name));
      const stores = [
        `${folder}/big files`,
        `${data}/attachments`,
        `${data}/packages`,
        `${data}/actions_artifacts`,
      ];
      for (const store of stores) file(join(store, 'aa/bb/content'), Buffer.alloc(1000));
      return { given: folder, root, owners, stores };
    }
    case 'forgejo': {
      // A container's /data, seen from outside.
      const root = join(folder, 'git/repositories');
      file(
        join(folder, 'gitea/conf/app.ini'),
        'APP_NAME = Forgejo\n[repository]\nROOT = /data/git/repositories\n[server]\nAPP_DATA_PATH = /data/gitea\n' +
          '[lfs]\nPATH = /data/git/lfs\n[attachment]\nPATH = /data/gitea/attachments\n',
      );
      for (const name of names) forgeOwner(add, root, name, size(name));
      const stores = [`${folder}/git/lfs`, `${folder}/gitea/attachments`, `${folder}/gitea/packages`];
      for (const store of stores) file(join(store, 'aa/bb/content'), Buffer.alloc(1000));
      return { given: folder, root, owners, stores };
    }
    case 'gitlab': {
      const root = join(folder, 'git-data/repositories');
      for (const [index, name] of names.entries()) {
        const hash = createHash('sha256').update(String(index)).digest('hex');
        const place = join(root, '@hashed', hash.slice(0, 2), hash.slice(2, 4), hash);
        const config = `[core]\n\tbare = true\n[gitlab]\n\tfullpath = ${name}/app\n`;
        add(`${place}.git`, `${name}/app`, size(name), { config });
        if (index % 10 === 0) add(`${place}.wiki.git`, null, 20);
      }
      const stores = [`${folder}/gitlab-rails/shared/lfs-objects`, `${root}/@pools`];
      file(join(stores[0] ?? '', 'aa/bb/content'), Buffer.alloc(1000));
      repository(join(stores[1] ?? '', 'aa/bb/aabb.git'), 1000);
      return { given: folder, root, owners, stores };
    }
  }
}

function forgeOwner(
  add: (path: string, owner: string, bytes: number, files: Readonly<Record<string, string>>) => void,
  root: string,
  name: string,
  bytes: number,
): void {
  const hooks = { 'hooks/pre-receive.d/gitea': '#!/bin/sh\n' };
  add(join(root, name, 'app.git'), name, bytes, hooks);
  add(join(root, name, 'app.wiki.git'), name, 30, hooks);
}

/** The sizes of the files in each directory, as find(1) names them; one find for all. */
export function sizesOf(directories: Iterable<string>): ReadonlyMap<string, number> {
  const sizes = new Map([...directories].map(directory => [directory, 0]));
  if (sizes.size === 0) return sizes; // find would look at the working directory
  // %H is the directory as it was given.
  const found = execFileSync('find', [...sizes.keys(), '-type', 'f', '-printf', '%s %H\\n'], {
    encoding: 'utf8',
    maxBuffer: 100_000_000,
  });
  for (const [, size, directory = ''] of found.matchAll(/^(\d+) (.*)$/gm))
    sizes.set(directory, (sizes.get(directory) ?? 0) + Number(size));
  return sizes;
}

/** Bytes of each owner, and under null those that nobody owns. */
export function totalsOf({ owners }: Tree): ReadonlyMap<string | null, number> {
  const totals = new Map<string | null, number>();
  for (const [path, bytes] of sizesOf(owners.keys())) {
    const owner = owners.get(path) ?? null;
    totals.set(owner, (totals.get(owner) ?? 0) + bytes);
  }
  return totals;
}
