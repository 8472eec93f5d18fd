/** The keys of where data lies and how it is measured. */

import { z } from 'zod';
import { type OwnerSource, storageKinds } from '../layout/index.ts';
import { keysOfSection } from './key.ts';
import * as kind from './kinds.ts';
import { ownerSource } from './owner-source.ts';

const templates = kind.listOf(
  kind.path,
  'Write directories such as /srv/git/{owner}/{repo}.git with commas between',
  // So that one that is there twice can be named as a fault.
  'kept',
);

const examples = {
  repos: '/srv/git/{owner}/{repo}.git',
  wiki: '/srv/git/{owner}/{repo}.wiki.git',
  lfs: '/srv/git/{owner}/{repo}.git/lfs',
  'attachments.issues': '/srv/attachments/{owner}/issues',
  'attachments.releases': '/srv/attachments/{owner}/releases',
  artifacts: '/srv/artifacts/{owner}',
  packages: '/srv/packages/{owner}',
} as const;

const name = kind.textKind(
  z
    .string()
    .trim()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'not a name'),
  'Write at most 64 letters, digits, - or _',
);

const byPath: OwnerSource = { by: 'path' };

/** The `[storage.*]` sections, in the order of `storageKinds`. */
export const storages = storageKinds.map(storage => {
  const key = keysOfSection(`storage.${storage}`);
  const path = key('PATH', templates, {
    words: 'none',
    doc: 'Where it lies: directories with `{owner}` for one name and `{repo}` for one or more, such as `/srv/git/{owner}/{repo}.git`; several by commas.',
    example: examples[storage],
    reloads: true,
    of: config => config.storages.find(one => one.kind === storage)?.templates ?? [],
  });
  const owner = key('OWNER', ownerSource, {
    text: 'path',
    doc: 'Who owns what lies there: `path` (the `{owner}` of PATH), `file NAME` (the first line of that file in the directory), `git-config KEY` (of the repository; repos and wiki only) or `fixed NAME`.',
    reloads: true,
    of: config => config.storages.find(one => one.kind === storage)?.owner ?? byPath,
  });
  const shared = key('SHARED', kind.optional(name), {
    words: 'none',
    doc: 'What you call the file system that all of it lies on, where several hosts mount it: those that give the same name walk it once. Only with `[store] ADAPTER = redis`.',
    reloads: true,
    of: config => config.storages.find(one => one.kind === storage)?.shared ?? null,
  });
  return { storage, path, owner, shared };
});

export const visibility = keysOfSection('storage.repos')(
  'VISIBILITY',
  kind.oneOf(['export-ok', 'public', 'private']),
  {
    text: 'export-ok',
    doc: 'Which repositories count as public: `export-ok` those with a file `git-daemon-export-ok`, `public` all, `private` none.',
    reloads: true,
    of: config => config.storages.find(one => one.kind === 'repos')?.visibility ?? 'export-ok',
  },
);

const scanKey = keysOfSection('scan');

export const scan = {
  workers: scanKey('WORKERS', kind.optional(kind.wholeNumber(1, 64)), {
    words: 'the number of cores, at most 4',
    doc: 'How many threads measure.',
    example: '2',
    of: config => config.scan.workers,
  }),
  schedule: scanKey('SCHEDULE', kind.cron, {
    text: '*/15 * * * *',
    doc: 'When everything is measured again: five fields as in crontab(5), or `@hourly`, `@daily`, `@weekly`; in local time.',
    reloads: true,
    of: config => config.scan.schedule,
  }),
  verify: scanKey('VERIFY', kind.cron, {
    text: '0 3 * * 0',
    doc: 'When everything is measured without trusting anything known before, and differences are reported.',
    reloads: true,
    of: config => config.scan.verify,
  }),
  measure: scanKey('MEASURE', kind.oneOf(['apparent', 'allocated']), {
    text: 'apparent',
    doc: 'What of a file counts: `apparent` its size, `allocated` the blocks that it takes on the disk. Regular files count; with `allocated` so do the blocks of directories.',
    reloads: true,
    of: config => config.scan.measure,
  }),
  exclude: scanKey(
    'EXCLUDE',
    kind.listOf(
      kind.textKind(
        z.string().refine(name => !/[/\0]/.test(name) && name !== '.' && name !== '..', 'not a name'),
        'Write a name',
      ),
      'Write names of directories, without /, with commas between',
    ),
    {
      text: '.snapshot, .snapshots, .zfs, lost+found',
      doc: 'Names of directories that are left out wherever they lie.',
      reloads: true,
      of: config => config.scan.exclude,
    },
  ),
};
