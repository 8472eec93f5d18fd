/** Usage by kind, as a bar and as a list. A kind has the same colour everywhere. */

import {
  type Leaf,
  type RuleScope,
  type Subject,
  subjectWords,
  type Usage,
} from '../../../src/quota/index.ts';
import { formatBytes } from '../../../src/text.ts';
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

/** Returns the name of a kind of data with a capital: `LFS objects`, `Private repositories`. */
export function kindWords(subject: Subject): string {
  return capital(subjectWords(subject));
}

export function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

interface BarProps {
  /** Bytes in the order of `leaves`. */
  readonly usage: Usage;
  /** Bytes for the whole width. A greater usage fills the bar. */
  readonly width: number;
  /** Bytes at which the bar has a mark, if that is within its width. */
  readonly limit?: number | undefined;
}

export function Bar({ usage, width, limit = -1 }: BarProps) {
  const segments = portions(usage).map(({ leaf, bytes }) => ({
    key: leaf,
    words: kindWords(leaf),
    bytes,
    background: colourOf(leaf),
  }));
  return <SegmentBar segments={segments} width={width} limit={limit} />;
}

export interface Segment {
  readonly key: string;
  readonly words: string;
  readonly bytes: number;
  /** A CSS colour. */
  readonly background: string;
}

interface SegmentBarProps extends Pick<BarProps, 'width'> {
  /** Bytes at which the bar has a mark; -1 for none. */
  readonly limit: number;
  readonly segments: readonly Segment[];
}

export function SegmentBar({ segments, width, limit }: SegmentBarProps) {
  const total = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const whole = Math.max(width, total, limit, 1);
  const share = (bytes: number) => `${(bytes / whole) * 100}%`;
  const told = segments.filter(({ bytes }) => bytes > 0);
  let before = 0;
  const placed = told.map(segment => {
    const start = before;
    before += segment.bytes;
    return { ...segment, start, title: `${segment.words}: ${formatBytes(segment.bytes)}` };
  });
  const stored = placed.map(({ title }) => title).join(', ') || 'nothing stored';
  const isMarked = limit > 0 && limit < whole;
  const limitWords = `limit ${formatBytes(limit)}`;
  return (
    <>
      <span class="bar" role="img" aria-label={isMarked ? `${stored}; ${limitWords}` : stored}>
        {placed.map(({ key, start, bytes, background, title }) => (
          <span
            key={key}
            title={title}
            style={{ background, insetInlineStart: share(start), inlineSize: share(bytes) }}
          />
        ))}
        {isMarked && <span class="limit" style={{ insetInlineStart: share(limit) }} />}
      </span>
      {isMarked && (
        <span class="limit-label" aria-hidden="true">
          <span style={{ insetInlineStart: `min(${share(limit)}, 100% - 8rem)` }}>▲ {limitWords}</span>
        </span>
      )}
    </>
  );
}

interface FullnessProps extends UseProps {
  readonly state?: OwnerState;
  readonly per?: RuleScope;
}

/**
 * Shows how full a limit is: as a percentage, and as a bar that is full at the limit. A shared limit is
 * marked as one of all members.
 */
export function Fullness({ used, limit, state, per }: FullnessProps) {
  const percent = (
    <span>
      <Percent used={used} limit={limit} />{' '}
      {per === 'group' && <span class="quiet-text small of-all">all members together</span>}
    </span>
  );
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
