/** `softquota why` and `softquota reclaim`: what takes the space, what would free it, and collecting now. */

import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { counted, formatBytes, formatCount } from '../text.ts';
import {
  gitlabMaintenance,
  isKeptByGitlab,
  mostReclaims,
  type ReclaimRun,
  type RepositorySpace,
  type SpaceAnswer,
  type SpaceReport,
} from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { type DaemonClient, withQuery } from './client.ts';
import { escapedLines, formatTime, type Texts, table } from './output.ts';
import { tellNote } from './streams.ts';
import { garbageLine } from './usage.ts';

const askAgainMs = 300;
const shownCommands = 3;

const addWhy = apiCommand<SpaceAnswer>('why <owner[/repository]>', {
  summary: 'show what takes the space, and how to free it',
  description:
    "Shows an owner's repositories, and how much data in them is unreachable (no branch or tag needs it any more). " +
    'With a repository: the files, branches and tags that take the most space in the whole history, what deleting ' +
    'each would free, and the commands for it. The worker (softquota worker) examines the repository for this.',
  arguments: ['such as alice, or alice/project'],
  after: '\nExit status: 0 shown, 1 the repository cannot be examined.',
  ask: async (client, _, asked: string) => {
    const [owner, ...rest] = asked.split('/');
    if (owner === '') throw new SoftquotaError('usage', 'expected OWNER or OWNER/REPOSITORY');
    const path = withQuery('/admin/quota/space', { user: owner, repo: rest.join('/') || undefined });
    for (;;) {
      const found = await client.get<SpaceAnswer>({ path });
      if (found.state !== 'running') return found;
      await delay(askAgainMs);
    }
  },
  text: found => (found.state === 'none' ? repositoriesText(found) : reportText(found)),
  status: ({ state, message }) => {
    if (state !== 'failed') return exitCodes.done;
    tellNote(message ?? 'the repository cannot be examined');
    return exitCodes.refused;
  },
});

function repositoriesText(found: SpaceAnswer): string {
  const { repositories } = found;
  const head = escapedLines([
    `${found.owner} stores ${formatBytes(found.stored_bytes)} in repositories; ${formatBytes(found.unreachable_bytes)} of it is unreachable.`,
    garbageLine(found),
  ]);
  if (repositories.length === 0) return head;
  const unreachable = ({ unreachable_bytes: bytes }: RepositorySpace) =>
    bytes === null ? '-' : formatBytes(bytes);
  const shown = table(repositories, [
    ['REPOSITORY', each => each.name],
    ['STORED', each => formatBytes(each.stored_bytes), 'right'],
    ['UNREACHABLE', unreachable, 'right'],
    ['MEASURED', each => each.fault ?? formatTime(each.measured_at)],
  ]);
  return `${head}\n${shown}${escapedLines(repositories.map(inheritedLine))}`;
}

function inheritedLine({ name, inherited }: RepositorySpace): Texts {
  if (!inherited) return null;
  return `${name}: what forks of a deleted project have in common. It counts for the oldest fork of that project's owner, else for the oldest fork of all.`;
}

function reportText({ repositories, report, reported_at: at, state }: SpaceAnswer): string {
  const [repository] = repositories;
  if (repository === undefined || report === null) return '';
  const parts = [
    escapedLines(headLines(repository, report)),
    escapedLines(inheritedLine(repository)),
    escapedLines(state !== 'done' && `The figures are those of ${formatTime(at)}.`),
    pathsText(report),
    refsText(report),
    escapedLines(namespaceLines(report)),
    escapedLines(lfsLines(report)),
    escapedLines(report.cut && 'There was not enough time to examine everything.'),
  ];
  return parts.filter(part => part !== '').join('\n');
}

function headLines(
  { name, stored_bytes: stored, of_gitlab: isOfGitlab = false }: RepositorySpace,
  report: SpaceReport,
): Texts {
  const goes = isOfGitlab
    ? 'GitLab removes what is unreachable within ten days.'
    : 'What is unreachable goes when garbage is collected: softquota reclaim, by an administrator.';
  return [
    `${name} takes ${formatBytes(stored)}: ${formatBytes(report.reachable_bytes)} reachable, ${formatBytes(report.unreachable_bytes)} unreachable.`,
    report.unreachable_bytes > 0 && goes,
    report.kept_bytes > 0 && `.keep files hold packs of ${formatBytes(report.kept_bytes)}.`,
    report.leftover_bytes > 0 &&
      `Leftovers of broken pushes and collections take ${formatBytes(report.leftover_bytes)}.`,
  ];
}

function pathsText({ paths }: SpaceReport): string {
  if (paths.length === 0) return '';
  const shown = table(paths, [
    [
      'FILE, OVER ALL VERSIONS',
      ({ path, other_names: others }) => (others.length === 0 ? path : `${path} (also ${others.join(', ')})`),
    ],
    ['VERSIONS', ({ versions }) => formatCount(versions), 'right'],
    ['STILL THERE', path => (path.in_default_branch ? 'yes' : 'no')],
    ['FREES', ({ frees }) => formatBytes(frees), 'right'],
  ]);
  return shown + advice('To remove a file from all of the history, in a fresh clone:', paths);
}

function refsText({ refs }: SpaceReport): string {
  if (refs.length === 0) return '';
  const shown = table(refs, [
    ['REF, WHAT IT ALONE HOLDS', ref => (ref.default_branch ? `${ref.name} (default branch)` : ref.name)],
    ['COMMITS', ref => formatCount(ref.commits), 'right'],
    ['FREES', ref => formatBytes(ref.frees), 'right'],
  ]);
  return shown + advice('To delete a ref:', refs);
}

/** The commands of the first entries, to copy; the JSON has all of them. */
function advice(words: string, all: readonly { readonly commands: readonly string[] }[]): string {
  const lists = all.map(({ commands }) => commands).filter(commands => commands.length > 0);
  const shown = lists.slice(0, shownCommands);
  const commands = new Set([...shown.map(list => list[0]), ...shown.flatMap(list => list.slice(1))]);
  return shown.length === 0 ? '' : `${[words, ...commands].join('\n  ')}\n`;
}

function namespaceLines({ namespaces }: SpaceReport): Texts {
  return [
    namespaces.map(({ name, refs, bytes }) => {
      const what = name === 'reflogs' ? 'Reflogs' : `${counted(refs, 'ref', 'refs')} in ${name}`;
      return `${what} alone ${name !== 'reflogs' && refs === 1 ? 'holds' : 'hold'} ${formatBytes(bytes)}.`;
    }),
    namespaces.some(({ name }) => isKeptByGitlab(name)) && gitlabMaintenance,
  ];
}

function lfsLines({ lfs }: SpaceReport): Texts {
  if (lfs === null || lfs.count === 0) return null;
  return [
    `${counted(lfs.count, 'LFS object', 'LFS objects')} of ${formatBytes(lfs.bytes)} ${lfs.count === 1 ? 'belongs' : 'belong'} to no file of any version:`,
    lfs.largest.slice(0, shownCommands).map(({ oid, bytes }) => `  ${oid} ${formatBytes(bytes)}`),
    'softquota never deletes them, and git lfs prune frees only clones: an administrator deletes them in the LFS store, or has the forge do it.',
  ];
}

const path = '/admin/quota/reclaims';

const addReclaim = apiCommand<readonly ReclaimRun[]>('reclaim [repository]', {
  summary: 'collect garbage now',
  description:
    'Makes the worker (softquota worker) delete unreachable data (no branch or tag needs it any more) in a ' +
    'repository, or in the 1,000 repositories with the most of it, and waits for the end. Files that are younger than ' +
    '[reclaim] EXPIRE stay, because a running push may need them; what was deleted a moment ago goes where its pack is ' +
    'older.',
  arguments: ['OWNER/REPOSITORY, or a path'],
  after: '\nExit status: 0 collected, 1 a collection failed.',
  ask: (client, _, repository?: string) => collect(client, repository),
  text: runs =>
    runs.length === 0
      ? 'There is nothing to collect.\n'
      : [runs.map(runText), runs.length >= mostReclaims && onlyTheFirst],
  status: runs => (runs.some(({ state }) => state === 'failed') ? exitCodes.refused : exitCodes.done),
});

const onlyTheFirst = `Those were the ${formatCount(mostReclaims)} repositories with the most unreachable data. For others, run it again after [reclaim] EXPIRE.`;

async function collect(client: DaemonClient, repository: string | undefined): Promise<readonly ReclaimRun[]> {
  const body = repository === undefined ? {} : { repository };
  const begun = await client.get<readonly ReclaimRun[]>({ method: 'POST', path, body });
  const ids = new Set(begun.map(({ id }) => id));
  for (let runs = begun; ; runs = await client.get<readonly ReclaimRun[]>({ path })) {
    const own = runs.filter(({ id }) => ids.has(id));
    if (own.length < ids.size)
      throw new SoftquotaError(
        'unreachable',
        'the daemon was restarted, and does not know of the collections',
      );
    if (own.every(({ state }) => state !== 'running')) return own;
    await delay(askAgainMs);
  }
}

function runText({ repository, state, message, ...run }: ReclaimRun): string {
  if (state === 'failed') return `${repository}: failed: ${message ?? 'no reason is known'}`;
  const left = run.unreachable_bytes ?? 0;
  const later =
    left === 0 ? '' : `; ${formatBytes(left)} became unreachable recently, and can be freed later`;
  return `${repository}: ${formatBytes(Math.max(0, run.freed_bytes ?? 0))} freed${later}`;
}

export const spaceCommands = { why: addWhy, reclaim: addReclaim };
