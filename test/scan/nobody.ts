/**
 * Run by itself: what a walk answers to one who is not root.
 *
 * In: the unit's path, the bytes that the unit is known with or `null`, MEASURE, and `starved` if it can open
 * no file any more.
 * Out: the walk's outcome as JSON.
 */

import { openSync } from 'node:fs';
import { unitAt, walked } from './world.ts';

const [path = '', known = 'null', measured = 'apparent', fed = 'fed'] = process.argv.slice(2);
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(65534);
  process.setuid?.(65534);
}
const unit = unitAt(path, path.endsWith('.git') ? 'repos' : 'lfs');
const knownBytes = JSON.parse(known);
const measure = measured === 'allocated' ? 'allocated' : 'apparent';
if (fed === 'starved') openAll();
process.stdout.write(JSON.stringify(walked(unit, { measure, knownBytes })));

function openAll(): void {
  try {
    for (;;) openSync('/dev/null', 'r');
  } catch {
    // None is left.
  }
}
