/**
 * Holds what a report says that would be freed against what is freed: each kind of advice is taken in a copy
 * of the repository, garbage is collected, and the disk says what came of it.
 */

import { cp } from 'node:fs/promises';
import { collect } from '../../../../src/git/worker/space/collect.ts';
import { explainSpace } from '../../../../src/git/worker/space/explain.ts';
import { withView } from '../../../../src/git/worker/space/view.ts';
import { spaceReport } from '../../../../src/wire/index.ts';
import { run } from '../../../hooks/world.ts';
import { limits, program, type Repository } from './world.ts';

/** Settings at a time when the expiry is over. */
const later = { expireMs: 600_000, now: () => Date.now() + 86_400_000 };

export async function explained(repository: Pick<Repository, 'path'>) {
  return withView(repository.path, { program }, limits, async view =>
    spaceReport.parse(JSON.parse(JSON.stringify(await explainSpace(view)))),
  );
}

/** Collects garbage, and gives the bytes that are left. */
export async function collected(repository: Repository): Promise<number> {
  await withView(repository.path, { program }, limits, view => collect(view, later));
  return repository.bytes();
}

export interface Prediction {
  readonly what: string;
  readonly said: number;
  readonly freed: number;
}

/** Takes each advice about a repository that frees at least this part of it, up to three of a kind. */
export async function predictions(
  repository: Repository,
  leastShare: number,
): Promise<readonly Prediction[]> {
  const found: Prediction[] = [];
  const first = await explained(repository);
  if (first.unreachable_bytes > 0) {
    const before = await repository.bytes();
    const freed = before - (await collected(repository));
    if (first.unreachable_bytes >= before * leastShare)
      found.push({ what: 'garbage', said: first.unreachable_bytes, freed });
  }
  const before = await collected(repository);
  const { paths, refs } = await explained(repository);
  const isWorth = ({ frees }: { readonly frees: number }) => frees >= before * leastShare;
  const take = async (what: string, said: number, act: (copy: string) => Promise<void>): Promise<void> => {
    const copy = `${repository.path}-copy-${found.length}`;
    await cp(repository.path, copy, { recursive: true });
    await act(copy);
    found.push({ what, said, freed: before - (await collected(repository.at(copy))) });
  };
  for (const { name, frees } of refs.filter(each => !each.default_branch && isWorth(each)).slice(0, 3))
    await take(`ref ${name}`, frees, copy => must(copy, 'update-ref', '-d', name));
  for (const { path, other_names: others, frees } of paths.filter(isWorth).slice(0, 3))
    await take(`file ${[path, ...others].join(', ')}`, frees, copy => removeFiles(copy, [path, ...others]));
  return found;
}

/** Removes files from all refs, as git filter-repo does it, with what is part of git. */
async function removeFiles(path: string, names: readonly string[]): Promise<void> {
  const exported = await run('git', ['fast-export', '--all', '--signed-tags=strip', '--no-data'], {
    cwd: path,
    // Lengths are those of bytes.
    encoding: 'latin1',
  });
  if (exported.code !== 0) throw new Error(exported.stderr);
  const changes = new Set(names.flatMap(name => [` ${name}`, ` ${JSON.stringify(name)}`]));
  const lines = exported.stdout.split('\n');
  const isOf = (line: string) => {
    const name = /^(?:M \d+ [0-9a-f]+|D)( .*)$/.exec(line)?.[1];
    return name !== undefined && changes.has(name);
  };
  const input = Buffer.from(lines.filter(line => !isOf(line)).join('\n'), 'latin1');
  const imported = await run('git', ['fast-import', '--force', '--quiet'], { cwd: path, input });
  if (imported.code !== 0) throw new Error(imported.stderr);
}

async function must(cwd: string, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await run('git', args, { cwd });
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
}

/** Each prediction that is not within five percent. */
export function wrongOnes(found: readonly Prediction[]): readonly string[] {
  return found
    .filter(({ said, freed }) => Math.abs(said - freed) > freed * 0.05)
    .map(({ what, said, freed }) => `${what}: ${said} said, ${freed} freed`);
}
