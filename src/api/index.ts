/**
 * The HTTP API: on a socket of this host's administrator, and on an address for everybody with a token.
 *
 * A route is one definition, from which come what it takes, who may use it, what it answers, and its
 * description in OpenAPI. What changes the policy is answered once it is in the store and in force. Every
 * fault is `{"message", "code", "url"}`.
 */

export { describedRoutes } from './routes/index.ts';
export { ApiServer, type ListenAddress } from './server.ts';
export type { ApiServices } from './services.ts';
