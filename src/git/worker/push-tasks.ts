/** The tasks about pushes that are under way: judging them, seeing to their end, measuring their quarantines. */

import { basename, dirname } from 'node:path';
import { quarantinePath } from '../../layout/index.ts';
import { lookAtQuarantine } from '../../scan/index.ts';
import type { Fields } from './connection.ts';
import { bringsBack, type JudgedPush, judgePush } from './judge/judge.ts';
import { isKept } from './judge/outcome.ts';
import { type GitProgram, gitOf } from './space/git-programs.ts';
import { textField, textFields } from './tasks.ts';

/** The daemon gives up before. */
const judgeMs = 120_000;
const pushMs = 86_400_000;

/** Null: it is a task of another kind. */
export async function pushTask(
  kind: string,
  task: Fields,
  signal: AbortSignal,
  { gits, isAlone }: { readonly gits: readonly GitProgram[]; readonly isAlone: boolean },
): Promise<object | null> {
  if (kind === 'quarantine') return measured(task);
  if (kind !== 'judge' && kind !== 'brings_back' && kind !== 'outcome') return null;
  const program = gitOf(gits, textField(task, 'exec_path'));
  if (program === null) throw new Error('there is no git that can judge');
  const push = pushIn(task);
  const limits = { timeoutMs: judgeMs, signal };
  if (kind === 'brings_back') return { brings_back: await bringsBack(push, program, limits) };
  if (kind === 'judge') {
    const manner = textField(task, 'manner') === 'any' ? 'any' : 'less';
    return judgePush({ ...push, manner }, program, limits);
  }
  const sample = typeof task.sample === 'string' ? task.sample : null;
  return { kept: await isKept({ ...push, sample }, program, { timeoutMs: pushMs, signal, isAlone }) };
}

function pushIn(task: Fields): JudgedPush {
  return {
    path: textField(task, 'path'),
    quarantine: typeof task.quarantine === 'string' ? task.quarantine : null,
    lines: textField(task, 'lines'),
    hidden: textFields(task, 'hidden'),
  };
}

function measured(task: Fields): object {
  const measure = textField(task, 'measure') === 'allocated' ? 'allocated' : 'apparent';
  const place = quarantinePath(textField(task, 'path'), textField(task, 'name'));
  const look = place === null ? null : lookAtQuarantine(dirname(place), basename(place), measure);
  if (look?.is !== 'seen') throw new Error('the quarantine is not there, or cannot be read');
  const { id, bytes, hasObjects, sample } = look.quarantine;
  return { id, bytes, has_objects: hasObjects, sample };
}
