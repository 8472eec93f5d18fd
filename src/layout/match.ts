/**
 * Matching paths against all templates at once, name by name from `/`.
 *
 * A state says how far one template has come. Several states of one template may live at a time:
 * `{repo}` may end at a name, or go on through it.
 */

import type { Layout, Track } from './layout.ts';

export interface State {
  readonly track: Track;
  /** Number of the pattern's segments that are matched. */
  readonly at: number;
  /** The next segment, `{repo}`, has begun and may go on. */
  readonly open: boolean;
  /** The name that `{owner}` matched. */
  readonly owner: string | null;
}

/** The states at `/`; states are always in the order of precedence. */
export function startStates(layout: Layout): State[] {
  return layout.tracks.map(track => ({ track, at: 0, open: false, owner: null }));
}

/** The states in the directory `name`, from those in the directory that holds it. */
export function advance(layout: Layout, states: readonly State[], name: string): State[] {
  const excluded = layout.exclude.includes(name);
  return states.flatMap(state => (excluded && state.at >= state.track.fixedLength ? [] : next(state, name)));
}

/** The states in a directory, from those at `/`. */
export function statesAt(layout: Layout, names: readonly string[]): State[] {
  return names.reduce((states, name) => advance(layout, states, name), startStates(layout));
}

/** Tells whether the whole template is matched. */
export function isComplete(state: State): boolean {
  return state.at === state.track.pattern.length;
}

/** The one name that the state can go on with; null where it is not one alone. */
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

/** Returns the text between the two in `text`, at least one character; null if there is none. */
function between(text: string, before: string, after: string): string | null {
  if (text.length <= before.length + after.length) return null;
  if (!text.startsWith(before) || !text.endsWith(after)) return null;
  return text.slice(before.length, text.length - after.length);
}
