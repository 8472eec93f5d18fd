/** What each page draws. `name` is that of the address, empty where there is none. */

import type { FunctionComponent } from 'preact';
import type { PageId } from '../../../src/wire/pages.ts';
import { Overview } from './overview.tsx';

export type View = FunctionComponent<{ readonly name: string }>;

export const views: Readonly<Partial<Record<PageId, View>>> = {
  overview: Overview,
};

/** Pages that are not for administrators only. */
export const forEverybody: ReadonlySet<PageId> = new Set(['mine', 'myTokens', 'organization', 'signIn']);
