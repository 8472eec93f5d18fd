/** Lists claimed groups that do nothing here, since the mapping of a source does not name them. */

import { useQuery } from '@tanstack/preact-query';
import type { Source } from '../../../src/wire/index.ts';
import { signInsQuery } from '../api/auth-queries.ts';
import { Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';
import { unmappedOf } from './unmapped.ts';

export function UnmappedGroups({ source }: { readonly source: Source }) {
  const signIns = useQuery(signInsQuery);
  return (
    <Panel title="Claimed groups without a mapping">
      <Answered query={signIns} what="the latest sign-ins" rows={2}>
        {events => {
          const unmapped = unmappedOf(source, events);
          if (unmapped.length === 0) {
            return <Empty>None in the latest sign-ins.</Empty>;
          }
          return (
            <Table
              caption="Groups at the provider that have no effect"
              rows={unmapped}
              keyOf={({ group }) => group}
              columns={[
                { key: 'group', title: 'Claimed group', cell: ({ group }) => <Name>{group}</Name> },
                {
                  key: 'user',
                  title: 'Last user',
                  cell: ({ user }) => (
                    <a href={to('owner', user)}>
                      <Name>{user}</Name>
                    </a>
                  ),
                },
                { key: 'at', title: 'Time', isWide: true, cell: ({ at }) => <Time at={at} /> },
              ]}
            />
          );
        }}
      </Answered>
    </Panel>
  );
}
