/** Components of the pages. `name` comes from the address; it is empty if the page has none. */

import type { FunctionComponent } from 'preact';
import type { PageId } from '../../../src/wire/pages.ts';
import { Auths } from './auths.tsx';
import { Events } from './events.tsx';
import { Group, Groups } from './groups.tsx';
import { Help } from './help.tsx';
import { Hosts } from './hosts.tsx';
import { Mine, Organization } from './mine.tsx';
import { Notices } from './notices.tsx';
import { Overview } from './overview.tsx';
import { Owner } from './owner.tsx';
import { Owners } from './owners.tsx';
import { Policy } from './policy.tsx';
import { Repositories } from './repositories.tsx';
import { Requests } from './requests.tsx';
import { Rule, Rules } from './rules.tsx';
import { Scans } from './scans.tsx';
import { SignIn } from './sign-in.tsx';
import { Space } from './space.tsx';
import { MyTokens, TokensOfAnybody } from './tokens.tsx';

export type View = FunctionComponent<{ readonly name: string }>;

export const views: Readonly<Partial<Record<PageId, View>>> = {
  overview: Overview,
  owners: Owners,
  owner: Owner,
  repositories: Repositories,
  groups: Groups,
  group: Group,
  rules: Rules,
  rule: Rule,
  policy: Policy,
  requests: Requests,
  tokens: TokensOfAnybody,
  scans: Scans,
  events: Events,
  notices: Notices,
  hosts: Hosts,
  auths: Auths,
  mine: Mine,
  myTokens: MyTokens,
  organization: Organization,
  help: Help,
  space: Space,
  signIn: SignIn,
};
