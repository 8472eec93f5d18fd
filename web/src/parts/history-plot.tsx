/** Chart of a history with a cursor, which is moved by the pointer or by arrow keys and read out. */

import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { subjectWords } from '../../../src/quota/index.ts';
import { formatBytes, formatUse } from '../../../src/text.ts';
import type { History } from '../../../src/wire/index.ts';
import { growthWords } from '../history/growth-words.ts';
import {
  limitIn,
  nearest,
  type Picture,
  type Plot,
  plotOf,
  presentLeaves,
  totalOf,
} from '../history/plot.ts';
import { colourOf, Kind } from './bar.tsx';
import { Size, timeWords, Use } from './figures.tsx';

interface HistoryPlotProps {
  /** History of at least two points. */
  readonly history: History;
  readonly picture: Picture;
  /** Content below the chart. */
  readonly children?: ComponentChildren;
}

const height = 240;
const usualWidth = 640;

export function HistoryPlot({ history, picture, children }: HistoryPlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const [chosen, setChosen] = useState<number | null>(null);
  const plot = plotOf(history, picture, { width, height });
  const last = history.points.length - 1;
  const read = Math.min(chosen ?? last, last);
  return (
    <figure class="plot stack">
      <div class="canvas" ref={place}>
        <svg width={width} height={height} role="img" aria-label={summary(history)}>
          <Scales plot={plot} />
          {plot.bands.map(({ leaf, path }) => (
            <path key={leaf} class="band" d={path} style={{ fill: colourOf(leaf) }} />
          ))}
          {picture === 'limit' && <path class="total" d={plot.total} />}
          {plot.ahead !== null && <path class="ahead" d={plot.ahead} />}
          {plot.limitAt !== null && (
            <line
              class="limit"
              x1={plot.inner.left}
              x2={plot.inner.right}
              y1={plot.limitAt}
              y2={plot.limitAt}
            />
          )}
          {plot.limitAt !== null && (
            <text
              class="limit-words"
              x={plot.inner.left + 4}
              y={plot.limitAt + (beginsAbove(plot) ? 14 : -5)}
            >
              limit {formatBytes(limitIn(history) ?? 0)}
            </text>
          )}
          {chosen !== null && <Mark plot={plot} at={read} />}
        </svg>
        <Reader plot={plot} read={read} onRead={setChosen} words={wordsAt(history, read)} />
      </div>
      <Readings history={history} picture={picture} read={read} isLast={chosen === null} />
      {children}
    </figure>
  );
}

function Scales({ plot: { inner, sizes, times } }: { plot: Plot }) {
  return (
    <g class="scales">
      {sizes.map(({ at, words }) => (
        <g key={words}>
          <line x1={inner.left} x2={inner.right} y1={at} y2={at} />
          <text x={inner.left - 6} y={at} dy="0.32em" text-anchor="end">
            {words}
          </text>
        </g>
      ))}
      {times.map(({ at, words }) => (
        <text key={at} x={at} y={inner.bottom + 16} text-anchor={anchorAt(at, inner)}>
          {words}
        </text>
      ))}
    </g>
  );
}

/** Returns true if usage begins above the limit. The label then moves so that it stays readable. */
function beginsAbove({ heights: [first], limitAt }: Plot): boolean {
  return first !== undefined && limitAt !== null && first <= limitAt;
}

const halfAWord = 28;

function anchorAt(at: number, { left, right }: Plot['inner']): 'start' | 'middle' | 'end' {
  if (at - left < halfAWord) return 'start';
  return right - at < halfAWord ? 'end' : 'middle';
}

function Mark({ plot: { inner, across, heights }, at }: { plot: Plot; at: number }) {
  const x = across[at] ?? inner.right;
  return (
    <g class="reading">
      <line x1={x} x2={x} y1={inner.top} y2={inner.bottom} />
      <circle cx={x} cy={heights[at] ?? inner.bottom} r="3.5" />
    </g>
  );
}

const farStep = 10;

interface ReaderProps {
  readonly plot: Plot;
  /** Index of the point at the cursor. */
  readonly read: number;
  readonly words: string;
  readonly onRead: (read: number | null) => void;
}

/** Invisible slider over the chart, which moves the cursor. */
function Reader({ plot: { inner, across }, read, words, onRead }: ReaderProps) {
  const last = across.length - 1;
  const onKey = (event: KeyboardEvent) => {
    const moved = movedBy(event.key, read, last);
    if (moved === undefined) return;
    event.preventDefault();
    onRead(moved);
  };
  const onPoint = (event: PointerEvent) => {
    if (!(event.currentTarget instanceof HTMLElement)) return;
    onRead(nearest(across, event.clientX - event.currentTarget.getBoundingClientRect().left + inner.left));
  };
  return (
    <div
      class="reader"
      role="slider"
      tabIndex={0}
      aria-label="Time of the figures"
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={read}
      aria-valuetext={words}
      style={{
        insetInlineStart: `${inner.left}px`,
        insetBlockStart: `${inner.top}px`,
        inlineSize: `${inner.right - inner.left}px`,
        blockSize: `${inner.bottom - inner.top}px`,
      }}
      onKeyDown={onKey}
      onPointerDown={onPoint}
      onPointerMove={onPoint}
      onPointerLeave={() => onRead(null)}
      onFocus={() => onRead(read)}
      onBlur={() => onRead(null)}
    />
  );
}

/** Returns the new point for a key: null removes the cursor; undefined for other keys. */
function movedBy(key: string, read: number, last: number): number | null | undefined {
  const within = (index: number) => Math.min(last, Math.max(0, index));
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return within(read - 1);
    case 'ArrowRight':
    case 'ArrowUp':
      return within(read + 1);
    case 'PageDown':
      return within(read - farStep);
    case 'PageUp':
      return within(read + farStep);
    case 'Home':
      return 0;
    case 'End':
      return last;
    case 'Escape':
      return null;
    default:
      return undefined;
  }
}

interface ReadingsProps {
  readonly history: History;
  readonly picture: Picture;
  readonly read: number;
  readonly isLast: boolean;
}

/** Shows the figures at the cursor, or the latest ones, and thereby the legend. */
function Readings({ history, picture, read, isLast }: ReadingsProps) {
  const point = history.points[read];
  if (point === undefined) return null;
  const total = totalOf(point);
  return (
    <figcaption>
      <p class="row">
        <strong>{isLast ? `Latest, ${timeWords(new Date(point.at))}` : timeWords(new Date(point.at))}</strong>
        {picture === 'limit' ? <Use used={total} limit={limitIn(history)} /> : <Size bytes={total} />}
      </p>
      <ul class="legend">
        {presentLeaves(history).map(({ leaf, index }) => (
          <li key={leaf}>
            <Kind leaf={leaf} />
            <Size bytes={point.bytes[index] ?? 0} />
          </li>
        ))}
      </ul>
    </figcaption>
  );
}

/** Text that is read out for the point at the cursor. */
function wordsAt({ leaves, points }: History, read: number): string {
  const point = points[read];
  if (point === undefined) return '';
  const parts = leaves.flatMap((leaf, index) => {
    const bytes = point.bytes[index] ?? 0;
    return bytes > 0 ? [`${subjectWords(leaf)} ${formatBytes(bytes)}`] : [];
  });
  return `${timeWords(new Date(point.at))}: ${[`${formatBytes(totalOf(point))} in total`, ...parts].join(', ')}`;
}

/** Description of the chart for people who cannot see it. */
function summary(history: History): string {
  const { points } = history;
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) return '';
  const most = points.reduce((best, point) => (totalOf(point) > totalOf(best) ? point : best), first);
  const limit = limitIn(history);
  const at = (point: typeof first) => `${formatBytes(totalOf(point))} on ${timeWords(new Date(point.at))}`;
  const against = limit === null ? '' : ` The limit is ${formatUse(totalOf(last), limit).limit}.`;
  return `Usage over time: ${at(first)}, ${at(last)}, at most ${at(most)}.${against} ${growthWords(history.growth)}`;
}

/** Returns the width in pixels, and follows its changes. */
function useWidth(place: RefObject<HTMLElement>): number {
  const [width, setWidth] = useState(usualWidth);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(1, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [place]);
  return width;
}
