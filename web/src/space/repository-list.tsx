/** An owner's repositories, and how much in each nothing reaches. */

import { useQuery } from '@tanstack/preact-query';
import { printable } from '../../../src/text/index.ts';
import type { RepositorySpace } from '../../../src/wire/index.ts';
import { type SpaceOf, spaceQuery } from '../api/space-queries.ts';
import { counted, Size, Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';

const atMost = 200;

export function RepositoryList({ of, owner }: { readonly of: SpaceOf; readonly owner: string }) {
  const space = useQuery(spaceQuery({ of, repo: null, newerThan: null }));
  return (
    <Answered query={space} what="the repositories" rows={8}>
      {({ repositories, stored_bytes: stored, unreachable_bytes: unreachable }) => (
        <Panel title="Repositories">
          {repositories.length === 0 ? (
            <Empty>No repository is stored on this host.</Empty>
          ) : (
            <div class="stack">
              <p>
                Stored: <Size bytes={stored} />. Unreachable: <Size bytes={unreachable} />. Choose a
                repository to see what takes its space, and how to free it.
              </p>
              <Table<RepositorySpace>
                caption="Repositories, largest first"
                rows={repositories.slice(0, atMost)}
                keyOf={({ name }) => name}
                columns={[
                  {
                    title: 'Repository',
                    cell: ({ name }) => (
                      <a href={to('space', owner, { repo: name })}>
                        <Name>{name}</Name>
                      </a>
                    ),
                  },
                  {
                    title: 'Stored',
                    isNumber: true,
                    cell: ({ stored_bytes: bytes }) => <Size bytes={bytes} />,
                  },
                  {
                    title: 'Unreachable',
                    isNumber: true,
                    cell: ({ unreachable_bytes: bytes }) => <Size bytes={bytes} />,
                  },
                  {
                    title: 'Measured',
                    isWide: true,
                    cell: ({ fault, measured_at: at }) =>
                      fault === null ? (
                        <Time at={at} absent="not yet" />
                      ) : (
                        <span class="fault-text">{printable(fault)}</span>
                      ),
                  },
                ]}
              />
              {repositories.length > atMost && (
                <p class="quiet-text">
                  and {counted(repositories.length - atMost, 'smaller one', 'smaller ones')}
                </p>
              )}
            </div>
          )}
        </Panel>
      )}
    </Answered>
  );
}
