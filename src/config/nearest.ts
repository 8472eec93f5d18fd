/** Finds the known word that was probably meant. */

/**
 * The known word that the fewest keystrokes (a letter more, less, other, or two in the wrong
 * order) turn `word` into; null where even that is more than a third of its letters.
 */
export function nearest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const strokes = keystrokes(word.toLowerCase(), candidate.toLowerCase());
    if (strokes < least) {
      best = candidate;
      least = strokes;
    }
  }
  return best;
}

/** The distance of Damerau and Levenshtein, each place changed at most once. */
function keystrokes(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const changed = (above[column - 1] ?? 0) + (same ? 0 : 1);
      const least = Math.min(changed, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(swapped ? Math.min(least, (before[column - 2] ?? least) + 1) : least);
    }
    before = above;
    above = current;
  }
  return above[to.length] ?? 0;
}
