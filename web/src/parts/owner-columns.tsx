/** Columns of all tables of owners, and their sort orders. */

import { subjectWords } from '../../../src/quota/index.ts';
import type { OwnerRow } from '../../../src/wire/index.ts';
import { Fullness } from './bar.tsx';
import { Size } from './figures.tsx';
import { NameLink } from './name.tsx';
import type { Column } from './table.tsx';
import { State } from './verdict.tsx';

export const ownerColumns = {
  name: {
    title: 'Owner',
    sorts: { by: 'name', order: 'asc' },
    cell: ({ name }) => <NameLink page="owner">{name}</NameLink>,
  },
  stored: {
    title: 'Stored',
    isNumber: true,
    sorts: { by: 'total', order: 'desc' },
    cell: ({ total }) => <Size bytes={total} />,
  },
  percent: {
    title: '% of limit',
    isNumber: true,
    sorts: { by: 'percent', order: 'desc' },
    cell: row => <Fullness {...row} />,
  },
  state: {
    title: 'State',
    cell: ({ state, subject }) => (
      <>
        <State state={state} />
        {state !== 'ok' && subject !== 'size:all' && (
          <span class="quiet-text small wide-only"> {subjectWords(subject)}</span>
        )}
      </>
    ),
  },
} as const satisfies Readonly<Record<string, Column<OwnerRow>>>;
