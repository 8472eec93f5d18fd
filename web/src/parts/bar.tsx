/** Usage by kind, as a bar and as a list. A kind has the same colour everywhere. */

import { type Leaf, type Subject, subjectWords, type Usage } from '../../../src/quota/index.ts';
import { formatBytes } from '../../../src/text/index.ts';
import type { OwnerState } from '../../../src/wire/index.ts';
import { portions } from '../usage.ts';
import { Percent, Size, type UseProps } from './figures.tsx';

const colours: Readonly<Record<Leaf, string>> = {
  'size:repos:public': 'repos-public',
  'size:repos:private': 'repos-private',
  'size:git:lfs': 'lfs',
  'size:assets:attachments:issues': 'issues',
  'size:assets:attachments:releases': 'releases',
  'size:assets:artifacts': 'artifacts',
  'size:assets:packages:all': 'packages',
  'size:assets:wiki': 'wiki',
};

export function colourOf(leaf: Leaf): string {
  return `var(--kind-${colours[leaf]})`;
}

/** The kind of data as a person calls it, with a capital: `LFS objects`, `Private repositories`. */
export function kindWords(subject: Subject): string {
  const words = subjectWords(subject);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

interface BarProps {
  /** Bytes in the order of `leaves`. */
  readonly usage: Usage;
  /** Bytes that the whole width stands for; more of `usage` than that fills it. */
  readonly width: number;
  /** Bytes at which a mark stands, where it is within the width. */
  readonly limit?: number | undefined;
}

export function Bar({ usage, width, limit = -1 }: BarProps) {
  const total = usage.reduce((sum, bytes) => sum + bytes, 0);
  const whole = Math.max(width, total, limit, 1);
  let before = 0;
  const parts = portions(usage).map(({ leaf, bytes }) => {
    const start = before;
    before += bytes;
    return { leaf, start, bytes };
  });
  const share = (bytes: number) => `${(bytes / whole) * 100}%`;
  return (
    <span class="bar" role="img" aria-label={barWords(usage, total)}>
      {parts.map(({ leaf, start, bytes }) => (
        <span
          key={leaf}
          title={`${kindWords(leaf)}: ${formatBytes(bytes)}`}
          style={{
            background: colourOf(leaf),
            insetInlineStart: share(start),
            inlineSize: share(bytes),
          }}
        />
      ))}
      {limit > 0 && limit < whole && <span class="limit" style={{ insetInlineStart: share(limit) }} />}
    </span>
  );
}

function barWords(usage: Usage, total: number): string {
  if (total === 0) return 'nothing stored';
  return portions(usage)
    .map(({ leaf, bytes }) => `${subjectWords(leaf)} ${formatBytes(bytes)}`)
    .join(', ');
}

/** Shows how full a limit is: as a percentage, and as a bar under it that is full at the limit. */
export function Fullness({ used, limit, state }: UseProps & { readonly state?: OwnerState }) {
  const percent = <Percent used={used} limit={limit} />;
  if (used === null || limit === null || limit <= 0) return percent;
  const share = Math.min(1, used / limit);
  return (
    <>
      {percent}
      <span class={`fullness ${state ?? ''}`} aria-hidden="true">
        <span style={{ inlineSize: `${share * 100}%` }} />
      </span>
    </>
  );
}

export function Kind({ leaf }: { readonly leaf: Leaf }) {
  return (
    <span>
      <span class="swatch" style={{ background: colourOf(leaf) }} />
      {kindWords(leaf)}
    </span>
  );
}

export function Legend({ usage }: { readonly usage: Usage }) {
  return (
    <ul class="legend">
      {portions(usage).map(({ leaf, bytes }) => (
        <li key={leaf}>
          <Kind leaf={leaf} />
          <Size bytes={bytes} />
        </li>
      ))}
    </ul>
  );
}
