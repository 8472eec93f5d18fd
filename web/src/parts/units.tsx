/** The units of an owner, as they come: the first few, and on request all. */

import { useState } from 'preact/hooks';
import { printable } from '../../../src/text/index.ts';
import type { UnitRow } from '../../../src/wire/index.ts';
import { subjectNamed } from '../usage.ts';
import { kindWords } from './bar.tsx';
import { counted, Size, Time } from './figures.tsx';
import { Table } from './table.tsx';

const atFirst = 20;
/** More rows than this in one page help nobody. */
const atMost = 1000;

export function Units({ units }: { readonly units: readonly UnitRow[] }) {
  const [isAll, setAll] = useState(false);
  const shown = units.slice(0, isAll ? atMost : atFirst);
  const hasHosts = new Set(units.map(({ host }) => host)).size > 1;
  return (
    <div class="stack">
      <Table
        caption="Repositories and other units, largest first"
        rows={shown}
        keyOf={({ host, name, subject }) => `${host} ${subject} ${name}`}
        columns={[
          {
            key: 'name',
            title: 'Path or name',
            cell: ({ name }) => (
              <code>
                <bdi>{printable(name)}</bdi>
              </code>
            ),
          },
          {
            key: 'kind',
            title: 'Kind',
            isWide: true,
            cell: ({ subject }) => {
              const known = subjectNamed(subject);
              return known === null ? subject : kindWords(known);
            },
          },
          {
            key: 'bytes',
            title: 'Size',
            isNumber: true,
            cell: ({ bytes, partial }) => (
              <>
                {partial && <span class="mark near">partly</span>} <Size bytes={bytes} />
              </>
            ),
          },
          ...(hasHosts
            ? [{ key: 'host', title: 'Host', isWide: true, cell: ({ host }: UnitRow) => printable(host) }]
            : []),
          {
            key: 'measured',
            title: 'Measured',
            isWide: true,
            cell: ({ measured_at: measuredAt }) => <Time at={measuredAt} absent="reported" />,
          },
        ]}
      />
      {units.length > shown.length && (
        <p>
          {isAll ? (
            <span class="quiet-text">
              and {counted(units.length - shown.length, 'smaller one', 'smaller ones')}
            </span>
          ) : (
            <button type="button" onClick={() => setAll(true)}>
              Show {counted(Math.min(units.length, atMost) - atFirst, 'more', 'more')}
            </button>
          )}
        </p>
      )}
    </div>
  );
}
