/**
 * The configured storage on this host's disk, and the matching of paths against all templates at once, name
 * by name from `/`.
 *
 * A layout is plain data that can be passed to a thread. It has the physical places of the templates' fixed
 * parts at the time it is made; a caller that keeps one makes it again before each sweep.
 */

import { lstatSync, opendirSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError, systemCode } from '../errors.ts';
import type { Parsed } from '../parsed.ts';
import { beforeLook, type Destination, follow } from './disk.ts';
import { encodePath, namesOf, pathOf } from './path.ts';

/*
 * Storage templates: `/srv/git/{owner}/{repo}.git`.
 *
 * `{owner}` is one path segment, `{repo}` one or more; either may carry literal text before and
 * after. A segment `*` is any one segment. The directory that a whole template matches is a unit.
 */

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
    return { ok: true, value: templateFrom(text) };
  } catch (error) {
    if (error instanceof Unusable) return { ok: false, problem: error.message };
    throw error;
  }
}

function templateFrom(text: string): Template {
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

/** The `[storage.*]` sections; their order is the order of precedence between equal templates. */
export const storageKinds = [
  'repos',
  'wiki',
  'lfs',
  'attachments.issues',
  'attachments.releases',
  'artifacts',
  'packages',
] as const;

export type StorageKind = (typeof storageKinds)[number];

/** Ways of finding a unit's owner (`[storage.*] OWNER`). */
export type OwnerSource =
  | { readonly by: 'path' }
  | { readonly by: 'file'; readonly name: string }
  | { readonly by: 'git-config'; readonly key: string }
  | { readonly by: 'fixed'; readonly name: string }
  /** The owner comes from a forge's database; a walk cannot know it. */
  | { readonly by: 'forge' };

/** `[storage.repos] VISIBILITY`; with `forge` it comes from a forge's database, and a walk cannot know it. */
export type Visibility = 'export-ok' | 'public' | 'private' | 'forge';

/** One `[storage.*]` section, as configured. */
export interface StorageSettings {
  readonly kind: StorageKind;
  /** Absolute templates, as written. */
  readonly templates: readonly string[];
  readonly owner: OwnerSource;
  /** Only for storage.repos. */
  readonly visibility: Visibility;
  /**
   * Templates that another host walks, see `[scan] ROOTS`: this host finds units there, and measures none.
   */
  readonly elsewhere?: readonly string[];
  /** `[storage] FOLLOW`, the same in all sections: directories below which links may lead. */
  readonly follow?: readonly string[];
}

/** A template's fixed part. */
export interface Root {
  /** Path as configured, with single slashes. */
  readonly written: string;
  /** Path with links resolved; parts that do not exist are as written. */
  readonly path: string;
  readonly state: 'present' | 'missing' | 'unreadable' | 'not a directory';
  /** The device and the inode of the directory; 0 if it is not present. */
  readonly device: bigint;
  readonly inode: bigint;
  /** The identity of the file system, from the caller; null if it is not known. */
  readonly fileSystem: string | null;
  /** The system's code if the state is `unreadable`. */
  readonly error?: string;
  /** The root is the target of a link that is followed. */
  readonly isLink?: true;
}

/** One template with the settings of its section. */
export interface Track extends Required<Omit<StorageSettings, 'elsewhere' | 'follow' | 'templates'>> {
  /** Tells whether this host measures what lies there. */
  readonly isWalked: boolean;
  readonly template: Template;
  /** Its fixed part, as an index into the layout's roots. */
  readonly root: number;
  /** The whole template from `/`, with the physical path of its fixed part. */
  readonly pattern: readonly Segment[];
  /** Number of the pattern's segments that are its fixed part. */
  readonly fixedLength: number;
  /** The name that `{owner}` matched on the way to the link that leads to the fixed part; null if none. */
  readonly linkedOwner: string | null;
  /** The tracks that continue this one by literal segments, with those segments. */
  readonly continuations: readonly Continuation[];
}

interface Continuation {
  /** An index into the layout's tracks. */
  readonly track: number;
  readonly names: readonly string[];
}

export interface Layout {
  /** One for each fixed part as written, and one for each link to an owner or a unit. */
  readonly roots: readonly Root[];
  /** In the order of precedence: the first that matches a directory wins. Tracks of links come last. */
  readonly tracks: readonly Track[];
  /** Names of directories that are left out below the fixed parts. */
  readonly exclude: readonly string[];
  /** The directories of `[storage] FOLLOW`, links resolved. */
  readonly follow: readonly string[];
  readonly links: Links;
}

/** The links that are followed, each with the directory to which it leads; `written` is the link. */
export type Links = ReadonlyMap<string, Root>;

/** Returns the directory of a repository's objects. */
export function objectsPathOf(links: Links, repository: string): string {
  const path = `${repository}/objects`;
  return links.get(path)?.path ?? path;
}

/**
 * Resolves the fixed parts of the templates, and follows no link below them. Throws `configuration` for an
 * invalid template; faults on the disk are in the states of the roots.
 */
export function layoutWithoutLinks(storages: readonly StorageSettings[], exclude: readonly string[]): Layout {
  const written = storages.flatMap(settings =>
    settings.templates.map(text => ({ settings, template: templateOf(settings.kind, text) })),
  );
  const fixedParts = [...new Set(written.map(({ template }) => template.fixed))];
  const roots = fixedParts.map(rootAt);
  const tracks = written
    .map(({ settings, template }): Track => {
      const { kind, owner, visibility, elsewhere = [] } = settings;
      const root = fixedParts.indexOf(template.fixed);
      const fixed = namesOf(roots[root]?.path ?? template.fixed);
      const pattern = [...fixed.map((text): Segment => ({ is: 'literal', text })), ...template.segments];
      const fixedLength = fixed.length;
      const isWalked = !elsewhere.includes(template.text);
      const section = { kind, owner, visibility, isWalked };
      return { ...section, template, root, pattern, fixedLength, linkedOwner: null, continuations: [] };
    })
    .sort(byPrecedence);
  return {
    roots,
    tracks: tracks.map(track => ({ ...track, continuations: continuationsOf(track, tracks, exclude) })),
    exclude: [...exclude],
    follow: [...new Set(storages.flatMap(({ follow = [] }) => follow))].map(place => rootAt(place).path),
    links: new Map(),
  };
}

/** Returns the roots below which this host looks for units. */
export function walkedRoots({ roots, tracks }: Layout): readonly Root[] {
  return roots.filter((_, index) => tracks.some(({ root, isWalked }) => root === index && isWalked));
}

/** Tells whether a root is still the directory that it was when the layout was made. */
export function isUnchanged(root: Root): boolean {
  if (root.state !== 'present') return false;
  beforeLook(root.path);
  const stats = lstatSync(encodePath(root.path), { bigint: true, throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.dev === root.device && stats.ino === root.inode;
}

function templateOf(kind: StorageKind, text: string): Template {
  const parsed = parseTemplate(text);
  if (parsed.ok) return parsed.value;
  throw new SoftquotaError(
    'configuration',
    `[storage.${kind}] PATH: "${text}" is not a template: ${parsed.problem}`,
  );
}

function byPrecedence(a: Track, b: Track): number {
  return (
    b.template.literalCharacters - a.template.literalCharacters ||
    storageKinds.indexOf(a.kind) - storageKinds.indexOf(b.kind)
  );
}

export function rootAt(written: string): Root {
  const destination = follow(written);
  const path = destination === null ? written : pathOf(destination.names);
  return { written, path, device: 0n, inode: 0n, fileSystem: null, ...stateAt(path, destination) };
}

function stateAt(path: string, to: Destination | null): Pick<Root, 'state'> & Partial<Root> {
  if (to !== null && to.error !== null) return { state: 'unreadable', error: to.error };
  if (to === null || to.existing < to.names.length) return { state: 'missing' };
  if (!to.directory) return { state: 'not a directory' };
  try {
    beforeLook(path);
    const { dev: device, ino: inode } = lstatSync(encodePath(path), { bigint: true });
    // Tries to list and to search it. access(2) would ignore the capabilities of the process.
    opendirSync(encodePath(path)).closeSync();
    lstatSync(encodePath(`${path}/.`));
    return { state: 'present', device, inode };
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return { state: 'unreadable', error: code };
  }
}

/** Finds the tracks that continue a given one by literal segments. */
export function continuationsOf(
  track: Track,
  tracks: readonly Track[],
  exclude: readonly string[],
): Continuation[] {
  return tracks.flatMap((other, index) => {
    const begins = track.pattern.every((segment, at) => isDeepStrictEqual(segment, other.pattern[at]));
    const rest = other.pattern.slice(track.pattern.length);
    if (!begins || rest.length === 0) return [];
    const names = rest.flatMap(segment => (segment.is === 'literal' ? [segment.text] : []));
    if (names.length < rest.length) return [];
    const outside = Math.max(other.fixedLength - track.pattern.length, 0);
    return names.slice(outside).some(name => exclude.includes(name)) ? [] : [{ track: index, names }];
  });
}

/**
 * The progress of one template along a path. A template may have several states at a time: `{repo}` may end
 * at a name, or go on.
 */
export interface State {
  readonly track: Track;
  /** Number of the pattern's segments that are matched. */
  readonly at: number;
  /** The next segment, `{repo}`, has begun and may go on. */
  readonly open: boolean;
  /** The name that `{owner}` matched. */
  readonly owner: string | null;
}

/** Returns the states at `/`. States are always in the order of precedence. */
export function startStates(layout: Layout): State[] {
  return layout.tracks.map(track => ({ track, at: 0, open: false, owner: track.linkedOwner }));
}

/** Returns the states in the directory `name`, from those in its parent. */
export function advance(layout: Layout, states: readonly State[], name: string): State[] {
  const excluded = layout.exclude.includes(name);
  return states.flatMap(state => (excluded && state.at >= state.track.fixedLength ? [] : next(state, name)));
}

/** Returns the states in a directory, given by its names from `/`. */
export function statesAt(layout: Layout, names: readonly string[]): State[] {
  return names.reduce((states, name) => advance(layout, states, name), startStates(layout));
}

/** Tells whether the whole template is matched. */
export function isComplete(state: State): boolean {
  return state.at === state.track.pattern.length;
}

/** Returns the only name with which the state can continue; null if other names are possible. */
export function onlyNext(state: State): string | null {
  const segment = state.track.pattern[state.at];
  return segment?.is === 'literal' ? segment.text : null;
}

function next(state: State, name: string): State[] {
  const { track, at, open, owner } = state;
  const segment = track.pattern[at];
  const past = { track, at: at + 1, open: false, owner };
  switch (segment?.is) {
    case undefined:
      return [];
    case 'literal':
      return segment.text === name ? [past] : [];
    case 'any':
      return [past];
    case 'owner': {
      const captured = between(name, segment.before, segment.after);
      return captured === null ? [] : [{ ...past, owner: captured }];
    }
    case 'repo': {
      const before = open ? '' : segment.before;
      const states: State[] = between(name, before, '') === null ? [] : [{ ...state, open: true }];
      return between(name, before, segment.after) === null ? states : [...states, past];
    }
  }
}

/** Returns the part of `text` between `before` and `after`, at least one character; null if there is none. */
function between(text: string, before: string, after: string): string | null {
  if (text.length <= before.length + after.length) return null;
  if (!text.startsWith(before) || !text.endsWith(after)) return null;
  return text.slice(before.length, text.length - after.length);
}
