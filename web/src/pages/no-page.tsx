/** Where there is nothing to show. */

import { Page } from '../parts/page.tsx';
import { to } from '../place.ts';

export function NoSuchPage() {
  return (
    <Page title="No such page">
      <p>
        There is nothing at this address. <a href={to('overview')}>Go to the first page</a>.
      </p>
    </Page>
  );
}

export function NotForYou() {
  return (
    <Page title="For administrators only">
      <p>
        You may see <a href={to('mine')}>what you use yourself</a>.
      </p>
    </Page>
  );
}
