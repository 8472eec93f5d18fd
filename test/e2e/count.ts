/** Counts with find(1): the figures by another way, sharing nothing with what is tested. */

import { must } from './run.ts';

/**
 * The bytes of regular files below a directory, one with several names once; what lies below `without` is not
 * counted.
 */
export async function counted(directory: string, without: readonly string[] = []): Promise<number> {
  const pruned = without.flatMap(path => ['-path', path, '-prune', '-o']);
  const args = [directory, '-ignore_readdir_race', ...pruned, '-type', 'f', '-printf', '%D:%i %s\\n'];
  const lines = new Set((await must('find', args)).split('\n').filter(line => line !== ''));
  return [...lines].reduce((sum, line) => sum + Number(line.split(' ')[1]), 0);
}
