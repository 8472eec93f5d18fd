/** All routes, in the order of the API description. */

import type { Route, Tag } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { authRoutes } from './auths.ts';
import { credentialRoutes } from './credentials.ts';
import { eventRoutes } from './events.ts';
import { noticeRoutes } from './notices.ts';
import { aboutRoutes, operationRoutes } from './operation.ts';
import { overviewRoutes } from './overview.ts';
import { policyRoutes } from './policy.ts';
import { ownQuotaRoutes, userQuotaRoutes } from './quotas.ts';
import { requestAnswerRoutes, requestRoutes } from './requests.ts';
import { spaceRoutes } from './space.ts';
import { usageRoutes } from './usage.ts';
import { userRoutes } from './users.ts';

type RouteMaker = (services: ApiServices) => readonly Route[];

const sections: readonly (readonly [Tag, readonly RouteMaker[]])[] = [
  ['policy', [policyRoutes]],
  ['owners', [userQuotaRoutes, requestAnswerRoutes, overviewRoutes, usageRoutes]],
  ['own', [ownQuotaRoutes, requestRoutes]],
  ['operation', [operationRoutes, spaceRoutes, eventRoutes, noticeRoutes]],
  ['users', [userRoutes, credentialRoutes]],
  ['sources', [authRoutes]],
  ['about', [aboutRoutes]],
];

export function allRoutes(services: ApiServices) {
  return sections.flatMap(([tag, makers]) =>
    makers.flatMap(make => make(services)).map(route => ({ ...route, tag: route.tag ?? tag })),
  );
}
