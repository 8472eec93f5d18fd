/** Announces changes to screen readers without moving the focus. */

import { useWatched, Watched } from '../api/watched.ts';

/** The count makes the same words be announced again. */
const said = new Watched<{ readonly words: string; readonly count: number }>({ words: '', count: 0 });

export function announce(words: string): void {
  said.set({ words, count: said.value.count + 1 });
}

export function Announcer() {
  const { words, count } = useWatched(said);
  return (
    <div class="visually-hidden" aria-live="polite">
      <span key={count}>{words}</span>
    </div>
  );
}
