/**
 * Storage templates: `/srv/git/{owner}/{repo}.git`.
 *
 * `{owner}` is one path segment, `{repo}` one or more; either may carry literal text before and
 * after. A segment `*` is any one segment. The directory that a whole template matches is a unit.
 */

import type { Parsed } from '../parsed.ts';

export type Segment =
  | { readonly is: 'literal'; readonly text: string }
  | { readonly is: 'any' }
  /** At least one character between `before` and `after`. */
  | { readonly is: 'owner'; readonly before: string; readonly after: string }
  /** `{repo}`, over one or more segments: `before` begins the first, `after` ends the last. */
  | { readonly is: 'repo'; readonly before: string; readonly after: string };

export interface Template {
  /** Template as written, with single slashes. */
  readonly text: string;
  /** The directory before the first segment with `{` or `*`, as written; a literal template as a whole. */
  readonly fixed: string;
  /** The parts after the fixed part; the first one is never literal. */
  readonly segments: readonly Segment[];
  /** Characters that are neither placeholder nor `*`; of two templates for one directory, more wins. */
  readonly literalCharacters: number;
  readonly hasOwner: boolean;
}

class Unusable extends Error {}

/** Parses a configured template; `problem` completes the sentence "this is not a template: ...". */
export function parseTemplate(text: string): Parsed<Template> {
  try {
    return { ok: true, value: templateOf(text) };
  } catch (error) {
    if (error instanceof Unusable) return { ok: false, problem: error.message };
    throw error;
  }
}

function templateOf(text: string): Template {
  if (text.includes('\0')) throw new Unusable('it has a NUL character');
  if (!text.startsWith('/'))
    throw new Unusable('expected an absolute path, such as /srv/git/{owner}/{repo}.git');
  const names = text.split('/').filter(name => name !== '');
  if (names.length === 0) throw new Unusable('expected a directory below /');
  const segments = names.map(segmentOf);
  refuseDisorder(segments);
  const literals = segments.findIndex(segment => segment.is !== 'literal');
  const fixedLength = literals === -1 ? segments.length : literals;
  const normalized = `/${names.join('/')}`;
  return {
    text: normalized,
    fixed: `/${names.slice(0, fixedLength).join('/')}`,
    segments: segments.slice(fixedLength),
    literalCharacters: Array.from(normalized.replaceAll(/\{\w+\}|\*/g, '')).length,
    hasOwner: segments.some(segment => segment.is === 'owner'),
  };
}

function segmentOf(name: string): Segment {
  if (name === '.' || name === '..') throw new Unusable(`a segment ${name} is not allowed`);
  if (name === '*') return { is: 'any' };
  if (name.includes('*')) {
    throw new Unusable(`"${name}": * stands for a whole segment and cannot be a part of one`);
  }
  const [before = '', placeholder, ...others] = name.split(/(\{[^{}]*\})/);
  const after = others.join('');
  if (/[{}]/.test(before) || (others.length === 1 && /[{}]/.test(after))) {
    throw new Unusable(`"${name}": a brace without a matching brace`);
  }
  if (placeholder === undefined) return { is: 'literal', text: name };
  if (placeholder !== '{owner}' && placeholder !== '{repo}') {
    throw new Unusable(`unknown ${placeholder}; known are {owner} and {repo}`);
  }
  if (others.length > 1) throw new Unusable(`"${name}": a segment can have only one of {owner} and {repo}`);
  return { is: placeholder === '{owner}' ? 'owner' : 'repo', before, after };
}

function refuseDisorder(segments: readonly Segment[]): void {
  for (const is of ['owner', 'repo']) {
    if (segments.filter(segment => segment.is === is).length > 1) throw new Unusable(`{${is}} is used twice`);
  }
  const repo = segments.findIndex(segment => segment.is === 'repo');
  if (repo !== -1 && segments.slice(repo + 1).some(segment => segment.is !== 'literal')) {
    throw new Unusable('only literal segments may follow {repo}');
  }
}
