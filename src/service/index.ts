/**
 * The daemon as a service of its host: its log, what the service manager is told, and its sockets.
 *
 * Nothing is said to the service manager that was not seen: before it hears that all is well, the gate has
 * answered a question that came over a connection of its own. Sockets are taken over from it, or made where
 * the configuration says. A socket file that a dead daemon left is replaced, one that a living process
 * answers on is not, and one that everybody could put in the place of ours is refused. Whatever is wrong with
 * a path, a mode or a group is said before anybody is served.
 */

export { closeServer } from './closing.ts';
export { type ConnectionLimits, Connections, hasBody } from './connections.ts';
export {
  type ConnectionShares,
  connectionShares,
  enoughDescriptors,
  openFilesLimit,
  usualShares,
  watchDescriptors,
} from './descriptors.ts';
export { type Exposure, exposureOf } from './exposure.ts';
export { inheritedSockets, type SocketName } from './inherited.ts';
export { type Listening, listen, longestPathBytes, type SocketPlace } from './listen.ts';
export { createLogger, type Logger } from './logger.ts';
export { type Supervision, type SupervisionOptions, supervise } from './supervision.ts';
