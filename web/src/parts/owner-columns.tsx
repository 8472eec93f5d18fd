/** Columns of every table of owners, and how they sort. */

import { subjectWords } from '../../../src/quota/index.ts';
import type { OwnerRow } from '../../../src/wire/index.ts';
import { to } from '../place.ts';
import { Fullness } from './bar.tsx';
import { Size } from './figures.tsx';
import { Name } from './name.tsx';
import type { Column } from './table.tsx';
import { State } from './verdict.tsx';

export const ownerColumns = {
  name: {
    key: 'name',
    title: 'Owner',
    sorts: 'asc',
    cell: ({ name }) => (
      <a href={to('owner', name)}>
        <Name>{name}</Name>
      </a>
    ),
  },
  stored: {
    key: 'total',
    title: 'Stored',
    isNumber: true,
    sorts: 'desc',
    cell: ({ total }) => <Size bytes={total} />,
  },
  percent: {
    key: 'percent',
    title: '% of limit',
    isNumber: true,
    sorts: 'desc',
    cell: row => <Fullness {...row} />,
  },
  state: {
    key: 'state',
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
