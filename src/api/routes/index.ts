/** Every route that there is, in the order in which the description tells them. */

import type { Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { authLinkRoutes } from './auth-links.ts';
import { authRoutes, signInRoutes } from './auths.ts';
import { claimRoutes } from './claims.ts';
import { eventRoutes } from './events.ts';
import { fleetRoutes } from './fleet.ts';
import { groupRoutes, groupUserRoutes } from './groups.ts';
import { aboutRoutes, installationRoutes } from './installation.ts';
import { noticeRoutes } from './notices.ts';
import { overviewRoutes } from './overview.ts';
import { ownFigureRoutes } from './own-figures.ts';
import { ownQuotaRoutes } from './own-quotas.ts';
import { policyRoutes, trialRoutes } from './policy.ts';
import { requestAnswerRoutes, requestRoutes } from './requests.ts';
import { ruleRoutes } from './rules.ts';
import { scanRoutes } from './scans.ts';
import { sessionRoutes } from './sessions.ts';
import { spaceRoutes } from './space.ts';
import { tokenRoutes } from './tokens.ts';
import { unitRoutes } from './units.ts';
import { usageRoutes } from './usage.ts';
import { allowanceRoutes, userQuotaRoutes } from './user-quotas.ts';
import { memberRoutes, userRoutes } from './users.ts';

export function allRoutes(services: ApiServices): readonly Route[] {
  return [
    ...ruleRoutes(services),
    ...groupRoutes(services),
    ...groupUserRoutes(services),
    ...userQuotaRoutes(services),
    ...allowanceRoutes(services),
    ...ownQuotaRoutes(services),
    ...requestRoutes(services),
    ...requestAnswerRoutes(services),
    ...ownFigureRoutes(services),
    ...overviewRoutes(services),
    ...usageRoutes(services),
    ...unitRoutes(services),
    ...policyRoutes(services),
    ...trialRoutes(services),
    ...scanRoutes(services),
    ...spaceRoutes(services),
    ...eventRoutes(services),
    ...noticeRoutes(services),
    ...userRoutes(services),
    ...memberRoutes(services),
    ...tokenRoutes(services),
    ...sessionRoutes(services),
    ...authRoutes(services),
    ...authLinkRoutes(services),
    ...claimRoutes(services),
    ...signInRoutes(services),
    ...installationRoutes(services),
    ...fleetRoutes(services),
    ...aboutRoutes,
  ];
}
