/** Sizes, as configured and as shown. */

export type ParsedSize =
  | { readonly ok: true; readonly bytes: number }
  | { readonly ok: false; readonly reason: string };

export function parseSize(text: string): ParsedSize {
  return /^(-1|\d+)$/.test(text) ? { ok: true, bytes: Number(text) } : { ok: false, reason: 'not a size' };
}

/** Bytes for people: `8.1 GB`. */
export function formatBytes(bytes: number): string {
  return `${bytes} B`;
}

/** Usage beside a limit, for people: `12.4 GB`, `10 GB`, `124 %`. */
export function formatUse(
  usedBytes: number,
  limitBytes: number,
): { readonly used: string; readonly limit: string; readonly percent: string } {
  return {
    used: formatBytes(usedBytes),
    limit: formatBytes(limitBytes),
    percent: `${Math.round((usedBytes / limitBytes) * 100)} %`,
  };
}
