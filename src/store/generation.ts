import { randomBytes } from 'node:crypto';
import type { Position } from './record-store.ts';

/** Where a policy stands that goes on from no other one: whoever knew another asks before taking it over. */
export function newGeneration(version = 1): Position {
  return { generation: newMark(), version, mark: newMark() };
}

/** Makes a mark for one change alone. */
export function newMark(): string {
  return randomBytes(8).toString('hex');
}
