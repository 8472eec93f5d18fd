/** Finds the path of a file for which a push is refused, and the commands that take it out of the push. */

import type { z } from 'zod';
import { decodePath } from '../../../layout/index.ts';
import type { JudgedPush, workerAnswers } from '../../../wire/index.ts';
import { bashQuoted } from '../space/explain.ts';
import type { GitProgram } from '../space/git.ts';
import { inLines, type RepositoryView, type RunLimits } from '../space/view.ts';
import { changesIn, newObjects } from './changes.ts';
import { inQuarantine } from './judge.ts';

type FilePathPush = Omit<JudgedPush, 'exec_path' | 'manner'> & {
  readonly objects: string;
  /** The id of the file's content. */
  readonly object: string;
};

type FoundFilePath = z.infer<typeof workerAnswers.file_path>;

/** Rejects if git fails, or is not done in time; `path` is null if no new commit has the file. */
export async function filePath(
  push: FilePathPush,
  program: GitProgram,
  limits: RunLimits,
): Promise<FoundFilePath> {
  const tips = newObjects(changesIn(push.lines) ?? []);
  return inQuarantine(push, program, limits, async view => {
    const found = await findFile(view, tips, push.object);
    if (found === null) return { path: null, commands: [] };
    const { path, commit, isOnlyVersion } = found;
    const isTip = tips.includes(commit);
    const withParents = await view.git(['rev-list', '--parents', '-n', '1', commit]);
    const before = withParents.includes(' ') ? `${commit.slice(0, abbreviated)}^` : null;
    return {
      path: path.slice(0, longestName),
      // A shell takes no line that is much longer.
      commands: path.length > longestName ? [] : commandsFor(path, { isTip, before, isOnlyVersion }),
    };
  });
}

const longestName = 1000;
const abbreviated = 12;
/** Share of the remaining time for counting the versions of the file. */
const versionsShare = 0.5;

interface FoundFile {
  readonly path: string;
  /** The first commit with the file. */
  readonly commit: string;
  /** Only one commit changes the file. */
  readonly isOnlyVersion: boolean;
}

async function findFile(
  view: RepositoryView,
  tips: readonly string[],
  object: string,
): Promise<FoundFile | null> {
  const endsAt = performance.now() + view.limits.timeoutMs;
  // New commits, the oldest first.
  const order = ['--topo-order', '--reverse', '--stdin', '--not', '--all'];
  let commit = '';
  const file = await view.firstLine(
    ['rev-list', '--objects', '--in-commit-order', ...order],
    line => {
      // Commits have no name behind the id; root trees have an empty one.
      const space = line.indexOf(' ');
      if (space === -1) commit = line;
      return line.slice(0, Math.max(0, space)) === object ? { name: line.slice(space + 1), commit } : null;
    },
    inLines(tips),
  );
  if (file === null) return null;
  const path = decodePath(Buffer.from(await wholeName(view, file, object), 'latin1'));
  // Smaller versions may come before it. If they cannot be counted, the name is returned all the same.
  const commits: string[] = [];
  const leftMs = Math.max(0, Math.floor(versionsShare * (endsAt - performance.now())));
  await view
    .firstLine(
      ['rev-list', ...order, '--', path],
      each => (commits.push(each) > 1 ? each : null),
      inLines(tips),
      AbortSignal.any([view.limits.signal, AbortSignal.timeout(leftMs)]),
    )
    .catch(() => commits.push(file.commit, file.commit));
  return { path, commit: commits[0] ?? file.commit, isOnlyVersion: commits.length === 1 };
}

/** Completes a name, in Latin-1: `rev-list` prints it only up to its first line feed. */
async function wholeName(
  view: RepositoryView,
  { name, commit }: { readonly name: string; readonly commit: string },
  object: string,
): Promise<string> {
  const named = async (words: readonly string[]): Promise<string | null> => {
    let whole: string | null = null;
    const take = (entry: string): void => {
      const [, its, path] = /^\d+ blob ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? [];
      if (its === object) whole ??= path ?? null;
    };
    await view.lines([{ args: ['ls-tree', '-r', '-z', ...words] }], take, '', { end: '\0' });
    return whole;
  };
  const path = decodePath(Buffer.from(name, 'latin1'));
  return (await named([commit, '--', path])) ?? (await named([commit])) ?? name;
}

/** Writes shell commands for the pusher's clone. `before`: the commit before the first one with the file. */
function commandsFor(
  path: string,
  { isTip, before, isOnlyVersion }: { isTip: boolean; before: string | null; isOnlyVersion: boolean },
): FoundFilePath['commands'] {
  const name = bashQuoted(path);
  const remove = `git rm -q --cached --ignore-unmatch -- ${bashQuoted(fromTop(path))}`;
  const amend = 'git commit -q --amend --no-edit --allow-empty';
  const lfs = `git lfs migrate import --include=${name}`;
  const inLfs = isPlainPattern(path) ? [{ what: 'To keep it in git LFS:', lines: [lfs] }] : [];
  if (isTip) return [{ what: 'To take it out of your last commit:', lines: [remove, amend] }, ...inLfs];
  // A name that is not UTF-8 can be passed neither to git here, nor to git filter-repo there.
  if (!path.isWellFormed()) return [];
  const [since, range] = before === null ? ['--root', 'HEAD'] : [before, `${before}..HEAD`];
  const rebase = `git rebase -q --rebase-merges --exec ${bashQuoted(`${remove} && ${amend}`)} ${since}`;
  const pathOption = `--path${path.startsWith('-') ? '=' : ' '}${name}`;
  const filter = `git filter-repo --force --invert-paths ${pathOption} --refs ${range}`;
  // A later change of the file would stop the rebase, and the shell of the rebase may not know $'…'.
  const line = isOnlyVersion && !name.startsWith('$') ? rebase : filter;
  const outOf = { what: 'To take it out of your commits:', lines: [line] };
  return [outOf, ...inLfs];
}

/** Writes a pathspec that means exactly this path, in whatever folder it is used. */
function fromTop(path: string): string {
  return /^[A-Za-z0-9.][^*?[\\]*$/.test(path) ? `:/${path}` : `:(top,literal)${path}`;
}

/** Tells whether git LFS, which takes patterns with commas between them, reads the path as it is. */
function isPlainPattern(path: string): boolean {
  return !/[*?[\]\\,!#\s]/.test(path);
}
