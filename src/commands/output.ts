/** Prints JSON, moments and durations for commands. */

import { printable, printableJson } from '../text/index.ts';
import { print } from './streams.ts';

export function printJson(value: unknown): void {
  print(jsonText(value));
}

/**
 * Gives JSON in which anything that could mislead a reader stands as `\u202e`, which a program reads as the
 * same character.
 */
export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}

/** Gives each text as a line in which nothing can mislead a reader. */
export function escapedLines(texts: readonly string[]): string {
  return texts.map(text => `${printable(text)}\n`).join('');
}

/** A moment in local time, to the second: `2026-11-21 09:14:03`. */
export function formatTime(iso: string | null): string {
  if (iso === null) return 'never';
  return new Date(iso).toLocaleString('sv-SE');
}

/** Some seconds, as people say it: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
