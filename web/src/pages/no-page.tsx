/** Where there is nothing to show. */

import { Page } from '../parts/page.tsx';
import { to } from '../place.ts';

export function NoSuchPage() {
  return (
    <Page title="Page not found">
      <p>
        <a href={to('overview')}>Back to the overview</a>
      </p>
    </Page>
  );
}

export function NotForYou() {
  return (
    <Page title="For administrators only">
      <p>
        You can see <a href={to('mine')}>your own usage</a>.
      </p>
    </Page>
  );
}
