import { randomBytes } from 'node:crypto';
import type { Position } from './record-store.ts';

/**
 * Position of a policy that goes on from no other one: hosts that knew another ask before they take it over.
 */
export function newGeneration(version = 1): Position {
  return { generation: newMark(), version, mark: newMark() };
}

/** Makes a mark for one change alone. */
export function newMark(): string {
  return randomBytes(8).toString('hex');
}
