/**
 * Page about the space in an owner's repositories and how to free it, for the owner and for administrators.
 */

import { counted, printable } from '../../../src/text.ts';
import type { RepositorySpace } from '../../../src/wire/index.ts';
import { useSession } from '../api/session.ts';
import { type SpaceOf, spaceQuery } from '../api/space-queries.ts';
import { Size, Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Empty, Query } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to, useQueryPart } from '../place.ts';
import { RepositoryPanels } from '../space/repository-panels.tsx';
import { NotForYou } from './no-page.tsx';

export function Space({ name }: { readonly name: string }) {
  const { data: session } = useSession();
  const [query] = useQueryPart();
  const repo = query.get('repo') ?? '';
  if (session === undefined) return null;
  const of = spaceOf(name, session);
  if (of === null) return <NotForYou />;
  const home = {
    owner: to('owner', name),
    organization: to('organization', name),
    me: to('mine'),
  }[of.is];
  return (
    <Page
      title="What takes the space"
      trail={
        <>
          <a href={home}>
            <Name>{name}</Name>
          </a>
          {repo !== '' && (
            <>
              {' › '}
              <a href={to('space', name)}>All repositories</a>
            </>
          )}
        </>
      }
    >
      {repo === '' ? (
        <RepositoryList of={of} owner={name} />
      ) : (
        <RepositoryPanels key={repo} of={of} owner={name} repo={repo} />
      )}
    </Page>
  );
}

/** Returns the owner in the form for queries; null if the user may not see these repositories. */
function spaceOf(
  name: string,
  session: {
    readonly login: string;
    readonly is_admin: boolean;
    readonly organizations: readonly string[];
  },
): SpaceOf | null {
  if (session.is_admin) return { is: 'owner', name };
  const known = [session.login, ...session.organizations];
  const found =
    known.find(each => each === name) ?? known.find(each => each.toLowerCase() === name.toLowerCase());
  if (found === undefined) return null;
  return found === session.login ? { is: 'me' } : { is: 'organization', name: found };
}

const atMost = 200;

function RepositoryList({ of, owner }: { readonly of: SpaceOf; readonly owner: string }) {
  return (
    <Query of={spaceQuery({ of, repo: null, newerThan: null })} what="the repositories" rows={8}>
      {({ repositories, stored_bytes: stored, unreachable_bytes: unreachable }) => (
        <Panel title="Repositories">
          {repositories.length === 0 ? (
            <Empty>
              No repository is stored on this host yet. It appears here after the first push to it.
            </Empty>
          ) : (
            <div class="stack">
              <p>
                Stored: <Size bytes={stored} />.{' '}
                {repositories.some(({ measured_at: at }) => at !== null) && (
                  <>
                    Unreachable: <Size bytes={unreachable} />.{' '}
                  </>
                )}
                Choose a repository to see what takes its space, and how to free it.
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
    </Query>
  );
}
