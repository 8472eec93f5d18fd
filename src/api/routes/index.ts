/** Every route that there is, in the order in which the description tells them. */

import { describe } from '../openapi.ts';
import type { Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { aboutRoutes } from './about.ts';
import { installationRoutes } from './installation.ts';
import { scanRoutes } from './scans.ts';
import { usageRoutes } from './usage.ts';

export function allRoutes(services: ApiServices): readonly Route[] {
  const routes: readonly Route[] = [
    ...usageRoutes(services),
    ...scanRoutes(services),
    ...installationRoutes(services),
    ...aboutRoutes(() => describe(routes)),
  ];
  return routes;
}
