/** First page of administrators: problems, and the figures of all owners together. */

import { leaves } from '../../../src/quota/index.ts';
import { counted, formatBytes, printable } from '../../../src/text.ts';
import type { Overview as Figures, Finding } from '../../../src/wire/index.ts';
import { findingsQuery, overviewQuery, ownersQuery } from '../api/queries.ts';
import { Bar, kindWords, Legend } from '../parts/bar.tsx';
import { Size, Time } from '../parts/figures.tsx';
import { History } from '../parts/history.tsx';
import { Path } from '../parts/name.tsx';
import { ownerColumns } from '../parts/owner-columns.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { ScanProgress } from '../parts/scan-progress.tsx';
import { Empty, Query } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';
import { usageIn } from '../usage.ts';

export function Overview() {
  return (
    <Page title="Overview" help="overview">
      <Query of={findingsQuery} what="the problems" rows={1}>
        {found => <Findings found={found} />}
      </Query>
      <Query of={overviewQuery} what="the overview" rows={10}>
        {figures => (
          <>
            <Mode figures={figures} />
            <OpenRequests count={figures.open_requests} />
            <div class="overview">
              <div class="stack">
                <Stored figures={figures} />
                <Fullest figures={figures} />
                <Nobodys figures={figures} />
              </div>
              <div class="stack">
                <Panel title="Refusals, last 14 days (UTC)" actions={<a href={to('events')}>Events</a>}>
                  <Refusals days={figures.refusals} />
                </Panel>
                <Disks figures={figures} />
                <Measuring figures={figures} />
              </div>
            </div>
          </>
        )}
      </Query>
      <History of={{ is: 'all' }} />
    </Page>
  );
}

function Findings({ found }: { found: readonly Finding[] }) {
  if (found.length === 0) return null;
  return (
    <Panel title="Problems">
      <ul class="findings">
        {found.map(({ code, severity, message, mend }) => (
          <li key={`${code} ${message}`}>
            <span class={`mark ${severity === 'wrong' ? 'bad' : 'near'}`}>{severity}</span>{' '}
            {printable(message)}
            <br />
            <code class="quiet-text">{printable(mend)}</code>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Mode({ figures: { enabled, mode, stale } }: { figures: Figures }) {
  if (enabled && mode === 'enforce' && !stale) return null;
  return (
    <div class="state">
      {!enabled && (
        <p>
          Quotas are switched off, so nothing is refused. <code>[quota] ENABLED = true</code> switches them
          on.
        </p>
      )}
      {enabled && mode === 'report' && (
        <p>
          Report mode: refusals are only recorded, and everything is allowed.{' '}
          <code>[quota] MODE = enforce</code> enforces the limits.
        </p>
      )}
      {stale && (
        <p>
          Figures of other hosts, of reporting programs or of storage that app.ini lacks may be out of date.
        </p>
      )}
    </div>
  );
}

function OpenRequests({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <p class="state">
      <a href={to('requests')}>{counted(count, 'request', 'requests')} for more space</a>{' '}
      {count === 1 ? 'waits' : 'wait'} for an answer.
    </p>
  );
}

function Stored({ figures: { tree, total, owners } }: { figures: Figures }) {
  const usage = usageIn(tree);
  return (
    <Panel title="Stored">
      <p>
        <strong class="figure">
          <Size bytes={total} />
        </strong>{' '}
        of {counted(owners.total, 'owner', 'owners')}
      </p>
      <Bar usage={usage} width={total} />
      <Legend usage={usage} />
    </Panel>
  );
}

const shownFullest = 5;

const limitStates = [
  ['over', 'bad', 'over the limit'],
  ['grace', 'near', 'in their grace'],
  ['near', 'near', 'near the limit'],
] as const;

function Fullest({ figures: { owners } }: { figures: Figures }) {
  return (
    <Panel title="Limits" actions={<a href={to('owners', undefined, { sort: 'percent' })}>All owners</a>}>
      <p class="row">
        {limitStates
          .filter(([state]) => state !== 'grace' || owners.grace > 0)
          .map(([state, look, words]) => (
            <a
              key={state}
              class={`mark ${owners[state] > 0 ? look : 'good'}`}
              href={to('owners', undefined, { state })}
            >
              {owners[state].toLocaleString('en-US')} {words}
            </a>
          ))}
        <span class="quiet-text">of {counted(owners.total, 'owner', 'owners')}</span>
      </p>
      <Query
        of={ownersQuery({ q: '', sort: 'percent', order: 'desc', page: 1, limit: shownFullest })}
        what="the owners"
        rows={shownFullest}
      >
        {({ entries }) => (
          <Table
            caption="Owners closest to their limits"
            empty={
              <>
                No owners yet. <a href={to('scans')}>Measure now</a>
              </>
            }
            rows={entries}
            keyOf={({ name }) => name}
            columns={[ownerColumns.name, ownerColumns.state, ownerColumns.percent, ownerColumns.stored]}
          />
        )}
      </Query>
    </Panel>
  );
}
function Nobodys({ figures: { nobody } }: { figures: Figures }) {
  if (nobody.kinds.length === 0) return null;
  return (
    <Panel title="Belongs to nobody">
      <p>
        <strong class="figure">
          <Size bytes={nobody.bytes} />
        </strong>{' '}
        without an owner, counted for nobody
      </p>
      <ul class="findings">
        {nobody.kinds.map(({ kind, what, count, bytes, mend }) => (
          <li key={kind}>
            <Size bytes={bytes} />: {printable(what)} ({count.toLocaleString('en-US')})
            <br />
            <code class="quiet-text">{printable(mend)}</code>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Disks({ figures: { disks, outlook, quarantines } }: { figures: Figures }) {
  return (
    <Panel title="Disks">
      {disks.length === 0 ? (
        <Empty>
          No storage is configured, so nothing is measured: set PATH in [storage.repos] of app.ini.
        </Empty>
      ) : (
        <ul class="stack">
          {disks.map(disk => (
            <li key={disk.path}>
              <Path>{disk.path}</Path>
              {disk.size !== null && disk.free !== null && (
                <>
                  <meter
                    aria-label={`Used space on the disk of ${printable(disk.path)}`}
                    min={0}
                    max={disk.size}
                    high={disk.size * nearlyFull}
                    optimum={0}
                    value={disk.size - disk.free}
                  />
                  <span>
                    <Size bytes={disk.free} /> free of <Size bytes={disk.size} />
                  </span>{' '}
                  {disk.state === 'full' && <span class="mark bad">nearly full: adding data is refused</span>}
                  {disk.state === 'low' && <span class="mark near">less free than twice MIN_FREE</span>}
                </>
              )}{' '}
              {disk.size === null && <span class="mark near">did not answer</span>}
              <br />
              <span class="quiet-text small">{kindsOf(disk).join(', ')}</span>
            </li>
          ))}
        </ul>
      )}
      {quarantines.oldest_seconds !== null && (
        <p>
          <Size bytes={quarantines.bytes} /> in unfinished or broken pushes, the oldest{' '}
          {Math.ceil(quarantines.oldest_seconds / 60).toLocaleString('en-US')} min old
        </p>
      )}
      {disks.length > 0 && <p class="quiet-text small">{outlookWords(outlook)}</p>}
    </Panel>
  );
}

/**
 * Returns `All limits together allow 12 TB (3 owners have no limit), and the disks have 4 TB. At the growth
 * of the last weeks the disks will be full on …`.
 */
function outlookWords({ promised, unlimited, size, full_at: fullAt }: Figures['outlook']): string {
  const none = unlimited === 0 ? '' : ` (${counted(unlimited, 'owner has', 'owners have')} no limit)`;
  const full =
    fullAt === null
      ? ''
      : ` At the growth of the last weeks the disks will be full on ${fullAt.slice(0, 10)}.`;
  return `All limits together allow ${formatBytes(promised)}${none}, and the disks have ${formatBytes(size)}.${full}`;
}

const nearlyFull = 0.9;

/** Returns the kinds of data on a disk in their usual order. */
function kindsOf({ subjects }: Figures['disks'][number]): readonly string[] {
  return leaves.filter(leaf => subjects.includes(leaf)).map(kindWords);
}

function Measuring({ figures: { measuring, measured_at } }: { figures: Figures }) {
  return (
    <Panel title="Last scan" actions={<a href={to('scans')}>Scans</a>}>
      {measuring === null ? (
        <p>
          Last complete scan: <Time at={measured_at} />
        </p>
      ) : (
        <ScanProgress scan={measuring} />
      )}
    </Panel>
  );
}

const dayWords = new Intl.DateTimeFormat(undefined, { day: 'numeric', timeZone: 'UTC' });

export function Refusals({ days }: { readonly days: Figures['refusals'] }) {
  const most = Math.max(0, ...days.map(({ count }) => count));
  if (most === 0) return <Empty>No refusals. What a limit refuses is counted here by day.</Empty>;
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
