/** What every table of owners says of each, and how it is sorted by that. */

import type { OwnerRow } from '../../../src/wire/index.ts';
import { to } from '../place.ts';
import { Percent, Size } from './figures.tsx';
import { Name } from './name.tsx';
import type { Column } from './table.tsx';
import { Allowed } from './verdict.tsx';

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
    cell: ({ used, limit }) => <Percent used={used} limit={limit} />,
  },
  verdict: {
    key: 'verdict',
    title: 'More',
    cell: ({ allowed }) => <Allowed allowed={allowed} />,
  },
} as const satisfies Readonly<Record<string, Column<OwnerRow>>>;
