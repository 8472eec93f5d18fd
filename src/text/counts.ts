/** Counts for people. */

/** Gives `1,204`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Gives `1 repository`, `3 repositories`. */
export function counted(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
