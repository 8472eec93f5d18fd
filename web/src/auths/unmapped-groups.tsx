/** Lists claimed groups that do nothing here, since the mapping of a source does not name them. */

import { useQuery } from '@tanstack/preact-query';
import type { Event } from '../../../src/overview/event-shapes.ts';
import type { Source } from '../../../src/wire/index.ts';
import { signInsQuery } from '../api/auth-queries.ts';
import { Time } from '../parts/figures.tsx';
import { Name, NameLink } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';

export function UnmappedGroups({ source }: { readonly source: Source }) {
  const signIns = useQuery(signInsQuery);
  return (
    <Panel title="Claimed groups without a mapping">
      <Answered query={signIns} what="the latest sign-ins" rows={2}>
        {events => (
          <Table
            caption="Groups at the provider that have no effect"
            empty="None in the latest sign-ins."
            rows={unmappedOf(source, events)}
            keyOf={({ group }) => group}
            columns={[
              { title: 'Claimed group', cell: ({ group }) => <Name>{group}</Name> },
              { title: 'Last user', cell: ({ user }) => <NameLink page="owner">{user}</NameLink> },
              { title: 'Time', isWide: true, cell: ({ at }) => <Time at={at} /> },
            ]}
          />
        )}
      </Answered>
    </Panel>
  );
}

/** The latest sign-in that claimed the group. */
interface Unmapped {
  readonly group: string;
  readonly user: string;
  readonly at: string;
}

/** By name, each once. `events` are the newest first; what was mapped since is left out. */
function unmappedOf(
  { id, quota_group_map: mapping }: Pick<Source, 'id' | 'quota_group_map'>,
  events: readonly Event[],
): readonly Unmapped[] {
  const found = new Map<string, Unmapped>();
  for (const event of events) {
    if (event.kind !== 'sign-in' || event.source.id !== id) continue;
    for (const group of event.unmapped ?? []) {
      if (found.has(group) || Object.hasOwn(mapping, group)) continue;
      found.set(group, { group, user: event.owner, at: event.at });
    }
  }
  return [...found.values()].sort((a, b) => (a.group < b.group ? -1 : 1));
}
