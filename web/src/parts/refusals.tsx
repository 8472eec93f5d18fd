/** Refusals by day, as bars that align with their figures. */

import type { RefusalsOfDay } from '../../../src/wire/index.ts';
import { Empty } from './states.tsx';

const dayWords = new Intl.DateTimeFormat(undefined, { day: 'numeric', timeZone: 'UTC' });

export function Refusals({ days }: { readonly days: readonly RefusalsOfDay[] }) {
  const most = Math.max(0, ...days.map(({ count }) => count));
  if (most === 0) return <Empty>No refusals.</Empty>;
  return (
    <ol class="refusals">
      {days.map(({ day, count }) => (
        <li key={day}>
          <span class="bar-up" aria-hidden="true">
            <span style={{ blockSize: `${(count / most) * 100}%` }} />
          </span>
          <span class={count === 0 ? 'quiet-text' : ''}>{count.toLocaleString('en-US')}</span>
          <time class="quiet-text small" dateTime={day} title={`${day} (UTC)`}>
            {dayWords.format(new Date(`${day}T00:00:00Z`))}
          </time>
        </li>
      ))}
    </ol>
  );
}
