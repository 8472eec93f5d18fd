/**
 * The HTTP API: on a socket for the administrator of this host, and on an address for everybody with a token.
 *
 * Each route is one definition: its parameters, who may use it, its answers, and its description in OpenAPI
 * come from there. A policy change is answered once it is in the store and in force. Every error is
 * `{"message", "code", "url"}`.
 */

export { serveEverybody, serveLocally } from './server.ts';
export type { ApiServices, SpaceService } from './services.ts';
