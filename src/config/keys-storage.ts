/** The keys that say where data is, and how it is measured. */

import { type OwnerSource, storageKinds } from '../layout/index.ts';
import { nameFault } from '../quota/index.ts';
import { key, keysOf } from './key.ts';
import * as kind from './kinds.ts';

const templates = kind.listOf(
  kind.path,
  'Write directories such as /srv/git/{owner}/{repo}.git, separated by commas',
  // Duplicates are reported as faults.
  'kept',
);

const data = {
  repos: { doc: 'Git repositories.', example: '/srv/git/{owner}/{repo}.git' },
  wiki: { doc: 'Wikis, which are also git repositories.', example: '/srv/git/{owner}/{repo}.wiki.git' },
  lfs: { doc: 'Files of git-lfs.', example: '/srv/git/{owner}/{repo}.git/lfs' },
  'attachments.issues': {
    doc: 'Files attached to issues and comments.',
    example: '/srv/attachments/{owner}/issues',
  },
  'attachments.releases': {
    doc: 'Files attached to releases.',
    example: '/srv/attachments/{owner}/releases',
  },
  artifacts: { doc: 'Artifacts of continuous integration.', example: '/srv/artifacts/{owner}' },
  packages: { doc: 'Packages of a registry.', example: '/srv/packages/{owner}' },
} as const;

/** `section.key` or `section.any thing.key`, as git-config(1) has it. */
const gitKey = /^[A-Za-z0-9-]+\.(?:[^\p{Cc}]+\.)?[A-Za-z][A-Za-z0-9-]*$/u;

const ownerSource: kind.ValueType<OwnerSource> = {
  expected: 'Write path, file NAME (a file in the unit), git-config KEY, fixed NAME or forge',
  parse: text => {
    const written = text.trim();
    const by = /^\S*/u.exec(written)?.[0] ?? '';
    const source = sourceOf(by.toLowerCase(), written.slice(by.length).trimStart());
    return typeof source === 'string' ? { ok: false, problem: source } : { ok: true, value: source };
  },
  print: source => {
    switch (source.by) {
      case 'path':
      case 'forge':
        return source.by;
      case 'git-config':
        return `git-config ${source.key}`;
      default:
        return `${source.by} ${source.name}`;
    }
  },
};

/** Directories; null stands for all. */
const roots: kind.ValueType<readonly string[] | null> = (() => {
  const list = kind.listOf(kind.path, 'Write all, none, or directories separated by commas');
  return {
    expected: list.expected,
    parse: text => {
      const word = text.trim().toLowerCase();
      if (word === 'all') return { ok: true, value: null };
      if (word === 'none') return { ok: true, value: [] };
      return /[^\s,]/.test(text) ? list.parse(text) : { ok: false, problem: 'empty' };
    },
    print: value => {
      if (value === null) return 'all';
      return value.length === 0 ? 'none' : list.print(value);
    },
  };
})();

/** The source, or what is wrong with it. */
function sourceOf(by: string, argument: string): OwnerSource | string {
  switch (by) {
    case 'path':
    case 'forge':
      return argument === '' ? { by } : `text after ${by}`;
    case 'file':
      return isFileName(argument) ? { by, name: argument } : 'not the name of a file in the unit';
    case 'git-config':
      return gitKey.test(argument) ? { by, key: argument } : 'not a key of git-config';
    case 'fixed': {
      const fault = nameFault(argument);
      return fault === null ? { by, name: argument } : `not an owner's name: it ${fault}`;
    }
    default:
      return 'not a known way to find the owner';
  }
}

function isFileName(text: string): boolean {
  return /^[^/\0]+$/.test(text) && text !== '.' && text !== '..';
}

/** The `[storage.*]` sections, in the order of `storageKinds`. */
export const storages = storageKinds.map(storage => {
  const { doc, example } = data[storage];
  const keys = keysOf(`storage.${storage}`, {
    templates: key('PATH', templates, {
      doc: 'The directories: `{owner}` stands for one name and `{repo}` for one or more, such as `/srv/git/{owner}/{repo}.git`; separate several by commas.',
      example,
    }),
    owner: key('OWNER', ownerSource, {
      text: 'path',
      doc: 'How the owner is found: `path` (the `{owner}` of PATH), `file NAME` (the first line of that file in the directory), `git-config KEY` (of the repository; repos and wiki only), `fixed NAME` or `forge`: the database of [GitLab](forges/gitlab.md) says it (repos and wiki only).',
    }),
  });
  return { storage, doc, ...keys };
});

export const { visibility } = keysOf('storage.repos', {
  visibility: key('VISIBILITY', kind.oneOf(['export-ok', 'public', 'private', 'forge']), {
    text: 'export-ok',
    doc: "Which repositories count as public: `export-ok`: those with a file `git-daemon-export-ok`; `public`: all; `private`: none; `forge`: those that the forge's database says, which is the default with `[forge]`.",
  }),
});

export const storage = keysOf('storage', {
  follow: key('FOLLOW', kind.listOf(kind.path, 'Write directories separated by commas'), {
    doc: 'Directories on other disks, separated by commas: a symbolic link in place of an owner, a repository or its `objects` is [followed](measuring.md#links) if it leads below one of them.',
    example: '/disk2/git',
  }),
});

export const scan = keysOf('scan', {
  workers: key('WORKERS', kind.optional(kind.wholeNumber(1, 64)), {
    words: 'the number of cores, at most 4',
    doc: 'The number of threads that measure. More of them make a sweep shorter where it mostly waits for disks.',
    example: '2',
    restarts: true,
  }),
  schedule: key('SCHEDULE', kind.cron, {
    text: '*/15 * * * *',
    doc: 'When everything is measured again, of which only what may have changed is read: five fields as in crontab(5), or `@hourly`, `@daily`, `@weekly`; in local time.',
  }),
  roots: key('ROOTS', roots, {
    text: 'all',
    doc: 'What this host walks, if several hosts mount the same storage: `all`, `none`, or directories that templates begin with, separated by commas. One of the other hosts has to walk the rest; see [redis.md](redis.md#storage-that-several-hosts-mount). Only with `[store] ADAPTER = redis`.',
  }),
  measure: key('MEASURE', kind.oneOf(['apparent', 'allocated']), {
    text: 'apparent',
    doc: 'What counts of a file: `apparent`: its size; `allocated`: its blocks on the disk. Only regular files count; with `allocated`, the blocks of directories count, too.',
  }),
  exclude: key(
    'EXCLUDE',
    kind.listOf(
      kind.matching(isFileName, 'not a name', 'Write a name'),
      'Write names of directories without /, separated by commas',
    ),
    {
      text: '.snapshot, .snapshots, .zfs, lost+found',
      doc: 'Names of directories that are not measured, at any depth.',
    },
  ),
});
