/**
 * URL templates: the addresses that an upload goes to, with the names in them.
 *
 * `/{owner}/{repo}/releases/attachments`: `{owner}` is whose usage grows, `{repo}` a repository of theirs,
 * `{size}` the bytes that come; `*` is any name, `**` any number of names, also none; `?service=X` asks for
 * a parameter of the query. Letters compare without case, so that no spelling gets past.
 */

import type { Parsed } from '../../parsed.ts';
import type { RequestAddress } from './address.ts';

const placeholders = ['owner', 'repo', 'size'] as const;

type Placeholder = (typeof placeholders)[number];

export type Captured = Readonly<Partial<Record<Placeholder, string>>>;

type Segment =
  | { readonly is: 'any' }
  | { readonly is: 'rest' }
  /** In lower case. */
  | { readonly is: 'literal'; readonly text: string }
  | {
      readonly is: 'placeholder';
      readonly name: Placeholder;
      readonly before: string;
      readonly after: string;
    };

export interface UrlTemplate {
  readonly text: string;
  readonly segments: readonly Segment[];
  /** Parameters that the query must have; in lower case. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

const mostSegments = 20;

export function parseUrlTemplate(text: string): Parsed<UrlTemplate> {
  const fault = (problem: string): Parsed<UrlTemplate> => ({ ok: false, problem });
  if (!text.startsWith('/')) return fault('not a path: it does not begin with /');
  const [path = '', query = ''] = text.split('?', 2);
  const names = path.split('/').filter(name => name !== '');
  if (names.length > mostSegments) return fault(`longer than ${mostSegments} names`);
  const segments: Segment[] = [];
  for (const name of names) {
    const segment = segmentOf(name);
    if (segment === null) {
      return fault(`not understood at "${name}": known are {owner}, {repo}, {size}, * and **`);
    }
    segments.push(segment);
  }
  const used = segments.flatMap(segment => (segment.is === 'placeholder' ? [segment.name] : []));
  if (new Set(used).size < used.length) return fault('a template that has a placeholder twice');
  const wanted = [...new URLSearchParams(query.toLowerCase())];
  return { ok: true, value: { text, segments, query: wanted } };
}

function segmentOf(name: string): Segment | null {
  if (name === '*') return { is: 'any' };
  if (name === '**') return { is: 'rest' };
  const parts = /^([^{}*]*)(?:\{([a-z]+)\}([^{}*]*))?$/.exec(name);
  if (parts === null) return null;
  const [, before = '', inner, after = ''] = parts;
  if (inner === undefined) return { is: 'literal', text: before.toLowerCase() };
  const placeholder = placeholders.find(known => known === inner);
  if (placeholder === undefined) return null;
  return { is: 'placeholder', name: placeholder, before: before.toLowerCase(), after: after.toLowerCase() };
}

/** The names in one reading of an address; null where the template does not match. */
export function matchReading(
  { segments, query }: UrlTemplate,
  names: readonly string[],
  asked: RequestAddress['query'],
): Captured | null {
  if (!query.every(([name, value]) => asked.getAll(name).some(each => isValue(each, value)))) {
    return null;
  }
  // A place that did not match is not tried again, so that long addresses take no long time.
  const failed = new Set<number>();
  const matchFrom = (segment: number, name: number): Captured | null => {
    const place = segment * (names.length + 1) + name;
    if (failed.has(place)) return null;
    const found = step(segment, name);
    if (found === null) failed.add(place);
    return found;
  };
  const step = (at: number, from: number): Captured | null => {
    const segment = segments[at];
    if (segment === undefined) return from === names.length ? {} : null;
    if (segment.is === 'rest') {
      for (let next = from; next <= names.length; next++) {
        const found = matchFrom(at + 1, next);
        if (found !== null) return found;
      }
      return null;
    }
    const name = names[from];
    const captured = name === undefined ? null : matchName(segment, name);
    if (captured === null) return null;
    const found = matchFrom(at + 1, from + 1);
    return found === null ? null : { ...captured, ...found };
  };
  return matchFrom(0, 0);
}

/** A fragment behind the value is cut off by some. */
function isValue(text: string, value: string): boolean {
  const lower = text.toLowerCase();
  return lower === value || lower.startsWith(`${value}#`);
}

function matchName(segment: Exclude<Segment, { readonly is: 'rest' }>, name: string): Captured | null {
  switch (segment.is) {
    case 'any':
      return {};
    case 'literal':
      return name.toLowerCase() === segment.text ? {} : null;
    case 'placeholder': {
      const { before, after } = segment;
      // No owner has a slash in the name; another reading of the address has it split.
      if (segment.name === 'owner' && name.includes('/')) return null;
      const lower = name.toLowerCase();
      // Some letters change their length with their case.
      if (lower.length !== name.length) return before + after === '' ? { [segment.name]: name } : null;
      const isMatch =
        lower.startsWith(before) && lower.endsWith(after) && name.length > before.length + after.length;
      return isMatch ? { [segment.name]: name.slice(before.length, name.length - after.length) } : null;
    }
  }
}
