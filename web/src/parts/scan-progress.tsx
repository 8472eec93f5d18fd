import { counted, printable } from '../../../src/text.ts';
import type { ScanReport } from '../../../src/wire/index.ts';
import { Size, Time } from './figures.tsx';
import { Others, Path } from './name.tsx';

const states: Readonly<Record<ScanReport['state'], readonly [words: string, mark: string]>> = {
  waiting: ['waiting', ''],
  running: ['measuring', 'near'],
  done: ['done', 'good'],
  stopped: ['stopped', 'near'],
  failed: ['failed', 'bad'],
};

export function ScanState({ state }: { readonly state: ScanReport['state'] }) {
  const [words, mark] = states[state];
  return <span class={`mark ${mark}`}>{words}</span>;
}

/** Shows a progress bar while the scan runs, and its results. */
export function ScanProgress({ scan }: { readonly scan: ScanReport }) {
  const { state, progress, drift, error } = scan;
  const { units, discovering, files, bytes } = progress;
  const { units_found: unitsFound, estimate_seconds: estimateSeconds } = progress;
  return (
    <div>
      {state === 'running' && (
        <progress
          aria-label="Units measured"
          max={Math.max(1, unitsFound)}
          {...(discovering && units === 0 ? {} : { value: units })}
        />
      )}
      <p>
        {units.toLocaleString('en-US')} of {counted(unitsFound, 'unit', 'units')}
        {discovering && ' or more'}, {counted(files, 'file', 'files')}, <Size bytes={bytes} />
        {state === 'running' && estimateSeconds !== null && `, about ${Math.ceil(estimateSeconds)} s left`}
      </p>
      {drift !== null && (
        <p>
          {drift.units === 0 ? (
            'All known figures were correct, to the byte.'
          ) : (
            <>
              {counted(drift.units, 'unit', 'units')} had wrong figures, by <Size bytes={drift.bytes} /> in
              total.
            </>
          )}
        </p>
      )}
      {error !== null && <p class="fault-text">{printable(error)}</p>}
      <Troubled title="could not be read" places={scan.unread} />
      <Troubled title="could not be measured" places={scan.faults} />
    </div>
  );
}

export function ScanTimes({ scan }: { readonly scan: ScanReport }) {
  const { started_at: startedAt, finished_at: finishedAt } = scan;
  return (
    <>
      <Time at={startedAt} absent="not yet" />
      {finishedAt !== null && startedAt !== null && (
        <span class="quiet-text"> {secondsBetween(startedAt, finishedAt)}</span>
      )}
    </>
  );
}

function secondsBetween(from: string, until: string): string {
  const seconds = (Date.parse(until) - Date.parse(from)) / 1000;
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds).toLocaleString('en-US')} s`;
}

function Troubled({ title, places: { first, count } }: { title: string; places: ScanReport['unread'] }) {
  if (count === 0) return null;
  return (
    <details>
      <summary>
        {counted(count, 'place', 'places')} {title}
      </summary>
      <ul class="faults">
        {first.map(({ path, why }) => (
          <li key={path}>
            <Path>{path}</Path> <span class="quiet-text">{printable(why)}</span>
          </li>
        ))}
        <Others count={count - first.length} />
      </ul>
    </details>
  );
}
