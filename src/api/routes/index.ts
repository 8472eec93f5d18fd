/** Every route that there is, in the order in which the description tells them. */

import type { Route, Tag, TaggedRoute } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { authLinkRoutes, authRoutes, claimRoutes, signInRoutes } from './auths.ts';
import { eventRoutes } from './events.ts';
import { noticeRoutes } from './notices.ts';
import { aboutRoutes, fleetRoutes, installationRoutes, scanRoutes } from './operation.ts';
import { overviewRoutes } from './overview.ts';
import { ownFigureRoutes, ownQuotaRoutes } from './own-quotas.ts';
import { policyRoutes, trialRoutes } from './policy.ts';
import { groupRoutes, groupUserRoutes, ruleRoutes } from './policy-parts.ts';
import { requestAnswerRoutes, requestRoutes } from './requests.ts';
import { sessionRoutes } from './sessions.ts';
import { spaceRoutes } from './space.ts';
import { tokenRoutes } from './tokens.ts';
import { unitRoutes } from './units.ts';
import { usageRoutes } from './usage.ts';
import { allowanceRoutes, userQuotaRoutes } from './user-quotas.ts';
import { memberRoutes, userRoutes } from './users.ts';

type RouteMaker = (services: ApiServices) => readonly Route[];

const sections: readonly (readonly [Tag, readonly RouteMaker[]])[] = [
  ['policy', [ruleRoutes, groupRoutes, groupUserRoutes]],
  ['owners', [userQuotaRoutes, allowanceRoutes]],
  ['own', [ownQuotaRoutes, requestRoutes]],
  ['owners', [requestAnswerRoutes]],
  ['own', [ownFigureRoutes]],
  ['owners', [overviewRoutes, usageRoutes, unitRoutes]],
  ['policy', [policyRoutes, trialRoutes]],
  ['operation', [scanRoutes, spaceRoutes, eventRoutes, noticeRoutes]],
  ['users', [userRoutes, memberRoutes, tokenRoutes, sessionRoutes]],
  ['sources', [authRoutes, authLinkRoutes, claimRoutes, signInRoutes]],
  ['operation', [installationRoutes, fleetRoutes]],
  ['about', [aboutRoutes]],
];

export function allRoutes(services: ApiServices): readonly TaggedRoute[] {
  return sections.flatMap(([tag, makers]) =>
    makers.flatMap(make => make(services)).map(route => ({ ...route, tag: route.tag ?? tag })),
  );
}
