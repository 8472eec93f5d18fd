/** Pages for unknown addresses, and for pages that need an administrator. */

import { Page } from '../parts/page.tsx';
import { to } from '../place.ts';

export function NoSuchPage() {
  return (
    <Page title="Page not found">
      <p>There is nothing at this address. It may be misspelt, or the page may have moved.</p>
      <p>
        <a href={to('overview')}>Back to the overview</a> · <a href={to('help')}>Help</a>
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
