/** Table of an owner's units in the given order: first a few, and all on request. */

import { useState } from 'preact/hooks';
import { isSubject } from '../../../src/quota/index.ts';
import { counted, printable } from '../../../src/text.ts';
import type { UnitRow } from '../../../src/wire/index.ts';
import { kindWords } from './bar.tsx';
import { Button } from './button.tsx';
import { Size, Time } from './figures.tsx';
import { Path } from './name.tsx';
import { type Column, Table } from './table.tsx';

const atFirst = 20;
/** Limit of the rows: more on one page help nobody. */
const atMost = 1000;

/** Columns of all tables of units. */
export const unitColumns = {
  name: { title: 'Path or name', cell: ({ name, title = name }) => <Path>{title}</Path> },
  kind: {
    title: 'Kind',
    isWide: true,
    // A newer daemon may know more subjects.
    cell: ({ subject }) => (isSubject(subject) ? kindWords(subject) : subject),
  },
  size: {
    title: 'Size',
    isNumber: true,
    cell: ({ bytes, partial }) => (
      <>
        {partial && <span class="mark near">partly</span>} <Size bytes={bytes} />
      </>
    ),
  },
} as const satisfies Readonly<Record<string, Column<Omit<UnitRow, 'source'>>>>;

/** Returns the column of hosts if the rows are from several hosts. */
export function hostColumns(
  rows: readonly Pick<UnitRow, 'host'>[],
): readonly Column<Pick<UnitRow, 'host'>>[] {
  const hasSeveral = new Set(rows.map(({ host }) => host)).size > 1;
  return hasSeveral ? [{ title: 'Host', isWide: true, cell: ({ host }) => printable(host) }] : [];
}

export function Units({ units }: { readonly units: readonly UnitRow[] }) {
  const [isAll, setAll] = useState(false);
  const shown = units.slice(0, isAll ? atMost : atFirst);

  return (
    <div class="stack">
      <Table
        caption="Repositories and other units, largest first"
        rows={shown}
        keyOf={({ host, name, subject }) => `${host} ${subject} ${name}`}
        columns={[
          unitColumns.name,
          unitColumns.kind,
          unitColumns.size,
          ...hostColumns(units),
          {
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
            <Button onClick={() => setAll(true)}>
              Show {counted(Math.min(units.length, atMost) - atFirst, 'more', 'more')}
            </Button>
          )}
        </p>
      )}
    </div>
  );
}
