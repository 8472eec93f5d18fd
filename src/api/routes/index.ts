/** Every route that there is, in the order in which the description tells them. */

import type { Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { aboutRoutes } from './about.ts';
import { allowanceRoutes } from './allowances.ts';
import { authLinkRoutes } from './auth-links.ts';
import { authRoutes } from './auths.ts';
import { claimRoutes } from './claims.ts';
import { eventRoutes } from './events.ts';
import { fleetRoutes } from './fleet.ts';
import { groupUserRoutes } from './group-users.ts';
import { groupRoutes } from './groups.ts';
import { installationRoutes } from './installation.ts';
import { memberRoutes } from './members.ts';
import { noticeRoutes } from './notices.ts';
import { overviewRoutes } from './overview.ts';
import { ownFigureRoutes } from './own-figures.ts';
import { ownQuotaRoutes } from './own-quotas.ts';
import { policyRoutes } from './policy.ts';
import { requestAnswerRoutes } from './request-answers.ts';
import { requestRoutes } from './requests.ts';
import { ruleRoutes } from './rules.ts';
import { scanRoutes } from './scans.ts';
import { sessionRoutes } from './sessions.ts';
import { signInRoutes } from './sign-in.ts';
import { spaceRoutes } from './space.ts';
import { tokenRoutes } from './tokens.ts';
import { trialRoutes } from './trials.ts';
import { unitRoutes } from './units.ts';
import { usageRoutes } from './usage.ts';
import { userQuotaRoutes } from './user-quotas.ts';
import { userRoutes } from './users.ts';

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
