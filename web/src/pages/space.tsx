/**
 * Page of what takes the space in an owner's repositories, and what frees it; for the owner and for
 * administrators.
 */

import { useSession } from '../api/session.ts';
import type { SpaceOf } from '../api/space-queries.ts';
import { Name } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { to, useQueryPart } from '../place.ts';
import { RepositoryList } from '../space/repository-list.tsx';
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

/** Null: it is nobody's whom one may look at. */
function spaceOf(
  name: string,
  session: {
    readonly login: string;
    readonly is_admin: boolean;
    readonly organizations: readonly string[];
  },
): SpaceOf | null {
  if (session.is_admin) return { is: 'owner', name };
  const isIt = (known: string) => known.toLowerCase() === name.toLowerCase();
  if (isIt(session.login)) return { is: 'me' };
  const organization = session.organizations.find(isIt);
  return organization === undefined ? null : { is: 'organization', name: organization };
}
