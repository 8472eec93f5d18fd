/** Page of an organization's usage, for its owners. */

import { OwnUsage } from '../own/own-usage.tsx';
import { Name } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { to } from '../place.ts';

export function Organization({ name }: { readonly name: string }) {
  return (
    <Page title={name} heading={<Name>{name}</Name>} help="mine" trail={<a href={to('mine')}>My usage</a>}>
      <OwnUsage own={{ is: 'organization', name }} />
    </Page>
  );
}
