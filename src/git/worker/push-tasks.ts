/** The tasks about pushes that are under way: judging them, seeing to their end, measuring their quarantines. */

import { basename, dirname } from 'node:path';
import { quarantinePath } from '../../layout/index.ts';
import { lookAtQuarantine } from '../../scan/index.ts';
import type { WorkerTask } from '../../wire/index.ts';
import { bringsBack, judgePush } from './judge/judge.ts';
import { isKept } from './judge/outcome.ts';
import { type GitProgram, gitOf } from './space/git-programs.ts';

type PushTask = Exclude<WorkerTask, { readonly kind: 'reclaim' | 'space' }>;

/** The daemon gives up before. */
const judgeMs = 120_000;
const pushMs = 86_400_000;

export async function pushTask(
  task: PushTask,
  signal: AbortSignal,
  { gits, isAlone }: { readonly gits: readonly GitProgram[]; readonly isAlone: boolean },
): Promise<object> {
  if (task.kind === 'quarantine') return measured(task);
  const program = gitOf(gits, task.exec_path);
  if (program === null) throw new Error('there is no git that can judge');
  const limits = { timeoutMs: judgeMs, signal };
  if (task.kind === 'brings_back') return { brings_back: await bringsBack(task, program, limits) };
  if (task.kind === 'judge') return judgePush(task, program, limits);
  return { kept: await isKept(task, program, { timeoutMs: pushMs, signal, isAlone }) };
}

function measured({ path, name, measure }: Extract<PushTask, { readonly kind: 'quarantine' }>): object {
  const place = quarantinePath(path, name);
  const look = place === null ? null : lookAtQuarantine(dirname(place), basename(place), measure);
  if (look?.is !== 'seen') throw new Error('the quarantine is not there, or cannot be read');
  const { id, bytes, hasObjects, sample } = look.quarantine;
  return { id, bytes, has_objects: hasObjects, sample };
}
